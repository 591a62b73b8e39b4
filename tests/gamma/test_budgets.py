"""Who gets further turns: shares of a budget, doubling under a tolerance, and how a run opens."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.gamma.accumulator import Accumulator, TurnBudget, further_turns
from tests.gamma.parts import spread_out
from tests.gamma.spheres import Recorded

POINTS = np.random.default_rng(0).normal(size=(60, 5))


def rising(x):
    return np.exp(2 * x[:, 0])


def further(accumulator, budget=None, tolerance=None, rotations=4, turn_cost=10, part_cost=1):
    limits = TurnBudget(rotations, turn_cost, part_cost, budget, tolerance)
    extra = further_turns(accumulator, limits, Settings.record(tolerance=tolerance))
    return extra.tolist()


def test_without_a_budget_every_point_gets_the_rotations_once():
    assert further(Accumulator(3, "norm")) == [4, 4, 4]
    assert further(spread_out([4, 4, 4], [1.0, 0.0, 9.0])) == [0, 0, 0]


def test_points_that_had_no_turn_are_first():
    assert further(spread_out([4, 0, 4], [1.0, 0.0, 9.0])) == [0, 4, 0]
    assert further(spread_out([4, 0, 4], [1.0, 0.0, 9.0]), tolerance=0.1) == [0, 4, 0]
    # Of the 60 that are left half is for the one that had none.
    assert further(spread_out([4, 0, 4], [1.0, 0.0, 9.0], 100), budget=160) == [0, 2, 0]


@pytest.mark.parametrize(
    ("budget", "turns"), [(42, 2), (121, 2), (122, 3), (161, 3), (162, 4), (1000, 4)]
)
def test_a_budget_opens_with_half_of_an_even_split_between_two_turns_and_the_rotations(
    budget, turns
):
    # Of two points, each pays 1 for its part and 10 for each turn.
    assert further(Accumulator(2, "norm"), budget=budget) == [turns, turns]
    asked = spread_out([0, 0], [0, 0], queries=30)
    assert further(asked, budget=budget + 30) == [turns, turns]


def test_a_budgets_shares_are_in_proportion_to_the_spread():
    # 320 queries pay for 32 turns beside the 8 that were had: 40 in all, 10 and 30 of them.
    assert further(spread_out([4, 4], [1.0, 3.0]), budget=320) == [4, 8]
    assert further(spread_out([4, 4], [3.0, 1.0]), budget=320) == [8, 4]
    assert further(spread_out([4, 4], [1.0, 1.0]), budget=320) == [8, 8]


def test_shares_are_rounded_down_to_powers_of_two():
    # 24 turns in all: 6 and 18 of them, so 2 and 14 further ones, of which 12 at once and so 8.
    assert further(spread_out([4, 4], [1.0, 3.0]), budget=160) == [2, 8]
    # 8 + 11 in all: 4.75 and 14.25; less than one further turn is none.
    assert further(spread_out([4, 4], [1.0, 3.0]), budget=110) == [0, 8]


def test_at_most_thrice_what_a_point_had_is_added_at_once():
    assert further(spread_out([2, 2], [1.0, 1.0]), budget=600) == [4, 4]
    assert further(spread_out([3, 3], [1.0, 1.0]), budget=600) == [8, 8]


def test_half_is_spent_until_what_is_left_pays_for_fewer_than_64_turns():
    points = spread_out([4] * 20, [1.0] * 20)
    # A turn costs 11 with its part. 80 turns were had: 80 + 70 of them, or 80 + 35.
    assert further(points, budget=703) == [2] * 20
    assert further(points, budget=704) == [1] * 20


def test_the_largest_errors_are_paid_for_first():
    # All three are to get 4 turns, and each pays 20 for its part beside them.
    points = spread_out([4, 4, 4], [2.2, 2.0, 2.1])
    assert further(points, budget=200, part_cost=20) == [4, 4, 4]
    assert further(points, budget=179, part_cost=20) == [4, 0, 4]


def test_the_last_turn_goes_where_the_spread_is_largest_for_its_turns():
    # 12 turns in all were to be one more, which is a whole one for nobody.
    assert further(spread_out([4, 4, 4], [1.0, 1.1, 1.05]), budget=11) == [0, 1, 0]
    assert further(spread_out([4, 5, 4], [1.0, 1.2, 1.0]), budget=11) == [1, 0, 0]


def test_what_does_not_pay_for_a_turn_is_left():
    assert further(spread_out([4, 4], [1.0, 1.0]), budget=10) == [0, 0]
    assert further(spread_out([4, 4], [1.0, 1.0], queries=100), budget=100) == [0, 0]
    assert further(spread_out([4, 4], [1.0, 1.1], queries=100), budget=111) == [0, 1]


def test_points_without_an_error_get_nothing_of_a_budget():
    assert further(spread_out([4, 4, 4], [0.0, 1.0, 0.0]), budget=1000) == [0, 8, 0]
    assert further(spread_out([4, 4, 4], [0.0, 0.0, 0.0]), budget=1000) == [0, 0, 0]


def test_a_tolerance_doubles_the_turns_of_points_whose_interval_is_wide():
    points = spread_out([4, 8, 4, 16], [1.0, 1.0, 0.0, 1.0])
    reach = points.scores(Settings.record(tolerance=0.1)).half_widths()
    assert reach[0] > reach[1] > reach[3] > reach[2] == 0
    assert further(points, tolerance=reach[3]) == [4, 8, 0, 0]
    assert further(points, tolerance=reach[1]) == [4, 0, 0, 0]
    assert further(points, tolerance=reach[0]) == [0, 0, 0, 0]


def test_a_tolerance_is_given_up_after_256_turns():
    assert further(spread_out([255, 256, 128], [9.0, 9.0, 9.0]), tolerance=0.01) == [255, 0, 128]
    steps = Recorded(lambda x: (x[:, 0] > 0).astype(float))
    scores = ah.gamma(steps, np.zeros((1, 2)), radius=0.5, scale=None, tolerance=1e-9)
    assert scores.turns.tolist() == [256]


def test_a_tolerance_and_a_budget_both_hold():
    points = spread_out([4, 4, 4], [1.0, 1.0, 0.0])
    assert further(points, budget=10_000, tolerance=0.1) == [4, 4, 0]
    assert further(points, budget=50, tolerance=0.1) == [4, 0, 0]
    assert further(points, budget=10_000, tolerance=1e6) == [0, 0, 0]


def test_points_that_have_enough_pay_for_nobody():
    # Each of the last two is to get 4 turns for 41, and the first have the largest errors.
    points = spread_out([256] * 30 + [4, 4], [99.0] * 30 + [1.1, 1.0])
    assert further(points, budget=81, tolerance=0.1) == [0] * 30 + [4, 0]
    assert further(points, budget=82, tolerance=0.1) == [0] * 30 + [4, 4]


def test_a_budget_ends_where_only_rounding_keeps_an_interval_wide():
    scores = ah.gamma(
        lambda x: np.full(len(x), 1e9 + 0.1), POINTS, radius=0.5, budget=9000, tolerance=1e-12
    )
    assert (scores.half_widths() > 1e-12).all()
    assert (scores.turns <= 4).all()


def test_a_budget_pays_for_two_turns_of_each_point_or_is_refused():
    limits = TurnBudget(4, 10, 1, budget=1063)
    limits.check(50, 13)
    with pytest.raises(SettingsError) as refusal:
        limits.check(50, 14)
    assert "1,063 queries cannot measure 50 points: two turns each cost 1,064" in str(refusal.value)
    TurnBudget(4, 10, 1).check(50, 10**9)


@pytest.mark.parametrize("budget", [3000, 6000, 12_000])
@pytest.mark.parametrize("noise", ["include", "ignore"])
@pytest.mark.parametrize("batch_size", [None, 300])
def test_no_query_is_made_beyond_a_budget_and_nearly_all_are_made(budget, noise, batch_size):
    model = Recorded(rising)
    arguments = {"radius": 0.5, "budget": budget, "noise": noise, "batch_size": batch_size}
    scores = ah.gamma(model, POINTS, ball="auto pairs", **arguments)
    assert model.rows == scores.queries <= budget
    assert scores.queries > 0.95 * budget
    steep, calm = POINTS[:, 0] > 0.5, POINTS[:, 0] < -0.5
    assert scores.turns[steep].mean() > 1.5 * scores.turns[calm].mean()
