"""Intervals of what a proposal changes: known answers, and how often they err."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anharmonic._core.statistics import paired_share_interval
from anharmonic.fixes.gains import measured_contrast, measured_gain
from anharmonic.fixes.intervals import Group

LEVEL = 1 - 2 * 0.05 / 7
"""Of `fix` with all kinds: seven tests share an error rate of 5%."""
ALLOWED = (1 - LEVEL) / 2
RANDOM = np.random.default_rng(0)


def test_of_one_fold_it_is_the_paired_interval_of_student():
    before, after = RANDOM.normal(size=80), RANDOM.normal(0.3, size=80)
    gain = measured_gain([before], [after], level=0.95)
    low, high = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert gain.interval == pytest.approx((np.mean(after - before), low, high))
    assert gain.rows == 80


def test_folds_that_disagree_widen_the_interval_with_their_own_degrees_of_freedom():
    before = [np.zeros(50)] * 4
    shifts = [-0.5, 0.0, 0.5, 1.0]
    after = [RANDOM.normal(shift, 0.1, size=50) for shift in shifts]
    gain = measured_gain(before, after, 0.95)
    means = [part.mean() for part in after]
    low, high = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert gain.interval == pytest.approx((np.mean(means), low, high))
    # Folds that agree leave the interval of the rows.
    even = np.concatenate([np.arange(50.0)] * 4)
    agreeing = measured_gain(before, list(even.reshape(4, 50)), 0.95)
    low, high = stats.ttest_1samp(even, 0).confidence_interval(0.95)
    assert agreeing.interval == pytest.approx((even.mean(), low, high))


def _share_shown(draw, folds: int, runs: int, **more) -> float:
    """How often gains are shown where there are none: both means are 0."""
    shown = 0
    for _ in range(runs):
        after = [draw() for _ in range(folds)]
        shown += measured_gain([np.zeros_like(part) for part in after], after, LEVEL, **more).shown
    return shown / runs


def test_gains_of_whole_folds_are_shown_no_more_often_than_allowed():
    random = np.random.default_rng(1)
    # Each fold has a shift of its own beside the rows': errors of 2000 runs are below 0.004.
    shifted = _share_shown(lambda: random.normal(random.normal(0, 0.5), 1, 150), 4, 2000)
    assert shifted <= ALLOWED + 0.004


def test_copies_count_once():
    random = np.random.default_rng(2)
    values, keys = random.normal(0.2, size=40), np.arange(40)
    once = measured_gain([np.zeros(40)], [values], LEVEL)
    copied = measured_gain(
        [np.zeros(400)], [np.repeat(values, 10)], LEVEL, keys=[np.repeat(keys, 10)]
    )
    assert copied.interval == pytest.approx(once.interval)
    naive = measured_gain([np.zeros(400)], [np.repeat(values, 10)], LEVEL)
    assert naive.interval.low > copied.interval.low

    def draw():
        return np.repeat(random.normal(size=30), 10)

    assert _share_shown(draw, 1, 2000, keys=[np.repeat(np.arange(30), 10)]) <= ALLOWED + 0.004
    assert _share_shown(draw, 1, 200) > 0.1


@settings(max_examples=60, deadline=None)
@given(
    more=st.integers(0, 40), fewer=st.integers(0, 40), same=st.integers(0, 300), folds=st.booleans()
)
def test_shares_are_as_sure_as_an_exact_test_allows(more, fewer, same, folds):
    difference = np.concatenate([np.ones(more), -np.ones(fewer), np.zeros(same)])
    if len(difference) < 8:
        return
    before, after = (difference < 0).astype(float), (difference > 0).astype(float)
    cut = [slice(None, None, 4), slice(1, None, 4), slice(2, None, 4), slice(3, None, 4)]
    parts = cut if folds else [slice(None)]
    gain = measured_gain([before[part] for part in parts], [after[part] for part in parts], LEVEL)
    low, high = paired_share_interval(more, fewer, len(difference), LEVEL)
    assert gain.interval.low <= low + 1e-12
    assert gain.interval.high >= high - 1e-12
    if gain.shown:
        signs = stats.binomtest(more, more + fewer, alternative="greater")
        assert signs.pvalue <= ALLOWED + 1e-9


def test_a_row_more_in_each_of_three_folds_shows_nothing():
    nothing, one = np.zeros(125), np.eye(1, 125)[0]
    gain = measured_gain([nothing] * 4, [one, one, one, nothing], 0.9)
    # Three rows of three: an exact sign test has p = 1/8.
    assert not gain.shown


@pytest.mark.parametrize("rows", [32, 500])
def test_no_difference_is_no_proof_that_there_is_none(rows):
    same = [np.ones(rows // 4)] * 4
    gain = measured_gain(same, same, LEVEL)
    assert gain.interval == pytest.approx((0, *paired_share_interval(0, 0, rows, LEVEL)))
    assert gain.interval.low < -0.01
    brier = [np.full(rows // 4, 0.7)] * 4
    assert measured_gain(brier, brier, LEVEL, span=1.0).interval == pytest.approx(gain.interval)


def test_few_rows_that_differ_prove_little_of_any_score():
    random = np.random.default_rng(3)

    def draw():
        return np.where(random.random(200) < 0.02, random.uniform(-1, 1, 200), 0.0)

    assert _share_shown(draw, 1, 2000, span=1.0) <= ALLOWED + 0.004
    # Differences are in the unit of the scores.
    after = np.where(np.arange(200) < 25, 0.5, 0.0)
    one, tenfold = (
        measured_gain([np.zeros(200)], [size * after], LEVEL, span=size) for size in (1.0, 10.0)
    )
    assert tenfold.interval == pytest.approx([10 * end for end in one.interval])


def test_groups_of_rows_are_compared_from_twenty_distinct_ones_on():
    many = Group(np.ones(100))
    for few in (Group(np.zeros(0)), Group(np.zeros(2)), Group(np.zeros(19))):
        contrast = measured_contrast(few, many, LEVEL)
        assert not contrast.shown
        assert not contrast.known
        assert contrast.interval.low == -math.inf
        assert "20 distinct ones" in contrast.against("elsewhere")
        assert not measured_contrast(many, few, LEVEL).shown
    copies = Group(np.zeros(100), np.repeat(np.arange(10), 10))
    assert not measured_contrast(copies, many, LEVEL).known
    enough = measured_contrast(many, Group(np.zeros(20)), LEVEL)
    assert enough.shown
    assert "1.000 against 0.000 elsewhere" in enough.against("elsewhere")


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.98])
def test_shares_of_groups_differ_no_more_often_than_allowed(rate):
    random = np.random.default_rng(4)
    shown = np.mean(
        [
            measured_contrast(
                Group((random.random(20) < rate).astype(float)),
                Group((random.random(200) < rate).astype(float)),
                LEVEL,
            ).shown
            for _ in range(2000)
        ]
    )
    assert shown <= ALLOWED + 0.004


def test_losses_of_groups_are_compared_by_welch():
    inside, outside = RANDOM.normal(1, 2, size=30), RANDOM.normal(0, 1, size=90)
    contrast = measured_contrast(Group(inside), Group(outside), 0.95)
    welch = stats.ttest_ind(inside, outside, equal_var=False).confidence_interval(0.95)
    assert (contrast.interval.low, contrast.interval.high) == pytest.approx((welch.low, welch.high))
