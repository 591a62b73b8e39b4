"""The few queries before a run: what they say of noise and of the two parts, and their number."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.measures.gamma.pilot import Pilot, run_pilot
from tests.gamma.spheres import Recorded, sphere_of

LINE = np.array([[-1.0], [0.5], [2.0]])
CLOUD = np.random.default_rng(0).normal(size=(40, 3))


def pilot(function, points, parity=True, **more):
    return run_pilot(sphere_of(function, points, **more), parity)


def test_on_a_line_a_parabolas_odd_part_is_its_slope_and_its_even_part_does_not_vary():
    found = pilot(lambda x: x[:, 0] ** 2, LINE)
    # f(c + r) − f(c − r) is 4·c·r, whichever side a direction is of.
    assert found.odd == pytest.approx(np.mean((2 * LINE * 0.5) ** 2), rel=1e-12)
    assert found.even == pytest.approx(0, abs=1e-25)
    assert found.pairs_win


def test_all_columns_count_unless_one_is_picked():
    def slopes(x):
        return np.stack([3 * x[:, 0], 10 + 2 * x[:, 0]], axis=1)

    assert pilot(slopes, LINE).odd == pytest.approx((9 + 4) / 4, rel=1e-12)
    assert pilot(slopes, LINE, reduction="predicted").odd == pytest.approx(1, rel=1e-12)
    assert pilot(slopes, LINE, reduction=0).odd == pytest.approx(9 / 4, rel=1e-12)


def test_the_predicted_column_is_each_points_own():
    def turning(x):
        return np.stack([5 * x[:, 0], np.zeros(len(x))], axis=1)

    # Left of 0 the second column is the larger one, and it is flat.
    assert pilot(turning, LINE, reduction="predicted").odd == pytest.approx(2 / 3 * 2.5**2)


def test_in_space_both_parts_are_variances_over_directions():
    def mixed(x):
        return 0.3 * x[:, 0] + x[:, 1] ** 2 - np.cos(2 * x[:, 2])

    model = Recorded(mixed)
    found = pilot(model, CLOUD[:7])
    around = model.calls[-1].reshape(7, 2, 4, 3)
    centres = CLOUD[:7][:, None]
    np.testing.assert_allclose(around.mean(axis=1), np.broadcast_to(centres, (7, 4, 3)), atol=1e-12)
    lengths = np.linalg.norm(around - centres[:, None], axis=-1)
    np.testing.assert_allclose(lengths, 0.5, rtol=1e-12)
    plus, minus = (mixed(around[:, side].reshape(-1, 3)).reshape(7, 4) for side in (0, 1))
    even = (plus + minus) / 2 - mixed(CLOUD[:7])[:, None]
    assert found.odd == pytest.approx(np.mean(((plus - minus) / 2) ** 2), rel=1e-12)
    assert found.even == pytest.approx(np.mean(even.var(axis=1, ddof=1)), rel=1e-12)


@pytest.mark.parametrize(
    ("many", "twice", "probed"), [(1, 1, 1), (3, 3, 3), (10, 10, 8), (40, 40, 8), (100, 64, 8)]
)
def test_at_most_64_points_are_asked_for_twice_and_8_of_them_at_four_pairs(many, twice, probed):
    points = np.random.default_rng(1).normal(size=(many, 2))
    for parity in (True, False):
        model = Recorded(lambda x: x.sum(axis=1))
        found = pilot(model, points, parity)
        assert found.queries == model.rows == 2 * twice + parity * 8 * probed
        np.testing.assert_array_equal(model.calls[0], model.calls[1])
        assert len(np.unique(model.calls[0], axis=0)) == twice


class Drifting:
    """Every call's answers are higher than the last call's by a step."""

    def __init__(self, step, level=0.0, columns=1):
        self.step, self.level, self.columns = step, level, columns

    def __call__(self, x):
        self.level += self.step
        return np.full((len(x), self.columns), self.level)


@pytest.mark.parametrize("columns", [1, 3])
def test_two_answers_differ_by_twice_the_variance_of_one(columns):
    for many in (1, 7):
        found = pilot(Drifting(0.2, columns=columns), CLOUD[:many], parity=False)
        assert found.noise == pytest.approx(0.2 / np.sqrt(2), rel=1e-12)


def test_differences_below_a_millionth_of_the_answers_are_rounding():
    assert pilot(Drifting(1e-4, level=-1000.0), CLOUD, parity=False).noise == 0
    assert pilot(Drifting(1e-4, level=10.0), CLOUD, parity=False).noise > 0


def test_points_without_an_answer_say_nothing():
    class Partly(Drifting):
        def __call__(self, x):
            answers = super().__call__(x)
            answers[x[:, 0] > 0] = np.nan
            return answers + x[:, :1]

    left = CLOUD[:, 0] < -0.6
    points = CLOUD[left | (CLOUD[:, 0] > 0)]
    found = pilot(Partly(0.2), points)
    assert left.sum() >= 8
    assert found.noise == pytest.approx(0.2 / np.sqrt(2), rel=1e-12)
    assert 0 < found.odd < 0.25, "the slope is 1 and the radius 0.5"
    assert found.queries == 2 * len(points) + 64


def test_points_with_a_neighbour_without_an_answer_say_nothing_of_parts():
    def edge(x):
        return np.where(x[:, 0] > 1, np.nan, x[:, 0])

    near = np.array([[0.0], [0.9]])
    assert pilot(edge, near).odd == pytest.approx(0.25, rel=1e-12)
    assert pilot(edge, near[1:]) == Pilot(0.0, 0.0, 0.0, 10)


def test_where_nothing_is_answered_nothing_is_known():
    assert pilot(lambda x: np.full(len(x), np.nan), CLOUD) == Pilot(0.0, 0.0, 0.0, 80)


def test_pairs_are_taken_unless_the_even_part_is_larger():
    assert Pilot(0.0, 1.0, 1.0, 0).pairs_win
    assert Pilot(0.0, 2.0, 1.0, 0).pairs_win
    assert not Pilot(0.0, 1.0, 2.0, 0).pairs_win
    assert ah.gamma(lambda x: np.ones(len(x)), CLOUD, radius=0.5).settings.paired
