"""Bets against a reference's means: what they pay by hand, and how they are fitted."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.stats import beta

from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.monitor.bets import Bets, averaged, fitted_bets
from anharmonic.monitor.bounds import mean_bound

PARTS = (0.4, 0.2, 0.2, 0.2)
TIED_PARTS = (0.05, 0.75, 0.2)


def plain_bets(sign=1, clips=((0.0, 10.0),), thresholds=(5.0,), bounds=(0.5, 0.25)):
    stakes = np.array([[0.1, 0.5, 0.9]] * len(bounds))
    weights = np.full(stakes.shape, 1 / stakes.size)
    arrays = (np.array(each, dtype=float) for each in (clips, thresholds, bounds))
    return Bets(sign, *arrays, stakes, weights)


def set_aside(aside, rest, seed=0):
    """A reference of which just `aside` says what to bet on, and `rest` what that does usually."""
    reference = np.empty(len(aside) + len(rest))
    order = generator(seed, Stream.BET_ORDER).permutation(len(reference))
    reference[order] = np.concatenate((aside, rest))
    return reference


def kelly(values, bound):
    """The stakes for a mean that rises by a quarter, by half and threefold."""
    mean, variance = np.mean(values), np.var(values) / bound**2
    stakes = []
    for rise in (1.25, 1.5, 3.0):
        gain = min(mean * rise, 1.0) / bound - 1
        stake = gain / (variance + gain**2) if variance > 0 else 0.0
        stakes.append(min(max(stake, 0.01), 0.95))
    return stakes


def test_a_score_is_clipped_scaled_and_compared_with_thresholds():
    bets = plain_bets(thresholds=(5.0, 8.0), bounds=(0.5, 0.2, 0.1))
    values = bets.values(np.array([-3.0, 0.0, 4.0, 5.0, 5.5, 9.0, 12.0]))
    assert values.tolist() == [
        [0.0, 0.0, 0.4, 0.5, 0.55, 0.9, 1.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0],
    ]


def test_turned_round_a_fall_is_a_rise():
    bets = plain_bets(sign=-1, clips=((-10.0, 0.0),), thresholds=(-5.0,))
    assert bets.values(np.array([0.0, 2.0, 5.0, 6.0])).tolist() == [
        [1.0, 0.8, 0.5, 0.4],
        [1.0, 1.0, 0.0, 0.0],
    ]


def test_a_bet_pays_one_and_its_stake_times_the_gain():
    paid = plain_bets().multipliers(np.array([[0.5, 1.0, 0.0], [0.0, 1.0, 0.25]]))
    # Gains y/m − 1 of 0, 1 and −1, and of −1, 3 and 0; each with stakes 0.1, 0.5 and 0.9.
    np.testing.assert_allclose(
        paid,
        [
            [1.0, 1.1, 0.9],
            [1.0, 1.5, 0.5],
            [1.0, 1.9, 0.1],
            [0.9, 1.3, 1.0],
            [0.5, 2.5, 1.0],
            [0.1, 3.7, 1.0],
        ],
        rtol=1e-14,
    )


def test_what_is_above_a_reference_that_never_varies_is_a_rise():
    bets = plain_bets(clips=((3.0, 3.0),), thresholds=(3.0,))
    assert bets.values(np.array([2.0, 3.0, 3.5])).tolist() == [[0.0, 0.0, 1.0]] * 2


@pytest.mark.parametrize("sign", [1, -1])
def test_sizes_are_bet_on_above_the_tie_only(sign):
    edge = 0.0 if sign > 0 else np.nextafter(0.0, -1)
    low, high = (0.0, 4.0) if sign > 0 else (-4.0, 0.0)
    bets = plain_bets(sign, ((low, high), (low, high)), (edge,), (0.5, 0.3, 0.2))
    values = bets.values(np.array([0.0, 1.0, 4.0]))
    sizes = [0.0, 0.25, 1.0] if sign > 0 else [1.0, 0.75, 0.0]
    assert values[0].tolist() == sizes
    # In the tie the value is the bound itself, so that nothing is won or lost.
    assert values[1].tolist() == [0.3, *sizes[1:]]
    assert values[2].tolist() == ([0.0, 1.0, 1.0] if sign > 0 else [1.0, 0.0, 0.0])


def test_averages_are_of_whole_blocks():
    values = np.array([[1.0, 2.0, 6.0, 4.0, 0.0, 5.0, 9.0], [0.0, 0.0, 3.0, 3.0, 3.0, 3.0, 8.0]])
    assert averaged(values, 3).tolist() == [[3.0, 3.0], [1.0, 3.0]]
    assert averaged(values, 1).tolist() == values.tolist()
    assert averaged(values, 8).shape == (2, 0)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_tenth_says_what_to_bet_on_and_the_rest_what_it_does(sign):
    """All that is fitted, from its definition: clips, thresholds, bounds, stakes and weights."""
    random = np.random.default_rng(3)
    aside, rest = random.normal(size=40), random.normal(size=360)
    bets = fitted_bets(set_aside(aside, rest, seed=5), sign, 1, 0.1, seed=5)
    low, high = np.quantile(sign * aside, [0.01, 0.95])
    np.testing.assert_allclose(bets.clips, [[low, low + 2 * (high - low)]])
    # The smallest score that at least 80%, 90% and 97% do not exceed.
    ranked = np.sort(sign * aside)
    assert bets.thresholds.tolist() == [ranked[31], ranked[35], ranked[38]]
    clipped = np.clip((sign * rest - low) / (2 * (high - low)), 0, 1)
    rows = [clipped, *(1.0 * (sign * rest > each) for each in bets.thresholds)]
    bounds = [mean_bound(rows[0], 0.1 * 0.4, 5)]
    for row in rows[1:]:
        # Clopper and Pearson: the chance with which so few hits or fewer are 2% likely.
        bounds.append(beta.ppf(1 - 0.02, row.sum() + 1, len(row) - row.sum()))
    np.testing.assert_allclose(bets.bounds, bounds, rtol=1e-12)
    stakes = [kelly(*each) for each in zip(rows, bets.bounds, strict=True)]
    np.testing.assert_allclose(bets.stakes, stakes, rtol=1e-10)
    np.testing.assert_allclose(bets.weights, np.outer(PARTS, (0.15, 0.7, 0.15)))
    assert bets.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("sign", [1, -1])
def test_of_a_tie_whether_above_it_and_how_large_then(sign):
    random = np.random.default_rng(4)
    aside = np.r_[np.full(24, 2.0), 2 + random.exponential(size=16)]
    rest = np.where(random.random(360) < 0.6, 2.0, 2 + random.exponential(size=360))
    bets = fitted_bets(set_aside(aside, rest), sign, 1, 0.2)
    above = sign * aside[aside > 2]
    (low, high), (low_above, high_above) = (
        np.quantile(each, [0.01, 0.95]) for each in (sign * aside, above)
    )
    expected = [[low, 2 * high - low], [low_above, 2 * high_above - low_above]]
    np.testing.assert_allclose(bets.clips, expected, rtol=1e-12)
    assert len(bets.thresholds) == 1
    hit = rest > 2 if sign > 0 else rest == 2
    assert (sign * rest > bets.thresholds[0]).tolist() == hit.tolist()
    scaled = [
        np.clip((sign * scores - start) / (stop - start), 0, 1)
        for scores, (start, stop) in zip((rest, rest[rest > 2]), expected, strict=True)
    ]
    bounds = [
        mean_bound(scaled[0], 0.2 * 0.05),
        mean_bound(scaled[1], 0.2 * 0.75),
        beta.ppf(1 - 0.2 * 0.2, hit.sum() + 1, (~hit).sum()),
    ]
    np.testing.assert_allclose(bets.bounds, bounds, rtol=1e-12)
    rows = [*scaled, hit.astype(float)]
    stakes = [kelly(*each) for each in zip(rows, bets.bounds, strict=True)]
    np.testing.assert_allclose(bets.stakes, stakes, rtol=1e-10)
    np.testing.assert_allclose(bets.weights, np.outer(TIED_PARTS, (0.15, 0.7, 0.15)))


def test_of_blocks_the_references_own_block_means_are_usual():
    random = np.random.default_rng(5)
    reference = random.exponential(size=403)
    bets = fitted_bets(reference, 1, 4, 0.1)
    blocks = averaged(bets.values(reference), 4)
    assert blocks.shape == (4, 100)
    # Means of several exceedances are no coin tosses: each has the bound of any law.
    bounds = [mean_bound(row, 0.1 * part) for row, part in zip(blocks, PARTS, strict=True)]
    np.testing.assert_allclose(bets.bounds, bounds, rtol=1e-12)
    stakes = [kelly(*each) for each in zip(blocks, bets.bounds, strict=True)]
    np.testing.assert_allclose(bets.stakes, stakes, rtol=1e-10)


def test_at_least_half_at_the_lowest_value_and_five_above_it_make_a_tie():
    def clips(tied, above):
        aside = np.r_[np.zeros(tied), 1 + np.arange(above)]
        return len(fitted_bets(set_aside(aside, np.arange(40.0)), 1, 1, 0.1).clips)

    assert clips(15, 15) == 2
    assert clips(14, 16) == 1
    assert clips(25, 5) == 2
    assert clips(26, 4) == 1


def test_thirty_scores_are_set_aside_where_a_tenth_is_less_and_never_more_than_half():
    for count, aside in ((40, 20), (60, 30), (100, 30), (310, 31)):
        # What is set aside lies far below the rest, and what to bet on is taken from it alone.
        low = np.linspace(0, 1, aside)
        reference = set_aside(low, np.linspace(100, 101, count - aside))
        bets = fitted_bets(reference, 1, 1, 0.1)
        assert bets.thresholds.max() <= 1
        assert bets.clips[0, 0] == pytest.approx(np.quantile(low, 0.01))


def test_a_reference_holds_thirty_blocks_or_is_refused():
    reference = np.random.default_rng(6).normal(size=90)
    assert fitted_bets(reference, 1, 3, 0.1).bounds.shape == (4,)
    with pytest.raises(PointsError, match=r"of 89 scores in blocks of 3 .* give at least 90"):
        fitted_bets(reference[:89], 1, 3, 0.1)


def test_what_never_varied_is_bet_on_timidly():
    bets = fitted_bets(np.zeros(300), 1, 1, 0.1)
    assert (bets.stakes == 0.01).all()


def test_a_size_that_never_came_in_the_rest_has_any_mean():
    """The part that was set aside has a tie, and of the rest nothing is above it."""
    aside = np.r_[np.zeros(30), 1 + np.arange(10.0)]
    bets = fitted_bets(set_aside(aside, np.zeros(360)), 1, 1, 0.1)
    assert bets.bounds[1] == 1
    assert (bets.stakes[1] == 0.01).all()


def test_no_stake_loses_everything_and_none_is_nothing():
    random = np.random.default_rng(7)
    for draw in (random.normal, random.standard_cauchy, random.random):
        bets = fitted_bets(draw(size=2000), 1, 1, 0.1)
        assert bets.stakes.min() >= 0.01
        assert bets.stakes.max() <= 0.95
        assert bets.multipliers(np.zeros((4, 1))).min() >= 0.05 - 1e-12


def test_the_default_seed_is_0_and_others_set_other_scores_aside():
    reference = np.random.default_rng(8).normal(size=400)
    plain, same, other = (fitted_bets(reference, 1, 1, 0.1, *seed) for seed in ((), (0,), (1,)))
    assert plain.clips.tolist() == same.clips.tolist() != other.clips.tolist()


def test_fitted_bets_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        plain_bets().sign = -1
