"""Bets on ranks against counting done by hand: cells, chances, payoffs, yes and no."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.stats import norm

from anharmonic._core.protocols import Draw
from anharmonic._core.randomness import generator, uniforms
from anharmonic._core.streams import RowStream, Stream
from anharmonic.monitor.rank_bets import RankBets, fit_rank_bets

SHIFTS = np.array([-2.0, -0.75, -0.3, -0.12, 0.12, 0.3, 0.75, 2.0])


def bets_of(*references, memory=0.0, rates=np.nan, seed=0):
    width = max(len(each) for each in references)
    units = np.full((len(references), width), np.nan)
    for row, each in zip(units, references, strict=True):
        row[: len(each)] = each
    count = len(references)
    return fit_rank_bets(units, np.full(count, memory), np.full(count, rates), seed)


def cuts(count):
    """Which of a reference's units are edges, counted from 1."""
    found = {round(each * count / 32) for each in range(1, 32)}
    step = 1
    while step < max(2, count / 32):
        found |= {step, count + 1 - step}
        step *= 2
    return sorted(each for each in found if 1 <= each <= count)


def shifted(low, high):
    """What a cell of p-values pays by the normal distribution, for each shift."""
    won = norm.cdf(norm.ppf(high) - SHIFTS) - norm.cdf(norm.ppf(low) - SHIFTS)
    return won / (high - low)


@pytest.mark.parametrize("count", [1, 2, 3, 31, 32, 33, 64, 65, 100, 999, 1000, 1025])
def test_edges_are_thirty_two_cells_cut_further_at_both_ends(count):
    values = np.random.default_rng(count).permutation(count).astype(float)
    bets = bets_of(values)
    # The k-th smallest of 0, 1, 2, … is k − 1.
    assert (bets.edges[0] + 1).tolist() == cuts(count)
    assert bets.gaps[0].tolist() == np.diff([0, *cuts(count), count + 1]).tolist()
    assert bets.gaps.sum() == count + 1


def test_a_thousand_rows_tell_the_outermost_apart():
    gaps = bets_of(np.arange(1000.0)).gaps[0]
    assert gaps[:6].tolist() == [1, 1, 2, 4, 8, 15]
    assert gaps[-6:].tolist() == [16, 8, 4, 2, 1, 1]
    # 32 cells, of which both outer ones are cut into six.
    assert len(gaps) == 42


def test_a_unit_falls_between_the_edges_around_it():
    bets = bets_of(np.arange(20.0))
    edges = bets.edges[0]
    units = np.array([-1e300, -0.5, 0.5, 7.5, 18.5, 19.5, 1e300])
    expected = [int((edges < unit).sum()) for unit in units]
    assert bets.cells(units[None], np.arange(7))[0].tolist() == expected
    assert expected == [0, 0, 1, 8, 19, 20, 20]


def test_what_is_missing_has_no_cell_and_no_units_have_none():
    bets = bets_of(np.arange(20.0), np.arange(10.0))
    cells = bets.cells(np.array([[np.nan, 3.5], [0.5, np.nan]]), np.arange(2))
    assert cells.tolist() == [[-1, 4], [1, -1]]
    assert bets.cells(np.empty((2, 0)), np.arange(0)).shape == (2, 0)


def test_ties_are_broken_by_uniform_numbers_of_each_unit():
    """Among equal edges a unit stands where its own number stands among theirs."""
    reference = np.r_[np.zeros(10), np.ones(15), np.full(5, 2.0)]
    bets = bets_of(reference, reference, seed=3)
    order = np.array([4, 17, 23, 5, 6])
    draw = Draw(3, order, np.zeros(5, dtype=int), np.empty(0))
    breakers = uniforms(draw, np.array([0]), 2, RowStream.TIES)[:, 0]
    random = generator(3, Stream.RANK_TIES)
    ties = np.stack([random.random(30), random.random(30)])
    for level in (0.0, 1.0, 2.0):
        found = bets.cells(np.full((2, 5), level), order)
        for stream in range(2):
            mine = ties[stream]
            for unit, cell in enumerate(found[stream].tolist()):
                below = reference < level
                tied = (reference == level) & (mine < breakers[unit, stream])
                # Of thirty units every single one is an edge.
                assert cell == np.sum(below | tied)


def test_numbers_of_units_break_ties_and_not_their_place_in_a_call():
    bets = bets_of(np.zeros(50))
    whole = bets.cells(np.zeros((1, 40)), np.arange(40))
    parts = [bets.cells(np.zeros((1, 10)), np.arange(start, start + 10)) for start in (0, 10, 20)]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole[:, :30])
    assert len(set(whole[0].tolist())) > 10


def test_every_cell_pays_what_the_shifted_normal_distribution_says():
    bets = bets_of(np.arange(6.0))
    # Six units make seven gaps, each a cell of one seventh.
    paid = bets.alone(np.arange(7)[None])
    for cell in range(7):
        np.testing.assert_allclose(paid[:, cell], shifted(cell / 7, (cell + 1) / 7), rtol=1e-12)


@pytest.mark.parametrize("count", [1, 5, 40, 300])
def test_payoffs_are_one_on_average_over_all_gaps(count):
    bets = bets_of(np.arange(float(count)))
    cells = np.arange(bets.gaps.shape[1])[None]
    np.testing.assert_allclose(bets.alone(cells) @ bets.gaps[0] / (count + 1), 1.0, rtol=1e-9)


def test_payoffs_of_tied_units_are_one_on_average_over_the_ranks_among_them():
    """A reference of ties alone: over tie-breakers each gap is as likely as any other."""
    bets = bets_of(np.zeros(9))
    assert bets.gaps[0].tolist() == [1] * 10
    np.testing.assert_allclose(bets.alone(np.arange(10)[None]).mean(axis=1), 1.0, rtol=1e-12)
    cells = bets.cells(np.zeros((1, 4000)), np.arange(4000))
    # Each cell's bounds are the edges' own numbers, uniform as well.
    chances = np.diff(np.r_[0.0, bets.ties[0], 1.0])
    np.testing.assert_allclose(np.bincount(cells[0], minlength=10) / 4000, chances, atol=0.03)


@pytest.mark.parametrize("rate", [0.5, 0.2, 0.03])
def test_yes_pays_the_tilted_odds_and_no_the_rest(rate):
    """By odds exp(2λ) times as large: yes pays r′/r and no (1 − r′)/(1 − r)."""
    count = 399
    yes = round(rate * (count + 1))
    bets = bets_of(np.r_[np.zeros(count - yes), np.ones(yes)], rates=rate)
    odds = np.exp(2 * SHIFTS) * rate / (1 - rate)
    tilted = odds / (1 + odds)
    paid = bets.alone(np.arange(bets.gaps.shape[1])[None])
    ends = np.cumsum(bets.gaps[0]) / (count + 1)
    for cell, (low, high) in enumerate(zip(np.r_[0.0, ends[:-1]], ends, strict=True)):
        # The cell's part among the noes, and among the yeses.
        no = max(0.0, min(high, 1 - rate) - low) / (high - low)
        expected = no * (1 - tilted) / (1 - rate) + (1 - no) * tilted / rate
        np.testing.assert_allclose(paid[:, cell], expected, rtol=1e-9)
    np.testing.assert_allclose(paid @ bets.gaps[0] / (count + 1), 1.0, rtol=1e-9)


def test_a_stream_of_yes_and_no_leaves_the_one_beside_it_alone():
    reference = np.arange(40.0)
    rates = np.array([np.nan, 0.3, np.nan])
    mixed = fit_rank_bets(np.stack([reference] * 3), np.zeros(3), rates, 0)
    plain = bets_of(reference)
    cells = np.arange(mixed.gaps.shape[1])
    three = mixed.alone(np.stack([cells] * 3)).reshape(3, 8, -1)
    np.testing.assert_array_equal(three[0], plain.alone(cells[None]))
    np.testing.assert_array_equal(three[2], plain.alone(cells[None]))
    assert not np.allclose(three[1], three[0])


def test_shares_of_yes_that_a_reference_cannot_tell_from_none_or_all_are_brought_in():
    reference = np.stack([np.zeros(48), np.ones(48), np.arange(48.0), np.zeros(48)])
    rates = np.array([0.0, 1.0, np.nan, 0.4])
    bets = fit_rank_bets(reference, np.zeros(4), rates, 0)
    # 48 units have 49 gaps.
    np.testing.assert_array_equal(bets.rates, [1 / 50, 49 / 50, np.nan, 0.4])
    assert np.isfinite(bets.alone(np.zeros((4, 1), dtype=int))).all()


def test_units_are_counted_one_after_the_other():
    """Many units at once pay what they pay one by one, each adding a gap to its cell."""
    random = np.random.default_rng(0)
    bets = bets_of(random.normal(size=70), random.normal(size=12))
    units = random.normal(size=(2, 25))
    units[random.random((2, 25)) < 0.2] = np.nan
    cells = bets.cells(units, np.arange(25))
    before = bets.gaps.copy()
    together, after = bets.multipliers(cells, bets.gaps)
    # What is handed in stays as it was.
    np.testing.assert_array_equal(bets.gaps, before)
    counts = [row.tolist() for row in bets.gaps]
    for unit in range(25):
        for stream in range(2):
            cell, mine = int(cells[stream, unit]), counts[stream]
            paid = together.reshape(2, 8, 25)[stream, :, unit]
            if cell < 0:
                assert (paid == 1).all()
                continue
            total, under = sum(mine), sum(mine[:cell])
            expected = shifted(under / total, (under + mine[cell]) / total)
            np.testing.assert_allclose(paid, expected, rtol=1e-9)
            mine[cell] += 1
    assert after.tolist() == counts


def test_alone_every_unit_is_the_first_after_the_reference():
    bets = bets_of(np.arange(30.0), np.arange(12.0), memory=0.1)
    cells = np.array([[5, 5, -1, 0], [-1, 2, 12, 2]])
    alone = bets.alone(cells)
    for unit in range(4):
        first, _ = bets.multipliers(cells[:, [unit]], bets.gaps)
        np.testing.assert_array_equal(alone[:, [unit]], first)


def test_what_remembers_is_paid_less_by_the_square_of_the_shift():
    reference = np.arange(40.0)
    plain = bets_of(reference, reference)
    slow = fit_rank_bets(np.stack([reference] * 2), np.array([0.0, 0.2]), np.full(2, np.nan), 0)
    cells = np.array([[0, 7, -1], [0, 7, -1]])
    usual = plain.alone(cells).reshape(2, 8, 3)
    paid = slow.alone(cells).reshape(2, 8, 3)
    np.testing.assert_array_equal(paid[0], usual[0])
    less = np.exp(-0.2 * SHIFTS**2)
    np.testing.assert_allclose(paid[1, :, :2], usual[1, :, :2] * less[:, None], rtol=1e-12)
    assert (paid[1, :, 2] == 1).all()


def test_streams_of_different_length_stand_beside_each_other():
    long, short = np.arange(100.0), np.arange(3.0)
    both = bets_of(long, short, np.empty(0))
    assert both.streams == 3
    assert both.gaps.sum(axis=1).tolist() == [101, 4, 1]
    assert both.edges[1].tolist()[:3] == [0.0, 1.0, 2.0]
    assert np.isinf(both.edges[1, 3:]).all()
    cells = both.cells(np.array([[50.5], [1.5], [7.0]]), np.arange(1))
    assert cells[1:, 0].tolist() == [2, 0]
    # One gap is all there is: nothing is won or lost there.
    paid = both.alone(cells).reshape(3, 8)
    assert (paid[2] == 1).all()
    np.testing.assert_allclose(paid[1], shifted(0.5, 0.75), rtol=1e-12)


def test_a_rise_pays_bets_on_rises_and_a_fall_those_on_falls():
    bets = bets_of(np.arange(100.0))
    high, low = (bets.alone(np.array([[cell]]))[:, 0] for cell in (bets.gaps.shape[1] - 1, 0))
    assert ((high > 1) == (SHIFTS > 0)).all()
    assert ((low > 1) == (SHIFTS < 0)).all()
    # Turned round they are each other.
    np.testing.assert_allclose(high, low[::-1], rtol=1e-9)


def test_fitted_ranks_cannot_be_changed():
    bets = bets_of(np.arange(5.0))
    assert isinstance(bets, RankBets)
    with pytest.raises(FrozenInstanceError):
        bets.seed = 1
