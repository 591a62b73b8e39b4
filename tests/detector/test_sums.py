"""Shiryaev–Roberts sums R = (1 + R)·e by hand, at the ends of periods, and gone on with."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.monitor.shiryaev_roberts import PERIOD, added, no_sums

NO_LIMIT = np.full(1, np.inf)


def by_hand(multipliers, rows, highest=np.inf):
    """One bet's R and the sum of starts times rows after every step."""
    plain = weighted = 0.0
    history = []
    for step, (multiplier, row) in enumerate(zip(multipliers, rows, strict=True), 1):
        plain, weighted = (1 + plain) * multiplier, (row + weighted) * multiplier
        history.append((plain, weighted))
        if step % PERIOD == 0 and plain > highest:
            plain, weighted = highest, weighted * highest / plain
    return np.array(history).T


def test_three_steps_by_hand():
    sums, history = added(
        no_sums(1), np.array([[2.0, 0.5, 3.0]]), np.array([10, 20, 30]), 0, NO_LIMIT
    )
    # (1 + 0)·2, (1 + 2)·½, (1 + 1½)·3; and (10 + 0)·2, (20 + 20)·½, (30 + 20)·3.
    assert history[:, 0].tolist() == [[2.0, 1.5, 7.5], [20.0, 20.0, 150.0]]
    assert sums.now[:, 0].tolist() == [7.5, 150.0]


def test_before_the_first_step_every_sum_is_nothing():
    sums = no_sums(4)
    assert sums.now.tolist() == [[0.0] * 4, [0.0] * 4]
    again, history = added(sums, np.empty((4, 0)), np.empty(0, dtype=int), 0, np.full(4, np.inf))
    assert history.shape == (2, 4, 0)
    assert again.now.tolist() == sums.now.tolist()


def test_bets_do_not_touch_each_other():
    random = np.random.default_rng(0)
    multipliers, rows = random.uniform(0.3, 2, size=(5, 75)), np.arange(75)
    _, together = added(no_sums(5), multipliers, rows, 0, np.full(5, np.inf))
    for bet in range(5):
        _, alone = added(no_sums(1), multipliers[[bet]], rows, 0, NO_LIMIT)
        np.testing.assert_array_equal(together[:, [bet]], alone)


@pytest.mark.parametrize("count", [1, PERIOD - 1, PERIOD, PERIOD + 1, 2 * PERIOD, 100])
def test_every_length_of_stream_follows_the_recursion(count):
    random = np.random.default_rng(count)
    multipliers, rows = random.uniform(0.3, 2.5, size=count), 7 + 3 * np.arange(count)
    sums, history = added(no_sums(1), multipliers[None], rows, 0, NO_LIMIT)
    expected = by_hand(multipliers.tolist(), rows.tolist())
    np.testing.assert_allclose(history[:, 0], expected, rtol=1e-13)
    np.testing.assert_allclose(sums.now[:, 0], expected[:, -1], rtol=1e-13)


@pytest.mark.parametrize("stop", range(0, 2 * PERIOD + 3, 3))
def test_a_stream_cut_anywhere_goes_on_to_the_bit(stop):
    random = np.random.default_rng(1)
    multipliers, rows = random.uniform(0.2, 2.5, size=(2, 90)), np.arange(90)
    highest = np.array([5.0, 300.0])
    last, whole = added(no_sums(2), multipliers, rows, 0, highest)
    middle, before = added(no_sums(2), multipliers[:, :stop], rows[:stop], 0, highest)
    end, after = added(middle, multipliers[:, stop:], rows[stop:], stop, highest)
    np.testing.assert_array_equal(np.concatenate((before, after), axis=2), whole)
    for one, other in zip(end, last, strict=True):
        np.testing.assert_array_equal(one, other)


def test_sums_are_brought_back_where_a_period_ends_and_nowhere_else():
    multipliers, rows = np.full(3 * PERIOD, 1.5), np.arange(100, 100 + 3 * PERIOD)
    _, history = added(no_sums(1), multipliers[None], rows, 0, np.array([50.0]))
    expected = by_hand(multipliers.tolist(), rows.tolist(), 50.0)
    np.testing.assert_allclose(history[:, 0], expected, rtol=1e-12)
    # Within the first period it is far above the limit; after it, it begins from the limit.
    assert history[0, 0, PERIOD - 1] > 1000
    assert history[0, 0, PERIOD] == pytest.approx(51 * 1.5)


def test_stored_sums_count_on_periods_of_thirty_two_steps():
    """What was stored after some step is products since the last whole period, and stays so."""
    multipliers, rows = np.full((1, 70), 2.0), np.arange(70)
    for steps, factors in ((1, 1), (31, 31), (32, 0), (33, 1), (63, 31), (64, 0), (70, 6)):
        sums, _ = added(no_sums(1), multipliers[:, :steps], rows[:steps], 0, NO_LIMIT)
        assert sums.product.tolist() == [2.0**factors]
        assert sums.now[0, 0] == 2.0 ** (steps + 1) - 2


def test_what_is_brought_back_keeps_its_date():
    multipliers, rows = np.full((1, PERIOD), 1.4), np.arange(500, 500 + PERIOD)
    free, _ = added(no_sums(1), multipliers, rows, 0, NO_LIMIT)
    held, _ = added(no_sums(1), multipliers, rows, 0, np.array([9.0]))
    assert held.now[0, 0] == pytest.approx(9.0)
    assert held.now[1, 0] / held.now[0, 0] == pytest.approx(free.now[1, 0] / free.now[0, 0])


def test_each_bet_is_held_at_a_limit_of_its_own():
    multipliers = np.full((3, PERIOD), 2.0)
    highest = np.array([10.0, 1000.0, 1e30])
    sums, _ = added(no_sums(3), multipliers, np.arange(PERIOD), 0, highest)
    np.testing.assert_allclose(sums.now[0], [10.0, 1000.0, 2.0 ** (PERIOD + 1) - 2], rtol=1e-12)


def test_products_begin_anew_with_every_period():
    """A losing streak of any length neither runs out of small numbers nor stops a comeback."""
    multipliers, rows = np.full((1, 3000), 1e-6), np.arange(3000)
    sums, history = added(no_sums(1), multipliers, rows, 0, NO_LIMIT)
    np.testing.assert_allclose(history[0, 0, 1:], 1e-6 * (1 + 1e-6), rtol=1e-9)
    _, after = added(sums, np.full((1, 10), 2.0), np.arange(3000, 3010), 3000, NO_LIMIT)
    assert after[0, 0, -1] == pytest.approx(2**11 - 2, rel=1e-5)


def test_a_sum_over_starts_dates_the_change():
    """Nothing won before row 40, everything after it: starts from there on carry the sum."""
    multipliers = np.r_[np.full(40, 0.5), np.full(20, 3.0)][None]
    _, history = added(no_sums(1), multipliers, np.arange(60), 0, NO_LIMIT)
    assert history[1, 0, -1] / history[0, 0, -1] == pytest.approx(40, abs=0.6)
