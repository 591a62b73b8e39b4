"""Evidence from scores alone: everything a monitor does that needs no model."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import PointsError, SettingsError
from anharmonic.monitor import packing
from anharmonic.monitor.alarms import Alarm, Key, Observation
from anharmonic.monitor.channels import Channel, Channels, DetectorChannel, DetectorFactory
from anharmonic.monitor.dependence import FEWEST
from anharmonic.monitor.detector import Crossing, Evidence
from anharmonic.monitor.recent_points import RecentPoints

__all__ = ["EvidenceTracker", "errors_of", "fitted_channels"]

EARLY = 1000
"""Rows within which an alarm about all that came so far says something about the reference."""
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
    """

    def __init__(self, channels: Channels, rate: float, memory: int, suspicion: str = "") -> None:
        self.channels, self.rate, self.suspicion = channels, rate, suspicion
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
        return f"at most 1 false alarm per {self.rate:,.0f} scored points"

    @property
    def _shift(self) -> float:
        """The log of the parts that false alarms are split into.

        A channel's own line is the rate times these parts; evidence is shown less this shift, so
        that every line stands at log(rate).
        """
        return float(np.log(_part_count(self.channels)))

    def observed(
        self,
        points: Array,
        scores: dict[str, Floats],
        segments: Sequence[str] | Array = None,
        reasons: Reasons = None,
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
            Labels, None where there are none.
        reasons : (rows,)
            Why rows were not scored.
        """
        columns = self._stack(scores)
        count = columns.shape[1]
        rows = self.seen + np.arange(count)
        scored: NDArray[np.bool_] = np.asarray(np.isfinite(columns).all(axis=0))
        labels = None if segments is None else np.asarray(segments).astype(str)
        if labels is not None and labels.shape != (count,):
            raise PointsError(f"{count} rows and segments of shape {labels.shape}: one each")
        alarms: list[Alarm] = []
        trace: dict[Key, Floats] = {}
        for (watched, segment), channel in self.channels.items():
            mine = scored if segment is None else scored & (labels == segment)
            before = channel.log_evidence
            crossings, logs = channel.feed(scores[watched][mine], rows[mine])
            for crossing in crossings:
                alarms += self._raise_alarm(watched, segment, channel, crossing)
            if segment is None:
                for direction, line in zip(channel.directions, logs, strict=True):
                    # `line` has one entry per scored row; rows without a score repeat the last.
                    whole = np.concatenate(([before[direction]], line)) - self._shift
                    trace[Key(watched, None, direction)] = whole[np.cumsum(scored)]
        self._count(scored, reasons)
        self._memory.add(points, rows, columns, labels, scored)
        return Observation(rows, scores, self.evidence, tuple(alarms), trace)

    def _raise_alarm(
        self, watched: str, segment: str | None, channel: Channel, crossing: Crossing
    ) -> list[Alarm]:
        """The alarm that a crossing raises, none where one with its key stands."""
        alarm = Alarm(
            *(watched, segment, crossing.direction, crossing.at, crossing.since),
            *(crossing.log_evidence - self._shift, self.threshold),
        )
        if alarm.key in self._raised:
            return []
        alarm = replace(alarm, remark=self._remark(alarm, channel.unpromised))
        self._raised[alarm.key] = alarm
        return [alarm]

    def _remark(self, alarm: Alarm, unpromised: str | None) -> str:
        """What else to know of an alarm."""
        early = alarm.at < EARLY and alarm.since <= alarm.at // 4
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
        self._raised = {}
        self._memory.clear()

    def state(self) -> bytes:
        """Evidence, counts and standing alarms: small, of constant size, no pickle."""
        counts = packing.Counts(self.seen, self.scored, self.skipped, self._raised)
        return packing.packed(self.channels, counts)

    def restore(self, state: bytes) -> None:
        """Go on exactly where `state` was taken."""
        counts = packing.unpacked(state, self.channels)
        self.seen, self.scored, self.skipped, self._raised = counts
        self._memory.clear()


def _part_count(parts: Iterable[tuple[str, str | None]]) -> int:
    """Parts that the false alarms are split into: all traffic and the segments, each watched.

    A row belongs to one segment, so all segments together need but one part.
    """
    return len({(watched, segment is None) for watched, segment in parts})


def fitted_channels(
    reference: dict[str, Floats],
    segments: NDArray[np.str_] | None,
    rate: float,
    confidence: float,
    block: int | str,
    detector: str | DetectorFactory,
    seed: int,
    promise: bool = True,
) -> Channels:
    """A channel for everything watched, in all traffic and in each segment that is large enough.

    Parameters
    ----------
    reference : (rows,) each
        The reference's scores of each thing watched.
    segments : (rows,)
        Its labels, None where there are none.
    rate
        The number of scored points among which one false alarm is allowed, by all together.
    confidence
        That all their bounds hold together.
    block, seed
        As in `Evidence`.
    detector
        "evidence", or what makes another from the reference's scores.
    promise
        Whether a rate must be promised. A segment for which none can be is then not watched by
        itself.
    """
    parts: dict[tuple[str, str | None], Floats] = {}
    for watched, scores in reference.items():
        parts[watched, None] = scores
        for name in [] if segments is None else np.unique(segments).tolist():
            # With block="auto" a segment needs enough for blocks of two.
            if (segments == name).sum() >= FEWEST * (2 if isinstance(block, str) else block):
                parts[watched, name] = scores[segments == name]
    if callable(detector):
        return {name: DetectorChannel(detector, scores) for name, scores in parts.items()}
    if detector != "evidence":
        raise SettingsError(f'detector {detector!r}: "evidence", or a function that makes one')
    # Each channel gets its part of the false alarms, and of the error of the bounds (Bonferroni).
    count, errors = _part_count(parts), errors_of(parts, 1 - confidence)
    channels: Channels = {}
    for (watched, segment), scores in parts.items():
        channel = Evidence(
            scores,
            rate * count,
            block=block,
            confidence=1 - errors[watched, segment],
            promise=promise and segment is None,
            seed=seed,
        )
        if promise and channel.unpromised is not None:
            words = f"{segment} is not watched by itself ({watched}): {channel.unpromised}"
            warnings.warn(words, stacklevel=3)
        else:
            channels[watched, segment] = channel
    return channels


def errors_of(
    parts: Iterable[tuple[str, str | None]], error: float
) -> dict[tuple[str, str | None], float]:
    """Each part's share of the chance that a bound is wrong: all traffic's is half, if parted."""
    names = list(parts)
    # All traffic and its segments are a kind each, per thing watched; a kind's error is split.
    kinds = Counter((watched, segment is None) for watched, segment in names)
    return {
        (watched, segment): error / len(kinds) / kinds[watched, segment is None]
        for watched, segment in names
    }
