"""Upper bounds on means: the bet against a candidate, written out once more with plain numbers."""

from __future__ import annotations

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.monitor.bounds import _highest_capital, _last_refuted, mean_bound

NORMAL = NormalDist()


def highest_capital(values, candidate, error):
    """One bet against one candidate, value by value; its stake is set anew 128 times at most."""
    count = len(values)
    begins = {count * piece // 128 for piece in range(128)}
    capital = highest = 0.0
    total, squares, variance = 0.5, 0.25, 0.25
    stake = 0.0
    for number, value in enumerate(values):
        if number in begins:
            # The chance that is left to reach a goal that is a tenth beyond 1/error.
            chance = min(math.exp(capital) * error / 1.1, math.exp(-1e-9))
            pull = NORMAL.pdf(NORMAL.inv_cdf(chance)) / chance
            stake = pull / math.sqrt(variance * (count - number))
            if candidate < 1:
                stake = min(stake, 0.98 / (1 - candidate))
        capital += math.log(1 + stake * (candidate - value))
        highest = max(highest, capital)
        # Mean and variance as if one value of 1/2, with variance 1/4, had come before.
        total += value
        squares += (value - total / (number + 2)) ** 2
        variance = squares / (number + 2)
    return highest


def bound(values, error, seed):
    """Candidates 0.1% apart: every 32nd with a twentieth of the error, then one by one."""
    order = generator(seed, Stream.BOUND_HALVES).permutation(values).tolist()
    mean = max(sum(order) / len(order), 1e-4)
    last = 0
    while 0.999 ** (last + 1) >= mean:
        last += 1
    known = 0
    while known + 32 <= last:
        if highest_capital(order, 0.999 ** (known + 32), 0.05 * error) < -math.log(0.05 * error):
            break
        known += 32
    while known < last:
        if highest_capital(order, 0.999 ** (known + 1), 0.95 * error) < -math.log(0.95 * error):
            break
        known += 1
    return 0.999**known


@pytest.mark.parametrize("count", [1, 2, 7, 100, 127, 128, 129, 300])
def test_the_capital_is_that_of_the_published_bet_value_by_value(count):
    values = np.random.default_rng(count).beta(0.7, 1.5, size=count)
    candidates = np.array([1.0, 0.9, 0.6, 0.35, 0.3, 0.05])
    for error in (0.2, 0.01):
        expected = [highest_capital(values.tolist(), each, error) for each in candidates.tolist()]
        found = _highest_capital(values, candidates, error)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_bet_that_has_reached_its_goal_hardly_plays_on():
    """With the goal behind it a stake is next to nothing, so that capital is kept."""
    values = np.concatenate((np.zeros(60), np.ones(60)))
    highest = _highest_capital(values, np.array([0.7]), 0.1)
    assert math.log(10) < highest[0] < math.log(13)
    assert highest[0] == pytest.approx(highest_capital(values.tolist(), 0.7, 0.1), rel=1e-6)


@pytest.mark.parametrize("case", range(8))
def test_the_bound_is_the_last_candidate_that_was_refuted(case):
    random = np.random.default_rng(case)
    values = [
        random.random(30),
        random.random(90) * 0.05,
        (random.random(60) < 0.5).astype(float),
        (random.random(150) < 0.02).astype(float),
        random.beta(5, 1, 40),
        np.zeros(50),
        np.ones(20),
        np.array([0.3]),
    ][case]
    error = (0.1, 0.01, 0.05, 0.2)[case % 4]
    assert mean_bound(values, error, seed=case) == pytest.approx(bound(values, error, case), 1e-12)


def test_the_first_candidate_counts_as_refuted_and_the_last_may_be():
    """A mean in [0, 1] is never above 1, so that nothing need be shown about 1 itself."""
    values = np.full(400, 0.1)
    assert _last_refuted(values, np.array([0]), 0.05) == 0
    assert _last_refuted(values, np.array([0, 1]), 0.05) == 1
    # Candidates of about 0.9, 0.5 and 0.25, and 0.08, which is below the mean.
    assert _last_refuted(values, np.array([0, 100, 700, 1400, 2500]), 0.05) == 3
    # What comes after one that stands is not looked at.
    assert _last_refuted(values, np.array([0, 2500, 100]), 0.05) == 0


def test_of_nothing_known_a_mean_may_be_anything():
    assert mean_bound(np.array([]), 0.05) == 1.0
    assert mean_bound(np.array([1.0]), 0.05) == 1.0


def test_no_bound_is_below_one_in_ten_thousand():
    rare = mean_bound(np.zeros(60_000), 0.05)
    assert 1e-4 <= rare < 1.001e-4


def test_bounds_of_the_same_seed_are_the_same_and_the_default_seed_is_0():
    values = np.random.default_rng(1).random(40)
    assert mean_bound(values, 0.05) == mean_bound(values, 0.05, seed=0)
    assert len({mean_bound(values, 0.05, seed=seed) for seed in range(5)}) > 1


def test_a_smaller_error_and_fewer_values_make_a_wider_bound():
    values = np.tile([0.1, 0.3, 0.5], 100)
    bounds = [mean_bound(values, error) for error in (0.2, 0.05, 0.01, 0.001)]
    assert 0.3 < bounds[0] < bounds[1] < bounds[2] < bounds[3] < 0.4
    assert mean_bound(values[:60], 0.05) > bounds[1]


@pytest.mark.parametrize("chance", [0.2, 0.5, 0.8])
def test_the_true_mean_is_refuted_no_more_often_than_the_error(chance):
    """Ville's inequality over all sequences of seven tosses, each with its own chance."""
    error, refuted = 0.2, 0.0
    for tosses in product((0.0, 1.0), repeat=7):
        if _highest_capital(np.array(tosses), np.array([chance]), error)[0] >= -math.log(error):
            refuted += math.prod(chance if toss else 1 - chance for toss in tosses)
    assert refuted <= error
    # And not by never refuting anything.
    assert refuted > 0 or chance == 0.2
