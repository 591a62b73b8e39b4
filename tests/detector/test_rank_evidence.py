"""Evidence by ranks: sums, lines, crossings and what carries them, written out plainly."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.errors import PointsError
from anharmonic.monitor.dependence import dependence_of
from anharmonic.monitor.rank_evidence import (
    LevelScore,
    Lines,
    RankEvidence,
    SingleScore,
    fit_group,
    settle_stream,
)

SHIFTS = np.array([-2.0, -0.75, -0.3, -0.12, 0.12, 0.3, 0.75, 2.0])
RATE = 2000.0


def quiet(count=300, seed=0):
    return np.random.default_rng(seed).normal(size=count)


def drifting(count=140, shift=0.9, seed=1):
    stream = np.random.default_rng(seed).normal(size=count)
    stream[count // 2 :] += shift
    return stream


def mean_of(block):
    known = block[np.isfinite(block)]
    return known.mean() if len(known) else np.nan


def plain_sums(group, values, rows):
    """R and the sum weighted by first rows after every block, one bet after the other."""
    counts = group.bets.gaps
    plain = weighted = np.zeros(group.bets.streams * 8)
    history = [(plain, weighted)]
    for number in range(values.shape[1] // group.block):
        part = slice(number * group.block, (number + 1) * group.block)
        unit = np.array([[mean_of(row[part])] for row in values])
        cells = group.bets.cells(unit, np.array([number]))
        paid, counts = group.bets.multipliers(cells, counts)
        plain = (1 + plain) * paid[:, 0]
        weighted = (rows[number * group.block] + weighted) * paid[:, 0]
        history.append((plain, weighted))
    return np.array(history)


def three_streams(blocks=(1, 3)):
    """Three streams in two groups, the first and the last in blocks; two directions."""
    random = np.random.default_rng(5)
    usual = random.normal(size=(3, 240))
    groups = [
        fit_group(usual[[1]], blocks[0], [0.0], [np.nan], 0),
        fit_group(usual[[0, 2]], blocks[1], [0.01, 0.04], [np.nan] * 2, 0),
    ]
    weights = random.random((2, 3, 8))
    weights /= weights.sum(axis=(1, 2), keepdims=True)
    lines = Lines(("this", "that"), np.array([0.7, 0.3]), weights)
    members = [np.array([1]), np.array([0, 2])]
    watch = RankEvidence.of(groups, members, lines, RATE)
    stream = random.normal(size=(100, 3))
    stream[60:, 0] += 0.75
    stream[60:, 1] -= 0.5
    return watch, stream


def expected_of(watch, values, rows):
    """Sums of each direction after every row, and R and the weighted sum of every bet there."""
    sums = np.zeros((len(watch.lines.shares), len(rows)))
    each = []
    for group, mine in zip(watch.groups, watch.members, strict=True):
        history = plain_sums(group, values[mine], rows)
        finished = history[np.arange(1, len(rows) + 1) // group.block]
        for number, weights in enumerate(watch.lines.weights):
            # A step of several rows counts as many.
            sums[number] += finished[:, 0] @ weights[mine].ravel() * group.block
        each.append(finished)
    return sums, each


def test_one_score_has_the_evidence_of_its_bets_in_every_direction():
    watch, stream = RankEvidence(quiet(), rate=RATE, block=1), drifting()
    crossings, logs = watch.feed(stream, np.arange(140))
    assert watch.directions == ("up", "down", "spread")
    sums, _ = expected_of(watch, watch.streams_of(stream), np.arange(140))
    shares = np.array([[0.5], [0.3], [0.2]])
    np.testing.assert_allclose(logs, np.log(np.maximum(sums, 1) * shares), rtol=1e-9, atol=1e-12)
    assert list(watch.log_evidence.values()) == logs[:, -1].tolist()
    assert watch.threshold == pytest.approx(np.log(RATE))
    assert [each.direction for each in crossings] == ["up"]
    assert crossings[0].at == np.flatnonzero(sums[0] * 0.5 >= RATE)[0]
    assert abs(crossings[0].since - 70) < 25


@pytest.mark.parametrize("blocks", [(1, 1), (1, 3), (4, 2)])
def test_groups_of_any_blocks_add_up(blocks):
    watch, stream = three_streams(blocks)
    assert watch.block == max(blocks)
    rows = 500 + 2 * np.arange(100)
    crossings, logs = watch.feed(stream, rows)
    sums, each = expected_of(watch, stream.T, rows)
    np.testing.assert_allclose(
        logs, np.log(np.maximum(sums, 1)) + np.log([[0.7], [0.3]]), rtol=1e-9, atol=1e-12
    )
    assert list(watch.log_evidence.values()) == logs[:, -1].tolist()
    assert {crossing.direction for crossing in crossings} == {"this", "that"}
    for crossing in crossings:
        number = watch.directions.index(crossing.direction)
        first = np.flatnonzero(logs[number] >= np.log(RATE))[0]
        assert crossing.at == rows[first]
        assert crossing.log_evidence == logs[number, first]
        held, dated, shifts = np.zeros(3), 0.0, np.zeros(3)
        for group, mine, finished in zip(watch.groups, watch.members, each, strict=True):
            weights = watch.lines.weights[number][mine].ravel() * group.block
            parts = (finished[first, 0] * weights).reshape(len(mine), 8)
            held[mine] = parts.sum(axis=1)
            dated += finished[first, 1] @ weights
            # Of a block's mean a standard deviation is less than one of a row.
            unit = 1.0 if group.block == 1 else 2 * np.sqrt(group.bets.memory)
            shifts[mine] = parts @ SHIFTS / held[mine] * unit
        assert crossing.since == min(crossing.at, round(dated / held.sum()))
        ranked = [stream for stream in np.argsort(-held) if held[stream] > held.sum() / 100]
        assert [carrier.stream for carrier in crossing.carriers] == ranked
        shares = [carrier.share for carrier in crossing.carriers]
        np.testing.assert_allclose(shares, held[ranked] / held.sum(), rtol=1e-9)
        found = [carrier.shift for carrier in crossing.carriers]
        np.testing.assert_allclose(found, shifts[ranked], rtol=1e-9)


@pytest.mark.parametrize(("rate", "since"), [(1, 10), (2, 10), (3, 11), (5, 13)])
def test_the_line_is_reached_where_evidence_equals_it(rate, since):
    """A reference of no values has nothing to say: R counts the rows, and starts are all alike."""
    group = fit_group(np.full((1, 50), np.nan), 1, [0.0], [np.nan], 0)
    lines = Lines(("either",), np.ones(1), np.full((1, 1, 8), 1 / 8))
    watch = RankEvidence.of([group], [np.array([0])], lines, rate)
    rows = np.array([10, 11, 13, 15, 17, 20])
    (crossing,), logs = watch.feed(np.zeros((6, 1)), rows)
    assert logs[0].tolist() == np.log(np.arange(1, 7)).tolist()
    assert crossing.at == rows[rate - 1]
    # The mean of the rows so far: 10, 10½ (to the even number), 11⅓ and 13.2.
    assert crossing.since == since
    assert [(carrier.stream, carrier.share) for carrier in crossing.carriers] == [(0, 1.0)]


def test_what_is_since_when_is_never_after_the_alarm():
    """One row that is a world apart crosses at once, and the change is dated there."""
    random = np.random.default_rng(2)
    watch = RankEvidence(random.normal(size=5000), rate=5, block=1)
    crossings, _ = watch.feed(np.full(3, 100.0), np.array([40, 50, 60]))
    assert crossings
    assert all(40 <= crossing.since <= crossing.at for crossing in crossings)


def test_a_direction_crosses_once_in_a_call_however_long():
    watch, stream = RankEvidence(quiet(), rate=50, block=1), np.full(2500, 1.2)
    crossings, logs = watch.feed(stream, np.arange(2500))
    assert len({each.direction for each in crossings}) == len(crossings)
    first = {each.direction: each.at for each in crossings}
    for number, name in enumerate(watch.directions):
        above = np.flatnonzero(logs[number] >= np.log(50))
        assert first.get(name) == (above[0] if len(above) else None)


def test_nothing_came_and_nothing_is_said():
    watch, _ = three_streams()
    assert watch.log_evidence == pytest.approx({"this": np.log(0.7), "that": np.log(0.3)})
    crossings, logs = watch.feed(np.empty((0, 3)), np.empty(0, dtype=int))
    assert crossings == []
    assert logs.shape == (2, 0)
    assert watch.stream_evidence().tolist() == [0.0] * 3
    for state in watch.states:
        assert (state.held, state.steps) == (0, 0)
        assert not state.sums.now.any()
        assert not state.waiting.any()


@pytest.mark.parametrize("stop", [1, 2, 31, 32, 33, 64, 70, 99])
def test_a_state_taken_at_any_row_goes_on_to_the_bit(stop):
    watch, stream = three_streams()
    other, _ = three_streams()
    rows = np.arange(100)
    crossings, logs = watch.feed(stream, rows)
    _, before = other.feed(stream[:stop], rows[:stop])
    third, _ = three_streams()
    for group, state in zip(third.groups, other.states, strict=True):
        group.state = state
    _, after = third.feed(stream[stop:], rows[stop:])
    np.testing.assert_array_equal(np.concatenate((before, after), axis=1), logs)
    for one, two in zip(watch.states, third.states, strict=True):
        np.testing.assert_array_equal(one.counts, two.counts)
        np.testing.assert_array_equal(one.sums.now, two.sums.now)
        assert (one.held, one.steps) == (two.held, two.steps)
    assert crossings


def test_chunks_of_a_long_stream_make_no_difference():
    random = np.random.default_rng(6)
    reference, stream = random.normal(size=200), random.normal(size=2300)
    whole, parts = (RankEvidence(reference, block=1) for _ in range(2))
    _, logs = whole.feed(stream, np.arange(2300))
    pieces = [parts.feed(stream[part], part)[1] for part in np.split(np.arange(2300), [700, 1500])]
    np.testing.assert_array_equal(np.concatenate(pieces, axis=1), logs)


@pytest.mark.parametrize("block", [1, 3])
def test_updates_one_by_one_count_their_own_rows(block):
    one, whole = (RankEvidence(quiet(), rate=300, block=block) for _ in range(2))
    stream = drifting(count=122, shift=1.5)
    alarmed = [one.update(score) for score in stream.tolist()]
    _, logs = whole.feed(stream, np.arange(122))
    assert alarmed == (logs >= np.log(300)).any(axis=0).tolist()
    assert any(alarmed)
    for mine, theirs in zip(one.states, whole.states, strict=True):
        np.testing.assert_array_equal(mine.sums.now, theirs.sums.now)
        np.testing.assert_array_equal(mine.waiting_rows, theirs.waiting_rows)


def test_a_reset_forgets_the_stream_and_not_the_reference():
    watch, stream = three_streams()
    _, before = watch.feed(stream, np.arange(100))
    watch.reset()
    assert all((state.held, state.steps) == (0, 0) for state in watch.states)
    np.testing.assert_array_equal(watch.feed(stream, np.arange(100))[1], before)


def test_evidence_is_held_a_million_times_above_its_line():
    watch = RankEvidence(quiet(), rate=100, block=1)
    _, logs = watch.feed(np.tile(np.linspace(2, 9, 100), 10), np.arange(1000))
    assert logs[0].max() == pytest.approx(np.log(1e6 * 100), abs=1e-12)
    # Each bet is held where the smallest share's line would be, a fifth: at five times that.
    bets = watch.groups[0].state.sums.begun[0]
    assert bets.max() == pytest.approx(5e8, rel=1e-12)


def test_rows_that_lack_a_value_say_nothing():
    """Below the tie there is no size: bets on sizes stand where they stood, but for their count."""
    random = np.random.default_rng(7)
    reference = np.where(random.random(300) < 0.7, 0.0, 1 + random.random(300))
    watch = RankEvidence(reference, block=1)
    assert isinstance(watch.single, SingleScore)
    assert watch.single.tied
    watch.feed(np.zeros(20), np.arange(20))
    sums = watch.groups[0].state.sums.now[0].reshape(2, 8)
    np.testing.assert_allclose(sums[1], 20.0, rtol=1e-12)
    assert watch.states[0].counts[1].tolist() == watch.groups[0].bets.gaps[1].tolist()
    # Whether a row is above the tie is known of all of them.
    assert watch.states[0].counts[0].sum() == watch.groups[0].bets.gaps[0].sum() + 20


def test_the_middle_comes_from_the_first_fifth_and_is_tried_on_the_rest():
    scores = quiet(250)
    watch = RankEvidence(scores, block=1)
    assert watch.single == SingleScore.of(scores[:50])
    # The score itself has no need of a middle.
    assert watch.groups[0].bets.gaps.sum(axis=1).tolist() == [251, 201]


def test_shares_of_classes_come_from_the_first_fifth():
    random = np.random.default_rng(8)
    scores = random.choice(3, 200, p=(0.5, 0.3, 0.2)).astype(float)
    watch = RankEvidence(scores, block=1, levels=True)
    assert watch.single == LevelScore.of(scores[:40])
    assert isinstance(watch.single, LevelScore)
    bets = watch.groups[0].bets
    assert bets.gaps.sum(axis=1).tolist() == [161] * 4
    shares = [np.mean(scores[:40] == level) for level in watch.single.levels]
    # What was never seen is as rare as 160 rows can tell.
    np.testing.assert_allclose(bets.rates, [*shares, 1 / 162], rtol=1e-12)


def test_means_of_answers_are_no_yes_or_no():
    scores = np.random.default_rng(9).integers(2, size=300).astype(float)
    assert np.isfinite(RankEvidence(scores, block=1, levels=True).groups[0].bets.rates).all()
    assert np.isnan(RankEvidence(scores, block=2, levels=True).groups[0].bets.rates).all()
    assert np.isnan(RankEvidence(quiet(), block=1).groups[0].bets.rates).all()


def test_a_streams_evidence_is_how_many_times_larger_than_usual_its_sums_are():
    watch, stream = three_streams()
    watch.feed(stream, np.arange(100))
    _, each = expected_of(watch, stream.T, np.arange(100))
    expected = np.zeros(3)
    for group, mine, finished in zip(watch.groups, watch.members, each, strict=True):
        mean = finished[-1, 0].reshape(len(mine), 8).mean(axis=1)
        expected[mine] = np.log(np.maximum(1, mean / (100 // group.block)))
    np.testing.assert_allclose(watch.stream_evidence(), expected, rtol=1e-9)
    assert expected[0] > 1


def test_a_row_adds_what_the_bets_that_hold_the_evidence_win_by_it():
    watch, stream = three_streams()
    few = np.array([[0.0, 0.0, 0.0], [2.5, -0.5, 0.2], [-2.5, 0.5, np.nan]])

    def expected(held, weights):
        total = np.zeros(3)
        for group, mine, mass in zip(watch.groups, watch.members, held, strict=True):
            cells = group.bets.cells(few.T[mine], np.arange(3))
            total += mass @ np.log(group.bets.alone(cells)) / group.block
        return total / weights

    watch.feed(stream, np.arange(100))
    _, each = expected_of(watch, stream.T, np.arange(100))
    for number, name in enumerate(watch.directions):
        held = [
            finished[-1, 0] * watch.lines.weights[number][mine].ravel() * group.block
            for group, mine, finished in zip(watch.groups, watch.members, each, strict=True)
        ]
        whole = sum(part.sum() for part in held)
        np.testing.assert_allclose(watch.contributions(few, name), expected(held, whole), rtol=1e-9)


@pytest.mark.parametrize("block", [1, 3])
def test_before_anything_came_bets_count_by_their_weights(block):
    watch, scores = RankEvidence(quiet(), block=block), np.array([-2.0, 0.0, 2.5])
    bets = watch.groups[0].bets
    growth = np.log(bets.alone(bets.cells(watch.streams_of(scores), np.arange(3)))) / block
    for name, weights in zip(watch.directions, watch.lines.weights, strict=True):
        expected = weights.ravel() @ growth
        np.testing.assert_allclose(watch.contributions(scores, name), expected, rtol=1e-12)
    rise, fall = (watch.contributions(scores, name) for name in ("up", "down"))
    assert rise[0] < 0 < rise[2]
    assert fall[2] < 0 < fall[0]


def slow(count=3000, memory=0.8):
    noise = np.random.default_rng(3).normal(size=count)
    return np.convolve(noise, memory ** np.arange(100))[:count]


def test_blocks_are_powers_of_two_where_that_fits():
    # Of 240 rows just thirty blocks of eight.
    for count, memory in ((3000, 0.8), (6000, 0.8), (2000, 0.6), (1000, 0.5), (240, 0.6)):
        scores = slow(count, memory)
        depends = dependence_of(scores)
        wanted = depends.block(count)
        power = 2 ** int(np.ceil(np.log2(wanted)))
        assert depends.cycle == 0
        block = settle_stream(scores, "auto", 0).block
        assert block == (power if count >= 30 * power else wanted) > 1
    # Of a cycle blocks are whole.
    daily = np.sin(np.arange(3000) * 2 * np.pi / 24) + 0.5 * quiet(3000)
    assert settle_stream(daily, "auto", 0).block % 24 == 0


def test_what_blocks_still_remember_is_a_quarter_of_a_correlation_time_per_block():
    scores = slow()
    depends = dependence_of(scores)
    for block in (depends.least, 40, 100):
        settled = settle_stream(scores, block, 0)
        assert settled.block == block
        assert settled.unpromised is None
        assert settled.memory == pytest.approx(0.25 * depends.least / block)
    # No more than at the least length, and nothing where single rows are bet on.
    short = settle_stream(scores, 2, 0)
    assert short.unpromised is not None
    assert (short.block, short.memory) == (2, 0.25)
    # Single rows that depend on each other promise nothing, and stay single rows.
    assert (settle_stream(scores, 1, 0).block, settle_stream(scores, 1, 0).memory) == (1, 0.0)
    assert settle_stream(quiet(), "auto", 0) == settle_stream(quiet(), 1, 0)
    assert settle_stream(quiet(), 1, 0).memory == 0.0


def test_of_a_stream_with_gaps_what_is_there_counts():
    scores = slow(1500)
    with_gaps = np.full(3000, np.nan)
    with_gaps[::2] = scores
    assert settle_stream(with_gaps, "auto", 0) == settle_stream(scores, "auto", 0)


def test_where_nothing_can_be_promised_that_is_an_error_or_said():
    scores = slow(300, 0.97)
    with pytest.raises(PointsError, match=r"promised: .*, or promise=False \(--no-promise\)"):
        RankEvidence(scores)
    watch = RankEvidence(scores, promise=False)
    assert watch.unpromised is not None
    assert "no rate of false alarms can be promised" in watch.unpromised
    # Thirty blocks at least.
    assert watch.block == 10
    assert RankEvidence(scores, promise=False, block=4).block == 4
    assert RankEvidence(quiet()).unpromised is None


def test_a_reference_of_less_than_thirty_blocks_is_refused():
    words = "of 29 scores in blocks of 1 is too small to say what is usual: give at least 30"
    with pytest.raises(PointsError, match=words):
        RankEvidence(quiet(29))
    assert RankEvidence(quiet(30)).block == 1
    assert RankEvidence(quiet(90), block=3).block == 3
    with pytest.raises(PointsError, match="not finite: leave them out"):
        RankEvidence(np.r_[quiet(), np.inf])


def test_what_is_not_said_is_numbers_one_alarm_per_hundred_thousand_and_seed_0():
    scores = np.random.default_rng(4).integers(3, size=300).astype(float)
    plain = RankEvidence(scores)
    said = RankEvidence(scores, 100_000, levels=False, promise=True, seed=0)
    other = RankEvidence(scores, seed=1)
    assert plain.rate == said.rate == 100_000.0
    assert plain.directions == ("up", "down", "spread")
    np.testing.assert_array_equal(plain.groups[0].bets.ties, said.groups[0].bets.ties)
    assert not np.array_equal(plain.groups[0].bets.ties, other.groups[0].bets.ties)


def test_of_fitted_bets_the_rate_and_the_words_are_kept():
    watch, _ = three_streams()
    assert (watch.rate, watch.single, watch.unpromised) == (RATE, None, None)
    single = RankEvidence(quiet(), block=1)
    again = RankEvidence.of(
        single.groups, single.members, single.lines, 10, single.single, "a reason"
    )
    assert (again.rate, again.single, again.unpromised) == (10.0, single.single, "a reason")
