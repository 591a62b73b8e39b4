"""Evidence from scores alone: everything a monitor does that needs no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import PointsError, SettingsError
from anharmonic.monitor import packing
from anharmonic.monitor.alarms import Alarm, Key, Observation
from anharmonic.monitor.channels import Channel, Channels
from anharmonic.monitor.describing import (
    ColumnDrift,
    describe_classes,
    describe_columns,
    describe_inputs,
    describe_score,
)
from anharmonic.monitor.detector import Crossing
from anharmonic.monitor.input_evidence import FittedInputs
from anharmonic.monitor.performance_watch import PerformanceWatch
from anharmonic.monitor.rank_evidence import LevelScore
from anharmonic.monitor.recent_points import RecentPoints, RecentRows
from anharmonic.monitor.rows import count_of, segment_names
from anharmonic.monitor.scorer import ANSWERS, INPUTS

__all__ = ["EvidenceTracker", "part_count"]

EARLY = 1000
"""Rows within which an alarm about all that came so far says something about the reference."""
AT_ONCE = 100
"""Rows within which a change is one from the first rows on."""
BEGINNING = (
    "from the first rows on, as if the reference were training data, which the model has seen: "
    "give held-out rows"
)
Reasons = Sequence[str] | NDArray[Any] | None
"""Why rows were not scored, (rows,), "" for those that were."""


class EvidenceTracker:
    """Counts, evidence and alarms of a stream: a function of its scores and segments alone.

    Parameters
    ----------
    channels
        A detector for each thing watched and segment; their false alarms together keep `rate`.
    rate
        The number of scored points among which one false alarm is allowed.
    memory
        How many of the latest scored points are kept for `culprits`.
    suspicion
        What makes the reference suspect, for the remarks of alarms.
    inputs
        What rows are compared by, where "inputs" is watched: its channel reads the points
        themselves, also of rows that were not scored.
    reference
        The reference's scores, for what alarms say.
    """

    def __init__(
        self,
        channels: Channels,
        rate: float,
        memory: int,
        suspicion: str = "",
        inputs: FittedInputs | None = None,
        reference: Mapping[str, Floats] | None = None,
    ) -> None:
        self.channels, self.rate, self.suspicion = channels, rate, suspicion
        self.fitted_inputs, self.reference = inputs, dict(reference or {})
        self.judge: PerformanceWatch | None = None
        """Of a labelled reference: how accurate the model is."""
        self.class_names: tuple[object, ...] = ()
        """What the model calls its classes, by number, where it names them."""
        self._memory = RecentPoints(memory)
        self.seen = self.scored = 0
        self.skipped: Counter[str] = Counter()
        self._raised: dict[Key, Alarm] = {}

    @property
    def watched(self) -> tuple[str, ...]:
        """Names of what is watched."""
        return tuple(dict.fromkeys(name for name, _ in self.channels))

    @property
    def segments(self) -> tuple[str, ...]:
        """Segments that are watched by themselves: the reference has enough of them."""
        return tuple(dict.fromkeys(name for _, name in self.channels if name is not None))

    @property
    def alarm(self) -> bool:
        """Whether any alarm stands."""
        return bool(self._raised)

    @property
    def alarms(self) -> list[Alarm]:
        """Alarms since the last `reset`, at most one for each `Key`, oldest first."""
        return sorted(self._raised.values(), key=lambda alarm: alarm.at)

    @property
    def threshold(self) -> float:
        """The log evidence that raises an alarm, the same for every `Key`."""
        return float(np.log(self.rate))

    @property
    def evidence(self) -> dict[Key, float]:
        """Log evidence for each `Key`; NaN with a foreign detector, which has none."""
        shift = self._shift
        return {
            Key(watched, segment, direction): value - shift
            for (watched, segment), channel in self.channels.items()
            for direction, value in channel.log_evidence.items()
        }

    @property
    def since(self) -> int | None:
        """The row since which the oldest alarm's change seems to be there."""
        return self.alarms[0].since if self._raised else None

    @property
    def blocks(self) -> dict[tuple[str, str | None], int]:
        """How many scores are averaged before a bet, for each thing watched and segment."""
        return {name: getattr(channel, "block", 1) for name, channel in self.channels.items()}

    @property
    def promised(self) -> bool:
        """Whether a rate of false alarms is."""
        return all(channel.unpromised is None for channel in self.channels.values())

    @property
    def promise(self) -> str:
        """What is promised of false alarms, or why nothing is."""
        for channel in self.channels.values():
            if channel.unpromised is not None:
                return channel.unpromised
        what = "rows" if INPUTS in self.watched else "scored points"
        return f"at most 1 false alarm per {self.rate:,.0f} {what}"

    @property
    def _shift(self) -> float:
        """The log of the parts that false alarms were split into.

        A channel's own line is the rate times these parts, of which some may have been left out
        since; evidence is shown less this shift, so that every line stands at log(rate).
        """
        lines = [getattr(channel, "rate", None) for channel in self.channels.values()]
        parts = [round(line / self.rate) for line in lines if line is not None]
        return float(np.log(max(parts, default=part_count(self.channels))))

    def observed(
        self,
        points: Array,
        scores: dict[str, Floats],
        segments: Sequence[str] | Array = None,
        reasons: Reasons = None,
        *,
        ids: Sequence[object] | None = None,
        times: Sequence[object] | None = None,
    ) -> Observation:
        """Take in scores that are known already, without the model.

        All that happens depends on scores and segments alone.

        Parameters
        ----------
        points
            The rows' points; None where they are not at hand: then `culprits` cannot name them.
        scores : (rows,) each
            As `measure` gives them, NaN for rows that were not scored.
        segments : (rows,)
            Labels, None where there are none; a row whose own is None, NaN or "" is of no segment.
        reasons : (rows,)
            Why rows were not scored.
        ids : (rows,)
            By which labels will come; the rows' numbers if not given.
        times : (rows,)
            When they came.
        """
        answers = scores.get(ANSWERS)
        scores = {name: values for name, values in scores.items() if name != ANSWERS}
        columns = self._stack(scores)
        count = columns.shape[1]
        rows = self.seen + np.arange(count)
        scored: NDArray[np.bool_] = np.asarray(np.isfinite(columns).all(axis=0))
        labels = None
        if segments is not None:
            given = segments if isinstance(segments, np.ndarray) else np.asarray(segments, object)
            labels = segment_names(given)
        if labels is not None and labels.shape != (count,):
            raise PointsError(f"{count} rows and segments of shape {labels.shape}: one each")
        for name, given_facts in (("ids", ids), ("times", times)):
            if given_facts is not None and len(given_facts) != count:
                raise PointsError(f"{count} rows and {len(given_facts)} {name}: one each")
        codes = self._codes_of(points, count)
        every = np.ones(count, dtype=bool)
        # Rows that inputs are read from are remembered without scores too.
        self._memory.add(points, rows, columns, labels, scored if codes is None else every)
        crossed: list[tuple[str, str | None, Channel, Crossing]] = []
        trace: dict[Key, Floats] = {}
        for (watched, segment), channel in self.channels.items():
            mine = scored if segment is None else scored & (labels == segment)
            values = scores[watched]
            if codes is not None and watched == INPUTS:
                assert self.fitted_inputs is not None
                mine, values = every, self.fitted_inputs.inputs.of_codes(codes)
            before = channel.log_evidence
            crossings, logs = channel.feed(values[mine], rows[mine])
            crossed += [(watched, segment, channel, crossing) for crossing in crossings]
            if segment is None:
                for direction, line in zip(channel.directions, logs, strict=True):
                    # `line` has one entry per row fed; other rows repeat the last.
                    whole = np.concatenate(([before[direction]], line)) - self._shift
                    trace[Key(watched, None, direction)] = whole[np.cumsum(mine)]
        # In the rows' order, as they would be raised by batches of one row: one may say what
        # another has said already.
        crossed.sort(key=lambda one: one[3].at)
        alarms = [alarm for one in crossed for alarm in self._raise_alarm(*one)]
        self._count(scored, reasons)
        if self.judge is not None and answers is not None:
            self.judge.update(points, answers, rows, ids, times, labels)
        return Observation(rows, scores, self.evidence, tuple(alarms), trace)

    def _codes_of(self, points: Array, count: int) -> Floats | None:
        """Points as coded rows, where inputs are watched."""
        if self.fitted_inputs is None:
            return None
        if points is None or count_of(points) != count:
            raise PointsError("inputs are watched: give the rows' points with their scores")
        return self.fitted_inputs.inputs.codes(points)

    def _raise_alarm(
        self, watched: str, segment: str | None, channel: Channel, crossing: Crossing
    ) -> list[Alarm]:
        """The alarm that a crossing raises, none where one with its key stands."""
        alarm = Alarm(
            *(watched, segment, crossing.direction, crossing.at, crossing.since),
            *(crossing.log_evidence - self._shift, self.threshold),
        )
        if alarm.key in self._raised or self._known_already(alarm):
            return []
        alarm = replace(
            alarm,
            remark=self._remark(alarm, channel.unpromised),
            carriers=self._carriers(alarm, channel, crossing),
        )
        self._raised[alarm.key] = alarm
        return [alarm]

    def _known_already(self, alarm: Alarm) -> bool:
        """Whether an alarm only says again that a score moved: then its spread changes too."""
        standing = {key.direction for key in self._raised if key[:2] == alarm.key[:2]}
        return alarm.direction == "spread" and bool(standing)

    def _carriers(self, alarm: Alarm, channel: Channel, crossing: Crossing) -> tuple[str, ...]:
        """What carries an alarm, in words."""
        if alarm.watched == INPUTS and self.fitted_inputs is not None:
            return describe_inputs(self.fitted_inputs, crossing.carriers)
        single, usual = getattr(channel, "single", None), self.reference.get(alarm.watched)
        if isinstance(single, LevelScore) and usual is not None:
            shares = single.streams(usual).mean(axis=1)
            names = self.class_names
            return describe_classes(single.levels, shares, crossing.carriers, names)
        return () if alarm.direction == "spread" else describe_score(crossing.carriers)

    def recent_codes(self, recent: RecentRows) -> Floats | None:
        """Remembered rows as coded ones, (rows, columns); None where there are none."""
        if self.fitted_inputs is None or not len(recent.rows):
            return None
        batches: dict[int, tuple[Array, list[int]]] = {}
        for batch, position in recent.places:
            if batch is not None:
                batches.setdefault(id(batch), (batch, []))[1].append(position)
        inputs = self.fitted_inputs.inputs
        parts = [inputs.codes(batch)[positions] for batch, positions in batches.values()]
        return np.concatenate(parts) if parts else None

    def columns(self) -> list[ColumnDrift]:
        """The inputs' columns, the most changed first, with histograms now and as usual.

        "Now" are the rows in memory, since the oldest alarm about inputs if there is one.
        """
        if self.fitted_inputs is None:
            raise SettingsError(
                'inputs are not watched: give watch="auto" or "inputs" among others'
            )
        since = min((a.since for a in self.alarms if a.watched == INPUTS), default=0)
        recent = self._memory.since(since, None)
        codes = None if recent is None else self.recent_codes(recent)
        return describe_columns(self.fitted_inputs, codes)

    def _remark(self, alarm: Alarm, unpromised: str | None) -> str:
        """What else to know of an alarm."""
        early = alarm.at < EARLY and alarm.since <= max(alarm.at // 4, AT_ONCE)
        cause = self.suspicion or (BEGINNING if early else "")
        return "; ".join(words for words in (unpromised, cause) if words)

    def _stack(self, scores: dict[str, Floats]) -> Floats:
        """Scores of everything watched, (watched, rows), or an error where others were given."""
        if set(scores) != set(self.watched):
            raise SettingsError(
                f"scores of {', '.join(scores)} were given and {', '.join(self.watched)} is "
                "watched: give what `measured` gives"
            )
        return np.stack([np.asarray(scores[name], dtype=np.float64) for name in self.watched])

    def _count(self, scored: NDArray[np.bool_], reasons: Reasons) -> None:
        self.seen += len(scored)
        self.scored += int(scored.sum())
        missing = np.flatnonzero(~scored)
        if len(missing):
            words = ["not scored"] * len(scored) if reasons is None else list(reasons)
            self.skipped.update(str(words[row]) or "not scored" for row in missing.tolist())

    def reset(self) -> None:
        """Clear alarms and evidence; the reference, the counts and the row numbers stay."""
        for channel in self.channels.values():
            channel.reset()
        if self.judge is not None:
            self.judge.tracker.clear_evidence()
        self._raised = {}
        self._memory.clear()

    def state(self) -> bytes:
        """Evidence, counts and standing alarms: small, of constant size, no pickle."""
        counts = packing.Counts(self.seen, self.scored, self.skipped, self._raised)
        tracked = b"" if self.judge is None else self.judge.tracker.state()
        return packing.packed(self.channels, counts, tracked)

    def restore(self, state: bytes) -> None:
        """Go on exactly where `state` was taken; rows in memory are forgotten."""
        self.follow(state)
        self._memory.clear()
        if self.judge is not None:
            self.judge.forget()

    def follow(self, state: bytes) -> None:
        """Go on where another monitor of the same traffic has come to since.

        It went on from this one's state, so that rows in memory are still rows of the stream, this
        one's share of them; a reset clears them, as it does its own.
        """
        stood = self.alarm
        counts, tracked = packing.unpacked(state, self.channels)
        self.seen, self.scored, self.skipped, self._raised = counts
        if stood and not self.alarm:
            self._memory.clear()
        if self.judge is not None and tracked:
            self.judge.tracker.restore(tracked)

    def go_back(self, state: bytes) -> None:
        """Go back to where `state` was taken, as if what came since had not been observed.

        Rows in memory that came before stay.
        """
        counts, tracked = packing.unpacked(state, self.channels)
        self.seen, self.scored, self.skipped, self._raised = counts
        self._memory.drop_from(self.seen)
        if self.judge is not None and tracked:
            self.judge.tracker.restore(tracked)
            self.judge.go_back(self.seen)


def part_count(parts: Iterable[tuple[str, str | None]]) -> int:
    """Parts that the false alarms are split into: all traffic and the segments, each watched.

    A row belongs to one segment, so all segments together need but one part.
    """
    return len({(watched, segment is None) for watched, segment in parts})
