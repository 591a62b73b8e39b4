"""The detector of means: its evidence, lines and crossings against sums written out plainly."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.errors import PointsError
from anharmonic.monitor import Evidence
from anharmonic.monitor.bets import Bets, averaged, fitted_bets

ALLOWED = {"up": 0.75, "down": 0.25}


def reference(count=400, seed=0):
    return np.random.default_rng(seed).exponential(size=count)


def drifting(count=150, seed=1, factor=2.5):
    stream = np.random.default_rng(seed).exponential(size=count)
    stream[count // 3 :] *= factor
    return stream


def plain_sums(bets, block, stream, rows):
    """R and the sum weighted by first rows after every block: (blocks, 2, bets)."""
    multipliers = bets.multipliers(averaged(bets.values(stream), block))
    plain, weighted = np.zeros(len(multipliers)), np.zeros(len(multipliers))
    history = []
    for number, multiplier in enumerate(multipliers.T):
        plain = (1 + plain) * multiplier
        weighted = (rows[number * block] + weighted) * multiplier
        history.append((plain, weighted))
    return np.array(history)


@pytest.mark.parametrize("block", [1, 4])
@pytest.mark.parametrize("directions", [("up", "down"), ("down",), ("down", "up")])
def test_evidence_after_every_score_and_the_first_crossing(block, directions):
    watch = Evidence(reference(), rate=300, directions=directions, block=block)
    stream = drifting(factor=2.5 if "up" in directions else 0.5)
    rows = 1000 + 2 * np.arange(len(stream))
    crossings, logs = watch.feed(stream, rows)
    found = {crossing.direction: crossing for crossing in crossings}
    assert watch.directions == directions
    assert logs.shape == (len(directions), len(stream))
    shares = np.array([ALLOWED[name] for name in directions])
    for number, name in enumerate(directions):
        bets = watch.bets[number]
        weights = bets.weights.ravel()
        history = plain_sums(bets, block, stream, rows)
        mixed = history[:, 0] @ weights
        # A block counts as so many scores, and a direction has its share of the alarms.
        line = 300 / block * shares.sum() / shares[number]
        after = np.clip(mixed, 1, 1e6 * line) * 300 / line
        finished = np.arange(1, len(stream) + 1) // block
        expected = np.log(np.r_[300 / line, after])[finished]
        np.testing.assert_allclose(logs[number], expected, rtol=1e-10, atol=1e-12)
        assert watch.log_evidence[name] == logs[number, -1]
        above = np.flatnonzero(mixed >= line)
        assert (name in found) == bool(len(above))
        if name in found:
            first = above[0]
            plain, weighted = history[first] @ weights
            assert found[name].at == rows[(first + 1) * block - 1]
            assert found[name].since == round(weighted / plain)
            assert found[name].log_evidence == pytest.approx(np.log(after[first]))
    assert ("up" in found) == ("up" in directions)


@pytest.mark.parametrize(("rate", "since"), [(1, 10), (2, 10), (3, 11), (5, 13)])
def test_the_line_is_reached_where_evidence_equals_it(rate, since):
    """Bets without a stake win nothing: R counts the scores, and starts are all alike."""
    one = np.ones(1)
    bets = Bets(1, np.array([[0.0, 1.0]]), np.empty(0), one, np.zeros((1, 1)), one[None])
    watch = Evidence.of([bets], rate, 1)
    rows = np.array([10, 11, 13, 15, 17, 20])
    (crossing,), logs = watch.feed(np.zeros(6), rows)
    np.testing.assert_allclose(logs[0], np.log(np.arange(1, 7)), atol=1e-12)
    assert crossing.at == rows[rate - 1]
    # The mean of the rows so far: 10, 10½ (to the even number), 11⅓ and 13.2.
    assert crossing.since == since
    watch.reset()
    assert [watch.update(0.0) for _ in range(5)] == [count >= rate for count in range(1, 6)]


def test_a_fall_is_found_and_dated_too():
    watch = Evidence(reference(), rate=300)
    stream = drifting(400, factor=0.2)
    (fall,), _ = watch.feed(stream, np.arange(400))
    assert fall.direction == "down"
    assert 133 <= fall.at < 400
    assert abs(fall.since - 133) < 40


def test_before_the_first_score_evidence_is_nothing_and_stands_below_the_line_by_all_of_it():
    watch = Evidence(reference(), rate=1000)
    # A line of rate/share, shifted so that it stands at the rate.
    assert watch.log_evidence == pytest.approx({"up": np.log(0.75), "down": np.log(0.25)})
    assert watch.threshold == pytest.approx(np.log(1000))
    assert Evidence(reference(), rate=1000, block=5).log_evidence == pytest.approx(
        {"up": np.log(5 * 0.75), "down": np.log(5 * 0.25)}
    )


def test_a_new_detector_has_counted_nothing():
    watch = Evidence(reference(), block=4)
    state = watch.state
    assert (state.held, state.steps) == (0, 0)
    assert state.waiting.tolist() == [0.0] * 3
    assert state.waiting_rows.tolist() == [0] * 3
    assert not state.sums.now.any()
    assert state.sums.now.shape == (2, 24)


def test_scores_wait_for_their_block_to_be_finished():
    watch = Evidence(reference(), block=4)
    watch.feed(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.arange(20, 26))
    state = watch.state
    assert (state.held, state.steps) == (2, 1)
    assert state.waiting[:2].tolist() == [5.0, 6.0]
    assert state.waiting_rows[:2].tolist() == [24, 25]
    before = watch.log_evidence
    watch.feed(np.array([9.0]), np.array([26]))
    assert watch.state.held == 3
    assert watch.log_evidence == before
    watch.feed(np.array([9.0]), np.array([27]))
    assert (watch.state.held, watch.state.steps) == (0, 2)
    assert watch.log_evidence != before


@pytest.mark.parametrize("block", [1, 3])
def test_scores_one_by_one_are_those_at_once(block):
    """`update` counts rows by itself, from 0."""
    one, whole = (Evidence(reference(), rate=200, block=block) for _ in range(2))
    stream = drifting(152)
    alarmed = [one.update(score) for score in stream.tolist()]
    crossings, logs = whole.feed(stream, np.arange(len(stream)))
    assert one.state.steps == whole.state.steps
    for mine, theirs in zip(one.state.sums, whole.state.sums, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.state.waiting_rows, whole.state.waiting_rows)
    assert alarmed == (logs >= np.log(200)).any(axis=0).tolist()
    assert alarmed.index(True) == min(crossing.at for crossing in crossings)


def test_a_reset_detector_is_as_new_and_keeps_its_reference():
    watch = Evidence(reference(), block=3)
    stream = drifting()
    _, before = watch.feed(stream, np.arange(150))
    watch.reset()
    assert (watch.state.held, watch.state.steps) == (0, 0)
    np.testing.assert_array_equal(watch.feed(stream, np.arange(150))[1], before)


@pytest.mark.parametrize("block", [1, 3])
def test_more_scores_than_are_held_at_once_make_no_difference(block):
    random = np.random.default_rng(2)
    stream = 0.6 * random.exponential(size=2300)
    rows = np.arange(2300)
    whole, parts = (Evidence(reference(), rate=3000, block=block) for _ in range(2))
    crossings, logs = whole.feed(stream, rows)
    pieces = [parts.feed(stream[part], rows[part]) for part in np.array_split(rows, 3)]
    np.testing.assert_array_equal(np.concatenate([each for _, each in pieces], axis=1), logs)
    # A direction has one crossing per call, its first.
    assert [each.direction for each in crossings] == ["down"]
    (first,) = pieces[0][0]
    assert first == crossings[0]


def test_no_scores_are_no_evidence():
    watch = Evidence(reference(), rate=300)
    crossings, logs = watch.feed(np.empty(0), np.empty(0, dtype=int))
    assert crossings == []
    assert logs.shape == (2, 0)


@pytest.mark.parametrize("block", [1, 2])
def test_evidence_is_held_a_million_times_above_its_line(block):
    watch = Evidence(reference(), rate=500, block=block)
    _, logs = watch.feed(np.full(2000, 50.0), np.arange(2000))
    assert logs[0].max() == pytest.approx(np.log(500) + np.log(1e6), abs=1e-12)
    # Of each bet too, where a period of 32 steps ends: 2000 scores at 1 and at 2 per step.
    highest = 1e6 * 500 / block / 0.75
    up = watch.state.sums.begun[0, :12]
    assert up.max() == pytest.approx(highest, rel=1e-12)
    assert watch.state.sums.begun[0, 12:].max() < 1e6


def test_both_directions_share_the_chance_that_a_bound_is_wrong():
    scores = reference()
    for directions in (("up",), ("down",), ("up", "down")):
        for confidence in (0.9, 0.8):
            watch = Evidence(scores, directions=directions, confidence=confidence, block=1)
            whole = sum(ALLOWED[name] for name in directions)
            for name, bets in zip(directions, watch.bets, strict=True):
                sign = {"up": 1, "down": -1}[name]
                error = (1 - confidence) * ALLOWED[name] / whole
                expected = fitted_bets(scores, sign, 1, error)
                assert bets.sign == sign
                np.testing.assert_allclose(bets.bounds, expected.bounds, rtol=1e-12)


def test_what_is_not_said_is_one_alarm_per_hundred_thousand_with_nine_in_ten_references():
    scores = reference()
    plain = Evidence(scores)
    said = Evidence(scores, 100_000, directions=("up", "down"), confidence=0.9, seed=0)
    assert (plain.rate, plain.block) == (100_000.0, 1)
    assert plain.directions == ("up", "down")
    assert plain.unpromised is None
    for one, other in zip(plain.bets, said.bets, strict=True):
        assert one.bounds.tolist() == other.bounds.tolist()


def test_a_detector_of_fitted_bets_is_the_one_they_came_from():
    fitted = Evidence(reference(), rate=700, block=3)
    again = Evidence.of(list(fitted.bets), 700, 3)
    assert (again.rate, again.block, again.directions) == (700.0, 3, ("up", "down"))
    assert again.unpromised is None
    assert Evidence.of(fitted.bets, 700, 3, "why").unpromised == "why"
    stream, rows = drifting(), np.arange(150)
    np.testing.assert_array_equal(again.feed(stream, rows)[1], fitted.feed(stream, rows)[1])


def slow(count=600):
    noise = np.random.default_rng(3).normal(size=count)
    return np.convolve(noise, 0.95 ** np.arange(100))[:count]


def test_where_nothing_can_be_promised_that_is_an_error_or_said():
    with pytest.raises(PointsError, match=r"promised: .*, or promise=False \(--no-promise\)"):
        Evidence(slow())
    watch = Evidence(slow(), promise=False)
    assert watch.unpromised is not None
    assert watch.unpromised.startswith("no rate of false alarms can be promised")
    # As many blocks as must be: thirty.
    assert watch.block == 20
    assert Evidence(slow(), promise=False, block=6).block == 6
    assert Evidence(slow(), promise=False, block=50).block == 20


def test_scores_that_are_no_numbers_are_refused():
    for wrong in (np.nan, np.inf):
        with pytest.raises(PointsError, match="not finite: leave them out"):
            Evidence(np.r_[reference(), wrong])


@pytest.mark.parametrize("block", [1, 3])
def test_a_score_adds_what_the_bets_that_hold_the_evidence_win_by_it(block):
    watch = Evidence(reference(), rate=300, block=block)
    scores = np.array([0.1, 1.0, 6.0])
    for number, name in enumerate(("up", "down")):
        bets = watch.bets[number]
        weights = bets.weights.ravel()
        # Before anything came the bets count by their weights.
        growth = np.log(bets.multipliers(bets.values(scores)))
        np.testing.assert_allclose(
            watch.contributions(scores, name), weights @ growth / block, rtol=1e-12
        )
    stream, rows = drifting(), np.arange(150)
    watch.feed(stream, rows)
    for number, name in enumerate(("up", "down")):
        bets = watch.bets[number]
        held = plain_sums(bets, block, stream, rows)[-1, 0] * bets.weights.ravel()
        growth = np.log(bets.multipliers(bets.values(scores)))
        np.testing.assert_allclose(
            watch.contributions(scores, name), held @ growth / held.sum() / block, rtol=1e-9
        )
    up = watch.contributions(scores, "up")
    assert up[0] < 0 < up[2]
