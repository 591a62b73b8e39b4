"""What a score is watched by: its rank's distance from the middle, ties, classes, their lines."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from anharmonic.monitor.rank_evidence import LevelScore, Lines, Settled, SingleScore

SHIFTS = np.array([-2.0, -0.75, -0.3, -0.12, 0.12, 0.3, 0.75, 2.0])


def test_the_middle_has_no_distance_and_both_ends_have_one():
    single = SingleScore((10.0, 20.0, 40.0), tied=False)
    scores, distance = single.streams(np.array([10.0, 15.0, 20.0, 30.0, 40.0]))
    assert scores.tolist() == [10.0, 15.0, 20.0, 30.0, 40.0]
    assert distance.tolist() == [1.0, 0.5, 0.0, 0.5, 1.0]


def test_beyond_all_that_is_known_the_distance_grows_by_the_whole_range():
    single = SingleScore((10.0, 20.0, 40.0), tied=False)
    # 30 is the whole range: 40 + 30 and 10 − 60 lie one and two of it outside.
    _, distance = single.streams(np.array([70.0, -50.0, 43.0, 7.0]))
    np.testing.assert_allclose(distance, [2.0, 3.0, 1.1, 1.1], rtol=1e-14)


def test_a_score_that_never_varied_is_measured_as_it_is():
    single = SingleScore.of(np.full(50, 3.0))
    assert not single.tied
    _, distance = single.streams(np.array([5.0, 2.5]))
    np.testing.assert_allclose(np.diff(distance), [-1.5], atol=1e-12)


def test_ranks_are_told_by_forty_one_quantiles_or_as_many_as_there_are_scores():
    scores = np.random.default_rng(0).permutation(81).astype(float)
    # Every other of 0 to 80: the quantiles are 2.5% apart.
    assert SingleScore.of(scores).quantiles == pytest.approx(range(0, 81, 2))
    assert SingleScore.of(np.array([4.0, 1.0, 2.0])).quantiles == (1.0, 2.0, 4.0)


def test_more_than_half_at_the_lowest_value_are_a_tie():
    assert SingleScore.of(np.r_[np.zeros(51), np.arange(1, 50)]) == SingleScore((0.0,), True)
    assert not SingleScore.of(np.r_[np.zeros(50), np.arange(1, 51)]).tied
    # At another value than the lowest they are none.
    assert not SingleScore.of(np.r_[np.full(60, 5.0), np.arange(40)]).tied
    assert SingleScore.of(np.r_[np.full(60, -5.0), np.arange(40)]).quantiles == (-5.0,)


def test_of_a_tie_whether_a_score_is_above_it_and_how_large_it_is_then():
    above, sizes = SingleScore((2.0,), tied=True).streams(np.array([2.0, 1.0, 2.5, 9.0]))
    assert above.tolist() == [0.0, 0.0, 1.0, 1.0]
    np.testing.assert_array_equal(sizes, [np.nan, np.nan, 2.5, 9.0])


@pytest.mark.parametrize(
    "score",
    [SingleScore((0.0, 1.0), False), SingleScore((0.0,), True), LevelScore((0.0, 1.0, 2.0))],
)
def test_shares_and_every_directions_weights_add_up_to_the_whole(score):
    lines = score.lines
    assert lines.shares.sum() == pytest.approx(1)
    assert len(lines.directions) == len(lines.shares) == len(lines.weights)
    np.testing.assert_allclose(lines.weights.sum(axis=(1, 2)), 1.0, rtol=1e-12)
    assert (lines.weights >= 0).all()


def test_rises_falls_and_spread_have_the_bets_that_speak_for_them():
    lines = SingleScore((0.0, 1.0), tied=False).lines
    assert lines.directions == ("up", "down", "spread")
    assert lines.shares.tolist() == [0.5, 0.3, 0.2]
    up, down, spread = lines.weights
    # Four bets on rises of the score, four on falls, and all eight on its distance.
    assert up.tolist() == [np.where(SHIFTS > 0, 0.25, 0.0).tolist(), [0.0] * 8]
    assert down.tolist() == [np.where(SHIFTS < 0, 0.25, 0.0).tolist(), [0.0] * 8]
    assert spread.tolist() == [[0.0] * 8, [0.125] * 8]


def test_of_a_tie_both_streams_speak_for_rises_and_falls_by_halves():
    lines = SingleScore((0.0,), tied=True).lines
    assert lines.directions == ("up", "down")
    assert lines.shares.tolist() == [0.6, 0.4]
    up, down = lines.weights
    assert up.tolist() == [np.where(SHIFTS > 0, 0.125, 0.0).tolist()] * 2
    assert down.tolist() == [np.where(SHIFTS < 0, 0.125, 0.0).tolist()] * 2


def test_classes_have_one_direction_and_equal_bets():
    lines = LevelScore((3.0, 1.0)).lines
    assert lines.directions == ("either",)
    assert lines.shares.tolist() == [1.0]
    # Two classes and "none of them", eight bets each.
    assert lines.weights.shape == (1, 3, 8)
    assert (lines.weights == 1 / 24).all()


def test_classes_are_streams_of_yes_and_no_and_one_for_what_was_never_seen():
    streams = LevelScore((3.0, 1.0)).streams(np.array([1.0, 3.0, 2.0, 1.0]))
    assert streams.dtype == np.float64
    assert streams.tolist() == [[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]]


def test_the_most_frequent_classes_come_first_and_eight_are_watched():
    scores = np.repeat(np.arange(10.0), [3, 9, 1, 8, 2, 7, 6, 5, 4, 4])
    assert LevelScore.of(scores).levels == (1.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 0.0)
    assert LevelScore.of(np.repeat([0.0, 1.0, 2.0], [2, 5, 3])).levels == (1.0, 2.0, 0.0)


def test_of_two_classes_one_says_it_all():
    assert LevelScore.of(np.repeat([0.0, 1.0], [2, 5])).levels == (1.0,)
    assert LevelScore.of(np.zeros(4)).levels == (0.0,)


@pytest.mark.parametrize(
    ("fixed", "field"),
    [
        (Lines(("up",), np.ones(1), np.ones((1, 1, 8))), "shares"),
        (SingleScore((0.0,), True), "tied"),
        (LevelScore((0.0,)), "levels"),
        (Settled(1, 0.0, None), "block"),
    ],
)
def test_what_was_settled_on_fitting_cannot_be_changed(fixed, field):
    with pytest.raises(FrozenInstanceError):
        setattr(fixed, field, None)
