"""Gamma of labels against the boundary's length, and the contours that check it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anharmonic.scores import mean_coordinate
from studies import boundary
from studies.contours import boundary_length_of, edge_length, zero_length
from tests import oracles


@pytest.fixture(scope="module")
def page():
    return boundary.boundary_length(count=6000)


def section(page, start):
    return next(each for each in page.sections if each.title.startswith(start))


def test_theory_is_met_in_every_case(page):
    for name in ("A flat", "Curved"):
        for row in section(page, name).rows:
            assert abs(row.off) < 4.5, row


def test_the_longer_boundary_has_the_larger_gamma(page):
    straight, once, twice = section(page, "Curved").rows[1:]
    assert straight.measured.value < once.measured.value < twice.measured.value


def test_a_large_radius_misses_length(page):
    shares = [row.measured for row in section(page, "Where").rows]
    assert abs(shares[0].value - 1) < 4.5 * shares[0].error
    assert shares[-1].value < 0.4


def test_real_boundaries_are_measured(page):
    rows = section(page, "Read").rows
    for row in rows:
        if "GBDT-2, r = 0.05" in row.case:
            assert row.measured.value < row.truth
        else:
            assert abs(row.off) < 4.5, row


def test_the_plane_has_two_over_pi():
    assert mean_coordinate(2) == pytest.approx(2 / math.pi)
    for n in (1, 2, 7, 300):
        assert mean_coordinate(n) == pytest.approx(oracles.mean_first_coordinate(n))


def test_contours_of_known_length():
    axis = np.linspace(-1, 1, 301)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    step = (axis[1] - axis[0],) * 2
    assert zero_length(x**2 + y**2 - 0.36, step) == pytest.approx(2 * math.pi * 0.6, rel=1e-3)
    assert zero_length(x + 0.3 * y - 0.1, step) == pytest.approx(2 * math.hypot(1, 0.3))
    assert zero_length(np.ones_like(x), step) == 0
    assert edge_length((x > 0.1).astype(int), step) == pytest.approx(2, rel=0.01)


def test_three_classes_share_their_boundaries():
    # Three sectors of 120° meet in the middle of a square of side 2; rays end on its edge.
    corners = np.array([[0.0, 1.0], [-math.sqrt(3) / 2, -0.5], [math.sqrt(3) / 2, -0.5]])

    def margins(points):
        return points @ corners.T

    found = boundary_length_of(margins, lambda p: margins(p).argmax(1), [(-1, 1), (-1, 1)], 300)
    assert found == pytest.approx(1 + 2 * 1 / math.cos(math.radians(30)), rel=0.01)
