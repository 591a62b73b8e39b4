"""What a tracker does with rows themselves, where inputs are watched, and with their labels."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import PointsError
from anharmonic.monitor import RankEvidence
from anharmonic.monitor.evidence_tracker import EvidenceTracker


def rows_of(count, seed, shift=0.0):
    rows = np.random.default_rng((seed, 7)).normal(size=(count, 2))
    rows[:, 1] += shift
    return rows


@pytest.fixture(scope="module")
def fitted():
    return ah.Monitor(lambda rows: rows[:, 0], rows_of(300, 0), watch="inputs", false_alarms=1000)


@pytest.fixture
def watch(fitted):
    fitted.channels["inputs", None].reset()
    return EvidenceTracker(fitted.channels, 1000, 100, inputs=fitted.fitted_inputs)


def observed(watch, points, score=np.nan):
    return watch.observed(points, {"inputs": np.full(len(points), score)})


def test_inputs_are_read_of_rows_without_a_score_too(watch):
    points = rows_of(20, 1)
    seen = observed(watch, points)
    assert (watch.seen, watch.scored, watch.skipped) == (20, 0, {"not scored": 20})
    channel = watch.channels["inputs", None]
    assert {state.steps for state in channel.states} == {20}
    (line,) = seen.trace.values()
    assert line.shape == (20,)
    assert line[-1] == next(iter(watch.evidence.values()))
    assert watch._memory.since(0, None).rows.tolist() == list(range(20))
    assert watch.promise.endswith("1,000 rows")


def test_where_inputs_are_watched_rows_come_with_their_points(watch):
    words = "inputs are watched: give the rows' points with their scores"
    with pytest.raises(PointsError, match=words):
        watch.observed(None, {"inputs": np.zeros(3)})
    with pytest.raises(PointsError, match=words):
        watch.observed(rows_of(2, 1), {"inputs": np.zeros(3)})
    assert watch.seen == 0


def test_an_alarm_about_inputs_names_the_columns(watch):
    assert not observed(watch, rows_of(30, 2)).alarm
    (alarm,) = observed(watch, rows_of(60, 3, shift=3.0)).alarms
    assert (alarm.watched, alarm.direction) == ("inputs", "either")
    assert 30 <= alarm.at < 60
    assert any(words.startswith("1 rose by ") for words in alarm.carriers)


def test_columns_are_told_by_the_rows_since_the_change(watch):
    before = {drift.name: drift for drift in watch.columns()}
    assert before["1"].change == ""
    assert before["1"].recent == []
    observed(watch, rows_of(30, 2))
    points = rows_of(60, 3, shift=3.0)
    (alarm,) = observed(watch, points).alarms
    assert alarm.since > 20
    moved = next(drift for drift in watch.columns() if drift.name == "1")
    mean = np.concatenate((rows_of(30, 2), points))[alarm.since :, 1].mean()
    assert moved.change.startswith(f"1 rose (mean {mean:.3g} instead of ")
    assert sum(moved.recent) == pytest.approx(1)


def test_an_alarm_that_came_with_a_state_dates_columns_like_ones_own(watch):
    observed(watch, rows_of(30, 2))
    observed(watch, rows_of(60, 3, shift=3.0))
    words = [drift.change for drift in watch.columns()]
    watch.follow(watch.state())
    assert [drift.change for drift in watch.columns()] == words


def test_the_very_first_row_is_told_too(watch):
    observed(watch, np.array([[0.25, -0.5]]))
    words = {drift.name: drift.change for drift in watch.columns()}
    assert words["0"].startswith("no clear change (")
    assert words["1"].startswith("no clear change (")


def test_before_an_alarm_columns_are_told_by_all_rows_in_memory(watch):
    first, second = rows_of(10, 4), rows_of(15, 5)
    observed(watch, first)
    observed(watch, second)
    words = next(drift.change for drift in watch.columns() if drift.name == "0")
    assert words.startswith("no clear change (")
    recent = watch._memory.since(0, None)
    codes = watch.recent_codes(recent)
    np.testing.assert_array_equal(codes, np.concatenate((first, second)))
    np.testing.assert_array_equal(
        watch.recent_codes(recent.take(np.array([3, 12]))), [first[3], second[2]]
    )
    assert watch.recent_codes(recent.take(np.array([], dtype=int))) is None


def test_scores_beside_inputs_have_channels_of_their_own(fitted):
    """Inputs read every row, and everything else the rows that have all scores."""
    fitted.channels["inputs", None].reset()
    reference = np.random.default_rng(1).normal(size=100)
    channels = dict(fitted.channels)
    for name in ("gamma", "prediction"):
        channels[name, None] = RankEvidence(reference, block=1)
    watch = EvidenceTracker(channels, 1000, 100, inputs=fitted.fitted_inputs)
    alone = {name: RankEvidence(reference, block=1) for name in ("gamma", "prediction")}
    random = np.random.default_rng(2)
    scores = {name: random.normal(size=20) for name in ("inputs", "gamma", "prediction")}
    scores["gamma"][[3, 11]] = np.nan
    watch.observed(rows_of(20, 1), scores)
    assert (watch.seen, watch.scored) == (20, 18)
    known = np.isfinite(scores["gamma"])
    for name, channel in alone.items():
        channel.feed(scores[name][known], np.arange(20)[known])
        assert watch.channels[name, None].log_evidence == channel.log_evidence
    assert {state.steps for state in channels["inputs", None].states} == {20}


class Judge:
    """Stands where labels are judged, and notes what it is told."""

    def __init__(self):
        self.tracker, self.told, self.kept = self, [], b"labels"

    def state(self):
        return self.kept

    def restore(self, state):
        self.told.append(("restore", state))

    def clear_evidence(self):
        self.told.append("clear")

    def forget(self):
        self.told.append("forget")

    def go_back(self, seen):
        self.told.append(("go back", seen))

    def update(self, points, answers, rows, names, times, labels):
        self.told.append((answers, rows.tolist(), names, times, labels))


@pytest.fixture
def judged():
    reference = np.random.default_rng(0).normal(size=100)
    tracker = EvidenceTracker({("gamma", None): RankEvidence(reference, block=1)}, 1000, 50)
    tracker.judge = Judge()
    return tracker


def test_answers_go_to_the_judge_with_rows_names_times_and_segments(judged):
    scores = {"gamma": np.zeros(2)}
    judged.observed(None, scores)
    assert judged.judge.told == []
    judged.observed(None, scores | {"answers": np.ones(2)}, ["a", "b"], ids=[7, "x"], times=[1, 2])
    ((answers, rows, names, times, labels),) = judged.judge.told
    assert answers.tolist() == [1, 1]
    # The judge names them: a missing id is none, and no text.
    assert (rows, names, times) == ([2, 3], [7, "x"], [1, 2])
    assert labels.tolist() == ["a", "b"]
    judged.observed(None, scores | {"answers": np.ones(2)})
    assert judged.judge.told[1][1:] == ([4, 5], None, None, None)


def test_what_labels_showed_is_part_of_the_state(judged):
    state, told = judged.state(), judged.judge.told
    judged.restore(state)
    assert told == [("restore", b"labels"), "forget"]
    told.clear()
    judged.observed(None, {"gamma": np.zeros(3)})
    judged.go_back(state)
    assert told == [("restore", b"labels"), ("go back", 0)]
    told.clear()
    judged.follow(state)
    assert told == [("restore", b"labels")]
    told.clear()
    judged.reset()
    assert told == ["clear"]


def test_a_state_without_labels_leaves_those_of_the_judge_alone(judged):
    judged.judge.kept = b""
    state = judged.state()
    judged.follow(state)
    judged.go_back(state)
    assert judged.judge.told == []
    judged.restore(state)
    assert judged.judge.told == ["forget"]
    judged.judge.kept = b"labels"
    state = judged.state()
    # Nobody is there to take labels in.
    judged.judge = None
    judged.restore(state)
    judged.go_back(state)
    assert judged.seen == 0
