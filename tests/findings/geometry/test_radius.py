"""The radius among copies: the distance to the nearest point that differs, over all rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import anharmonic as ah
from anharmonic.measures.setup.scale import nearest_distance

RANDOM = np.random.default_rng(0)


def cells(sides, columns=2, many=390):
    return RANDOM.integers(0, sides, size=(many, columns)).astype(float)


def with_outliers(count, many=390):
    points = cells(4, many=many)
    points[:count] += 100 * RANDOM.normal(size=(count, 2))
    return points


@pytest.mark.finding("numbers A9")
@pytest.mark.parametrize(
    "points",
    [
        cells(3),
        with_outliers(4),
        with_outliers(20),
        np.repeat(RANDOM.normal(size=(20, 3)), 10, axis=0),
        np.repeat(RANDOM.normal(size=(4, 30)), 20, axis=0),
        np.concatenate([np.zeros((300, 2)), np.eye(2), [[5.0, 5.0]]]),
        RANDOM.normal(size=(300, 4)),
    ],
    ids=["cells", "4 outliers", "20 outliers", "copies", "wide copies", "zeros", "no copies"],
)
def test_the_radius_is_the_median_over_rows_of_the_nearest_that_differs(points):
    apart = cdist(points, points)
    apart[apart == 0] = np.inf
    truth = np.median(apart.min(axis=1))
    assert nearest_distance(points, np.ones(points.shape[1])) == pytest.approx(truth, rel=1e-12)


@pytest.mark.finding("numbers A9", "newcomer B20")
def test_an_integer_table_has_a_radius():
    points = RANDOM.integers(0, 3, size=(5000, 2)).astype(float)
    scores = ah.gamma(lambda x: x[:, 0] ** 2, points, scale=None)
    assert scores.settings.radius == 1.0
    assert scores.mean == pytest.approx(0.5, rel=0.02)


@pytest.mark.finding("newcomer B20")
@pytest.mark.parametrize("columns", [2, 20])
def test_points_that_are_all_alike_still_have_none(columns):
    with pytest.raises(ah.errors.PointsError, match="no two points differ"):
        ah.gamma(lambda x: x[:, 0], np.ones((50, columns)), scale=None)


@pytest.mark.finding("numbers A9")
def test_one_point_has_no_radius():
    with pytest.raises(ah.errors.PointsError, match="no two points differ"):
        ah.gamma(lambda x: x[:, 0], np.ones((1, 2)), scale=None)
