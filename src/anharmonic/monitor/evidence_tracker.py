"""Evidence from scores alone: everything a monitor does that needs no model."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError, SettingsError
from anharmonic.monitor import packing
from anharmonic.monitor.alarms import Alarm, Key, Observation
from anharmonic.monitor.channels import Channels, DetectorFactory, OneByOne
from anharmonic.monitor.dependence import FEWEST
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.recent_points import Memory

__all__ = ["EvidenceTracker", "errors_of", "fitted_channels"]

EARLY = 1000
"""Rows within which an alarm about all that came so far says something about the reference."""
BEGINNING = (
    "from the first rows on, as if the reference were training data, which the model has seen: "
    "give held-out rows"
)
Reasons = Sequence[str] | NDArray[Any] | None


class EvidenceTracker:
    """Counts, evidence and alarms of a stream: a function of its scores and segments alone."""

    def __init__(self, channels: Channels, rate: float, memory: int, suspicion: str = "") -> None:
        self.channels, self.rate, self.suspicion = channels, rate, suspicion
        self._memory = Memory(memory)
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
        """Evidence is told in units in which every line is the rate."""
        return float(np.log(_shares(self.channels)))

    def observed(
        self,
        points: Any,
        scores: dict[str, Floats],
        segments: Any = None,
        reasons: Reasons = None,
    ) -> Observation:
        """Weigh scores that are known already, without the model.

        `scores` are as `measured` gives them, NaN for rows that were not scored; `reasons`
        (rows,) say why these were not. `points` may be None where they are not at hand: then
        `culprits` cannot name them. All that happens depends on scores and segments alone.
        """
        columns = self._checked(scores)
        count = columns.shape[1]
        rows = self.seen + np.arange(count)
        known: NDArray[np.bool_] = np.asarray(np.isfinite(columns).all(axis=0))
        labels = None if segments is None else np.asarray(segments).astype(str)
        if labels is not None and labels.shape != (count,):
            raise PointsError(f"{count} rows and segments of shape {labels.shape}: one each")
        new: list[Alarm] = []
        trace: dict[Key, Floats] = {}
        for (watched, segment), channel in self.channels.items():
            mine = known if segment is None else known & (labels == segment)
            before = channel.log_evidence
            raised, logs = channel.feed(scores[watched][mine], rows[mine])
            for each in raised:
                alarm = Alarm(
                    *(watched, segment, each.direction, each.at, each.since),
                    *(each.log_evidence - self._shift, self.threshold),
                )
                if alarm.key not in self._raised:
                    alarm = replace(alarm, remark=self._remark(alarm, channel.unpromised))
                    self._raised[alarm.key] = alarm
                    new.append(alarm)
            if segment is None:
                for direction, line in zip(channel.directions, logs, strict=True):
                    whole = np.concatenate(([before[direction]], line)) - self._shift
                    trace[Key(watched, None, direction)] = whole[np.cumsum(known)]
        self._count(known, reasons)
        self._memory.add(points, rows, columns, labels, known)
        return Observation(rows, scores, self.evidence, tuple(new), trace)

    def _remark(self, alarm: Alarm, unpromised: str | None) -> str:
        """What else to know of an alarm."""
        early = alarm.at < EARLY and alarm.since <= alarm.at // 4
        cause = self.suspicion or (BEGINNING if early else "")
        return "; ".join(words for words in (unpromised, cause) if words)

    def _checked(self, scores: dict[str, Floats]) -> Floats:
        if set(scores) != set(self.watched):
            raise SettingsError(
                f"scores of {', '.join(scores)} were given and {', '.join(self.watched)} is "
                "watched: give what `measured` gives"
            )
        return np.stack([np.asarray(scores[name], dtype=np.float64) for name in self.watched])

    def _count(self, known: NDArray[np.bool_], reasons: Reasons) -> None:
        self.seen += len(known)
        self.scored += int(known.sum())
        missing = np.flatnonzero(~known)
        if len(missing):
            told = ["not scored"] * len(known) if reasons is None else list(reasons)
            self.skipped.update(str(told[row]) or "not scored" for row in missing.tolist())

    def reset(self) -> None:
        """Clear alarms and evidence; the reference, the counts and the row numbers stay."""
        for channel in self.channels.values():
            channel.reset()
        self._raised = {}
        self._memory.clear()

    def state(self) -> bytes:
        """Evidence, counts and standing alarms: small, of constant size, no pickle."""
        return packing.packed(self.channels, self.seen, self.scored, self.skipped, self._raised)

    def restore(self, state: bytes) -> None:
        """Go on exactly where `state` was taken."""
        seen, scored, skipped, raised = packing.unpacked(state, self.channels)
        self.seen, self.scored, self.skipped, self._raised = seen, scored, skipped, raised
        self._memory.clear()


def _shares(parts: Iterable[tuple[str, str | None]]) -> int:
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

    All their bounds hold together with `confidence`. A segment for which nothing can be promised
    is not watched by itself, unless without a promise.
    """
    parts: dict[tuple[str, str | None], Floats] = {}
    for watched, scores in reference.items():
        parts[watched, None] = scores
        for name in [] if segments is None else np.unique(segments).tolist():
            if (segments == name).sum() >= FEWEST * (2 if isinstance(block, str) else block):
                parts[watched, name] = scores[segments == name]
    if callable(detector):
        return {name: OneByOne(detector, scores) for name, scores in parts.items()}
    if detector != "evidence":
        raise SettingsError(f'detector {detector!r}: "evidence", or a function that makes one')
    share, wrong = _shares(parts), errors_of(parts, 1 - confidence)
    channels: Channels = {}
    for (watched, segment), scores in parts.items():
        channel = Evidence(
            scores,
            rate * share,
            block=block,
            confidence=1 - wrong[watched, segment],
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
    named = list(parts)
    kinds = Counter((watched, segment is None) for watched, segment in named)
    return {
        (watched, segment): error / len(kinds) / kinds[watched, segment is None]
        for watched, segment in named
    }
