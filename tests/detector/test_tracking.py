"""A stream's counts, alarms and evidence, by channels that do as they are told."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.errors import PointsError, SettingsError
from anharmonic.monitor import RankEvidence
from anharmonic.monitor.alarms import Key
from anharmonic.monitor.detector import Carrier, Crossing
from anharmonic.monitor.evidence_tracker import BEGINNING, EvidenceTracker, part_count
from anharmonic.monitor.rank_evidence import LevelScore


class Adding:
    """Log evidence is the sum of the scores so far; a score of 100 or more crosses the line."""

    def __init__(self, rate=None, directions=("up",), unpromised=None, **more):
        self.directions, self.unpromised = directions, unpromised
        if rate is not None:
            self.rate = rate
        self.__dict__ |= more
        self.fed: list[tuple[float, int]] = []
        self.reset()

    def reset(self):
        self.total = 0.0

    @property
    def log_evidence(self):
        return dict.fromkeys(self.directions, self.total)

    def feed(self, scores, rows):
        self.fed += zip(scores.tolist(), rows.tolist(), strict=True)
        logs = self.total + np.cumsum(scores)
        self.total += float(scores.sum())
        crossings = [
            Crossing(name, int(rows[place]), int(rows[place]) - 1, float(logs[place]), self.carried)
            for place in np.flatnonzero(scores >= 100)[:1]
            for name in self.directions
        ]
        return crossings, np.tile(logs, (len(self.directions), 1))

    carried: tuple[Carrier, ...] = ()


def tracker(channels=None, rate=1000.0, memory=50, **more):
    return EvidenceTracker(channels or {("gamma", None): Adding()}, rate, memory, **more)


def observed(watch, scores, segments=None, reasons=None, name="gamma"):
    scores = np.asarray(scores, dtype=float)
    return watch.observed(None, {name: scores}, segments, reasons)


def test_a_new_tracker_has_seen_nothing_and_nothing_stands():
    watch = tracker()
    assert (watch.seen, watch.scored, dict(watch.skipped)) == (0, 0, {})
    assert (watch.alarm, watch.alarms, watch.since) == (False, [], None)
    assert watch.threshold == pytest.approx(np.log(1000))
    assert watch.promise == "at most 1 false alarm per 1,000 scored points"


def test_rows_are_numbered_from_0_and_those_without_a_score_count_too():
    watch = tracker()
    first = observed(watch, [1, np.nan, 3])
    second = observed(watch, [np.nan, 5], reasons=["budget", ""])
    assert first.rows.tolist() == [0, 1, 2]
    assert second.rows.tolist() == [3, 4]
    assert watch.channels["gamma", None].fed == [(1, 0), (3, 2), (5, 4)]
    assert (watch.seen, watch.scored) == (5, 3)
    assert watch.skipped == {"not scored": 1, "budget": 1}


def test_a_row_without_a_reason_is_not_scored_and_a_scored_row_needs_none():
    watch = tracker()
    observed(watch, [np.nan, np.nan, 1, 2], reasons=["", "slow", "odd", ""])
    assert watch.skipped == {"not scored": 1, "slow": 1}


def test_a_row_is_scored_where_everything_watched_has_a_score():
    one, two = Adding(), Adding()
    watch = tracker({("one", None): one, ("two", None): two})
    watch.observed(None, {"one": np.array([1, np.nan, 3]), "two": np.array([4, 5, np.inf])})
    assert (one.fed, two.fed) == ([(1, 0)], [(4, 0)])
    assert (watch.seen, watch.scored) == (3, 1)


def test_the_trace_is_the_evidence_after_every_row():
    watch = tracker(rate=10.0)
    observed(watch, [2.0])
    seen = observed(watch, [np.nan, 1, np.nan, 4])
    # A row that was not scored leaves the evidence where it was.
    assert seen.trace == {Key("gamma", None, "up"): pytest.approx([2, 3, 3, 7])}
    assert seen.evidence == watch.evidence == {Key("gamma", None, "up"): 7.0}


def test_all_of_a_line_stand_at_the_log_of_the_rate_however_the_allowance_is_split():
    """A channel's line is at the rate times the parts: evidence is shown less their log."""
    watch = tracker({("gamma", None): Adding(4000.0), ("level", None): Adding(4000.0)})
    seen = watch.observed(None, {"gamma": np.array([3.0, 100]), "level": np.array([1.0, 1])})
    assert seen.evidence[Key("level", None, "up")] == pytest.approx(2 - np.log(4))
    assert seen.trace[Key("gamma", None, "up")] == pytest.approx([3 - np.log(4), 103 - np.log(4)])
    (alarm,) = seen.alarms
    assert alarm.log_evidence == pytest.approx(103 - np.log(4))
    assert alarm.threshold == watch.threshold == pytest.approx(np.log(1000))


def test_detectors_of_others_share_by_the_number_of_parts():
    watch = tracker(
        {("gamma", None): Adding(), ("gamma", "a"): Adding(), ("level", None): Adding()}
    )
    assert watch.evidence[Key("gamma", "a", "up")] == pytest.approx(-np.log(3))


def test_all_segments_of_one_thing_are_one_part():
    assert part_count([("gamma", None)]) == 1
    assert part_count([("gamma", None), ("gamma", "a"), ("gamma", "b")]) == 2
    assert part_count([("gamma", None), ("gamma", "a"), ("level", None), ("level", "a")]) == 4


def segmented():
    parts = {("gamma", None): Adding(), ("gamma", "a"): Adding(), ("gamma", "b"): Adding()}
    return tracker(parts), parts


def test_a_segment_is_fed_its_own_rows_and_all_traffic_every_one():
    watch, parts = segmented()
    assert watch.segments == ("a", "b")
    assert watch.watched == ("gamma",)
    observed(watch, [1, 2, np.nan, 4, 5, 6], ["a", "b", "a", "elsewhere", None, "a"])
    assert parts["gamma", None].fed == [(1, 0), (2, 1), (4, 3), (5, 4), (6, 5)]
    assert parts["gamma", "a"].fed == [(1, 0), (6, 5)]
    assert parts["gamma", "b"].fed == [(2, 1)]
    # What is traced is all traffic.
    seen = observed(watch, [7.0], np.array(["b"]))
    assert list(seen.trace) == [Key("gamma", None, "up")]
    assert parts["gamma", "b"].fed[-1] == (7, 6)


def test_rows_without_segments_are_of_none():
    watch, parts = segmented()
    observed(watch, [1, 2])
    assert len(parts["gamma", None].fed) == 2
    assert parts["gamma", "a"].fed == parts["gamma", "b"].fed == []


def test_an_alarm_of_a_segment_names_it():
    watch, _ = segmented()
    seen = observed(watch, [1, 100], ["b", "a"])
    assert [alarm.key for alarm in seen.alarms] == [
        Key("gamma", None, "up"),
        Key("gamma", "a", "up"),
    ]


def test_one_segment_for_each_row_or_none_at_all():
    watch, _ = segmented()
    with pytest.raises(PointsError, match=r"2 rows and segments of shape \(1,\): one each"):
        observed(watch, [1, 2], ["a"])


def test_what_is_not_watched_is_refused_with_what_is():
    with pytest.raises(SettingsError, match="scores of level were given and gamma is watched"):
        observed(tracker(), [1.0], name="level")


def test_an_alarm_is_raised_once_for_each_key_until_a_reset():
    watch = tracker()
    (alarm,) = observed(watch, [1, 2, 150]).alarms
    assert (alarm.watched, alarm.segment, alarm.direction) == ("gamma", None, "up")
    assert (alarm.at, alarm.since, alarm.log_evidence) == (2, 1, 153.0)
    assert observed(watch, [200]).alarms == ()
    assert watch.alarms == [alarm]
    assert watch.alarm
    assert watch.since == 1
    watch.reset()
    assert (watch.alarm, watch.alarms, watch.since) == (False, [], None)
    # The stream is forgotten, its length is not.
    assert (watch.seen, watch.scored) == (4, 4)
    assert watch.evidence == {Key("gamma", None, "up"): 0.0}
    (again,) = observed(watch, [300]).alarms
    assert (again.at, again.log_evidence) == (4, 300.0)


def test_the_oldest_alarm_comes_first_and_dates_the_change():
    watch = tracker({("gamma", None): Adding(), ("level", None): Adding()})
    watch.observed(None, {"gamma": np.array([1, 1, 100.0]), "level": np.array([1, 100.0, 1])})
    assert [(alarm.watched, alarm.at) for alarm in watch.alarms] == [("level", 1), ("gamma", 2)]
    assert watch.since == 0


def test_a_spread_is_told_only_where_the_score_itself_did_not_move():
    """A score that rises is further from its middle too: that would say the same again."""
    both = Adding(directions=("up", "spread"))
    watch = tracker({("gamma", None): both, ("level", None): Adding(directions=("spread",))})
    watch.observed(None, {"gamma": np.array([100.0]), "level": np.array([100.0])})
    assert [alarm.key for alarm in watch.alarms] == [
        Key("gamma", None, "up"),
        Key("level", None, "spread"),
    ]
    other = tracker({("gamma", None): Adding(directions=("spread", "up"))})
    assert [alarm.direction for alarm in observed(other, [100]).alarms] == ["spread", "up"]


def shifts_of(direction):
    channel = Adding(directions=(direction,), carried=(Carrier(0, 1.0, 1.5),))
    return observed(tracker({("gamma", None): channel}), [100]).alarms[0].carriers


def test_an_alarm_says_how_far_a_score_moved_unless_its_spread_did():
    (words,) = shifts_of("up")
    assert words.startswith("by ")
    assert "1.5" in words
    assert shifts_of("spread") == ()


def test_classes_that_carry_an_alarm_are_named_with_their_shares():
    channel = Adding(
        directions=("either",), single=LevelScore((1.0,)), carried=(Carrier(0, 1.0, 1.5),)
    )
    watch = tracker({("gamma", None): channel}, reference={"gamma": np.array([1.0, 0, 0, 0])})
    (words,) = observed(watch, [100]).alarms[0].carriers
    assert "1" in words
    assert "25%" in words


@pytest.mark.parametrize(
    ("at", "since", "early"),
    [
        *((3, 2, True), (101, 100, True), (102, 101, False), (998, 150, True)),
        *((999, 249, True), (999, 250, False), (1000, 1, False)),
    ],
)
def test_an_alarm_about_all_that_came_so_far_says_something_about_the_reference(at, since, early):
    class Once(Adding):
        def feed(self, scores, rows):
            return [Crossing("up", at, since, 20.0)], np.zeros((1, len(scores)))

    (alarm,) = observed(tracker({("gamma", None): Once()}), [1.0]).alarms
    assert alarm.remark == (BEGINNING if early else "")


def test_a_suspect_reference_and_no_promise_are_remarks_of_every_alarm():
    channels = {("gamma", None): Adding(unpromised="nothing is promised")}
    (alarm,) = observed(tracker(channels, suspicion="memorised"), [100]).alarms
    assert alarm.remark == "nothing is promised; memorised"
    (alarm,) = observed(tracker(suspicion="memorised"), [100]).alarms
    assert alarm.remark == "memorised"


def test_one_channel_without_a_promise_and_nothing_is_promised():
    channels = {("gamma", None): Adding(), ("level", None): Adding(unpromised="it remembers")}
    watch = tracker(channels)
    assert not watch.promised
    assert watch.promise == "it remembers"
    assert tracker().promised
    assert tracker({("inputs", None): Adding()}, rate=2.5e4).promise == (
        "at most 1 false alarm per 25,000 rows"
    )


def test_blocks_are_the_channels_and_one_where_they_know_none():
    channels = {("gamma", None): Adding(block=7), ("gamma", "a"): Adding()}
    assert tracker(channels).blocks == {("gamma", None): 7, ("gamma", "a"): 1}


def remembered(watch, since=0):
    recent = watch._memory.since(since, None)
    return [] if recent is None else recent.rows.tolist()


def test_the_latest_scored_rows_are_remembered():
    watch = tracker(memory=5)
    observed(watch, [1, np.nan, 3])
    assert remembered(watch) == [0, 2]
    observed(watch, np.ones(4))
    # A whole batch is let go once it is not needed to fill the memory.
    assert remembered(watch) == [0, 2, 3, 4, 5, 6]
    observed(watch, np.ones(3))
    assert remembered(watch) == [3, 4, 5, 6, 7, 8, 9]
    observed(watch, np.ones(9))
    assert remembered(watch) == [14, 15, 16, 17, 18]
    assert remembered(watch, 17) == [17, 18]
    watch.reset()
    assert remembered(watch) == []


def real(seed=0):
    reference = np.random.default_rng(seed).normal(size=200)
    channels = {("gamma", None): RankEvidence(reference, rate=2000, block=3)}
    channels["gamma", "a"] = RankEvidence(reference, rate=2000, block=1)
    return EvidenceTracker(channels, 1000, 50)


def stream(count, seed, shift=0.0):
    values = np.random.default_rng(seed).normal(size=count) + shift
    return values, np.where(np.arange(count) % 3 == 0, "a", "b")


@pytest.mark.parametrize("stop", [0, 1, 31, 50, 77])
def test_a_state_restored_at_any_row_goes_on_to_the_same_bits(stop):
    values, names = stream(120, 1, 1.2)
    values[::7] = np.nan
    first, second = real(), real()
    observed(first, values[:stop], names[:stop])
    second.restore(first.state())
    assert second.alarms == first.alarms
    assert (second.seen, second.scored, second.skipped) == (
        first.seen,
        first.scored,
        first.skipped,
    )
    ends = [observed(each, values[stop:], names[stop:]) for each in (first, second)]
    assert ends[0].evidence == ends[1].evidence
    assert ends[0].alarms == ends[1].alarms
    np.testing.assert_array_equal(*(list(end.trace.values()) for end in ends))
    assert first.state() == second.state()
    assert first.alarms


def test_restoring_forgets_rows_and_going_back_keeps_those_from_before():
    watch = real()
    observed(watch, *stream(20, 2))
    state = watch.state()
    evidence = watch.evidence
    observed(watch, *stream(10, 3, 5.0))
    assert watch.seen == 30
    watch.go_back(state)
    assert (watch.seen, watch.evidence) == (20, evidence)
    assert remembered(watch) == list(range(20))
    watch.restore(state)
    assert (watch.seen, watch.evidence) == (20, evidence)
    assert remembered(watch) == []


def test_following_another_keeps_rows_until_the_other_is_reset():
    watch, other = real(), real()
    for each in (watch, other):
        observed(each, *stream(40, 4, 3.0))
    assert watch.alarm
    observed(other, *stream(10, 5))
    watch.follow(other.state())
    assert (watch.seen, watch.alarms) == (50, other.alarms)
    assert remembered(watch) == list(range(40))
    other.reset()
    watch.follow(other.state())
    assert not watch.alarm
    assert remembered(watch) == []
    # Nothing stood before this: what is remembered stays.
    observed(watch, *stream(5, 6))
    watch.follow(watch.state())
    assert len(remembered(watch)) == 5


def test_columns_need_inputs():
    with pytest.raises(SettingsError, match="inputs are not watched"):
        tracker().columns()
