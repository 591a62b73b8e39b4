"""`Monitor`: a model's scores on a stream, watched for drift without labels."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anharmonic.errors import PointsError, SettingsError
from anharmonic.moments import Estimate
from anharmonic.monitor import storing
from anharmonic.monitor.alarms import Alarm, Key, Observation, points_per_alarm
from anharmonic.monitor.allowance import Allowance
from anharmonic.monitor.bets import FEWEST
from anharmonic.monitor.channels import Channel, DetectorFactory, OneByOne
from anharmonic.monitor.culprits import Culprits, culprits_of, usual_shares
from anharmonic.monitor.detector import Evidence
from anharmonic.monitor.measuring import Sight, Watch, Watched, chosen_watch, settled
from anharmonic.monitor.memory import Memory
from anharmonic.monitor.traffic import (
    Segmenting,
    count_of,
    rows_of,
    segments_of,
    taken,
    unusable,
)
from anharmonic.protocols import Floats
from anharmonic.reductions import Reduction

__all__ = ["Monitor"]

Reasons = Sequence[str] | NDArray[Any] | None


class Monitor:
    """Watches what a model does on a stream of points; labels are never needed.

    - `reference`: points from a time when all was well, in their own order if they have one.
    - `watch`: "gamma", "flip" (the chance that 25 random steps change the decision),
      "confidence", "margin", a function from points to numbers, several of these, or a
      mapping of names to them. Each has evidence of its own.
    - `false_alarms`: how many are allowed, among scored points: "1 per 100000" means that
      P(alarm within T scored points) ≤ T/100000 while nothing changes, with everything that
      is watched taken together. It rests on bounds from the reference that all hold with
      `confidence`.
    - `segment`: a column, or a function from points to labels. Segments share one allowance,
      all traffic has another.
    - `score`: how much is scored: a fraction, "5000 queries per second", "20% of the time".
    - `directions`: the most neighbours asked for around a point. `block`: scores averaged
      before each bet, "auto" by the reference's own autocorrelation, at least 1.
    - `detector`: "evidence", or a function from the reference's scores to anything with
      `update(value) -> bool`, such as `monitor.river("ADWIN")`.
    - `memory`: the latest scored points kept for `culprits`.

    Other arguments are `gamma`'s.

    >>> random = np.random.default_rng(0)
    >>> wave = lambda x: np.sin(3 * x[:, 0]) * (x[:, 0] > 0)
    >>> watch = Monitor(wave, random.normal(size=(2000, 2)) - 1, radius=0.3)
    >>> watch.update(random.normal(size=(2000, 2)) - 1).alarm
    False
    >>> watch.update(random.normal(size=(500, 2))).alarm
    True
    >>> print(watch.alarms[0].watched, watch.alarms[0].direction)
    gamma up
    """

    def __init__(
        self,
        model: Any,
        reference: Any,
        *,
        radius: float | Literal["auto"] = "auto",
        false_alarms: str | float = "1 per 100000",
        segment: Segmenting = None,
        watch: Watch = "gamma",
        score: float | str = 1.0,
        seed: int = 0,
        confidence: float = 0.9,
        block: int | Literal["auto"] = "auto",
        detector: Literal["evidence"] | DetectorFactory = "evidence",
        directions: int = 16,
        output: Any = None,
        reduction: Reduction | None = None,
        scale: Any = "auto",
        bounds: Any = None,
        batch_size: int | None = None,
        memory: int = 2000,
    ) -> None:
        rate, watched = points_per_alarm(false_alarms), chosen_watch(watch)
        sight, spent = settled(
            model,
            reference,
            radius=radius,
            directions=directions,
            output=output,
            reduction=reduction,
            scale=scale,
            bounds=bounds,
            batch_size=batch_size,
            seed=seed,
        )
        usual, cost = usual_shares(sight, reference, watched, seed)
        scores = {name: sight.measured(each, reference) for name, each in watched.items()}
        each = sum(sight.queries(thing) for thing in watched.values())
        labels = segments_of(reference, segment)
        self._assemble(
            sight=sight,
            watch=watched,
            reference=scores,
            channels=_fitted(scores, labels, rate, confidence, block, detector, seed),
            rate=rate,
            segment=segment,
            score=score,
            seed=seed,
            memory=memory,
            usual_shares=usual,
            fit_queries=spent + cost + count_of(reference) * each,
        )

    def _assemble(
        self,
        *,
        sight: Sight,
        watch: dict[str, Watched],
        reference: dict[str, Floats],
        channels: dict[tuple[str, str | None], Channel],
        rate: float,
        segment: Segmenting,
        score: float | str,
        seed: int,
        memory: int,
        usual_shares: tuple[Estimate, ...],
        fit_queries: int,
    ) -> None:
        """All that does not change as the stream goes by, and an empty stream."""
        self.sight, self.watch, self.reference, self.channels = sight, watch, reference, channels
        self.rate, self.segment, self.score, self.seed = rate, segment, score, seed
        self.usual_shares, self.fit_queries = usual_shares, fit_queries
        self._allowance, self._memory = Allowance(score, seed), Memory(memory)
        self.seen = self.scored = 0
        self.skipped: Counter[str] = Counter()
        self._raised: dict[Key, Alarm] = {}

    @property
    def queries_a_row(self) -> int:
        """Model queries that scoring one row costs."""
        return sum(self.sight.queries(each) for each in self.watch.values())

    @property
    def queries(self) -> int:
        """Model queries so far, those for the reference included."""
        return self.fit_queries + self.scored * self.queries_a_row

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
    def _shift(self) -> float:
        """Evidence is told in units in which every line is the rate."""
        return float(np.log(_shares(self.channels)))

    def measured(self, points: Any) -> dict[str, Floats]:
        """Scores (rows,) of everything watched: a function of the points alone."""
        rows = rows_of(points, self.sight.shape)
        return {name: self.sight.measured(each, rows) for name, each in self.watch.items()}

    def update(self, points: Any, segments: Any = None) -> Observation:
        """Score one point or many and weigh the evidence."""
        rows = rows_of(points, self.sight.shape)
        numbers = self.seen + np.arange(count_of(rows))
        bad = unusable(rows, self.sight.columns)
        allowed = self._allowance.allowed(numbers, max(1, self.queries_a_row))
        reasons = np.where(bad, "not finite", np.where(allowed, "", self._allowance.reason))
        chosen = np.flatnonzero(reasons == "")
        scores = {name: np.full(len(numbers), np.nan) for name in self.watch}
        if len(chosen):
            begun = time.perf_counter()
            for name, values in self.measured(taken(rows, chosen)).items():
                scores[name][chosen] = values
            self._allowance.spent(len(chosen), time.perf_counter() - begun)
        labels = segments_of(rows, self.segment) if segments is None else segments
        return self.observed(rows, scores, segments=labels, reasons=reasons)

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
        known = np.isfinite(columns).all(axis=0)
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
                    self._raised[alarm.key] = alarm
                    new.append(alarm)
            if segment is None:
                for direction, line in zip(channel.directions, logs, strict=True):
                    whole = np.concatenate(([before[direction]], line)) - self._shift
                    trace[Key(watched, None, direction)] = whole[np.cumsum(known)]
        self._count(known, reasons)
        self._memory.add(points, rows, columns, labels, known)
        return Observation(rows, scores, self.evidence, tuple(new), trace)

    def _checked(self, scores: dict[str, Floats]) -> Floats:
        if set(scores) != set(self.watch):
            raise SettingsError(
                f"scores of {', '.join(scores)} were given and {', '.join(self.watch)} is "
                "watched: give what `measured` gives"
            )
        return np.stack([np.asarray(scores[name], dtype=np.float64) for name in self.watch])

    def _count(self, known: NDArray[np.bool_], reasons: Reasons) -> None:
        self.seen += len(known)
        self.scored += int(known.sum())
        missing = np.flatnonzero(~known)
        if len(missing):
            told = ["not scored"] * len(known) if reasons is None else list(reasons)
            self.skipped.update(str(told[row]) or "not scored" for row in missing.tolist())

    def culprits(self, count: int = 10, alarm: Alarm | None = None) -> Culprits:
        """Points, segments and features that carry an alarm's evidence, the oldest's if not told.

        Points are those in memory since the estimated change, by their share of the evidence.
        Features are asked about at these points: 2n+1 queries each, where gamma is watched.
        """
        if alarm is None and not self._raised:
            raise SettingsError("there is no alarm: culprits are of an alarm")
        chosen = alarm or self.alarms[0]
        channel = self.channels[chosen.watched, chosen.segment]
        return culprits_of(
            chosen,
            channel,
            self._memory,
            list(self.watch).index(chosen.watched),
            count,
            self.sight if self.watch[chosen.watched] == "gamma" else None,
            self.usual_shares,
        )

    def reset(self) -> None:
        """Clear alarms and evidence; the reference, the counts and the row numbers stay."""
        for channel in self.channels.values():
            channel.reset()
        self._raised = {}
        self._memory.clear()

    def state(self) -> bytes:
        """Evidence, counts and standing alarms: small, of constant size, no pickle."""
        return storing.packed(self.channels, self.seen, self.scored, self.skipped, self._raised)

    def restore(self, state: bytes) -> None:
        """Go on exactly where `state` was taken."""
        seen, scored, skipped, raised = storing.unpacked(state, self.channels)
        self.seen, self.scored, self.skipped, self._raised = seen, scored, skipped, raised
        self._memory.clear()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything but the model and the memory of points, whole or not at all."""
        return storing.save(self, path, self._memory.most)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Any, watch: Watch | None = None) -> Monitor:
        """Read what `save` wrote; functions that were watched are given again."""
        monitor = cls.__new__(cls)
        parts, state = storing.load(path, model, watch)
        monitor._assemble(**parts)
        monitor.restore(state)
        return monitor

    def __repr__(self) -> str:
        state = f"{len(self._raised)} alarms" if self._raised else "quiet"
        return (
            f"<monitor of {', '.join(self.watch)}: {state}, {self.scored:,} of {self.seen:,} "
            f"points scored, {self.queries:,} queries>"
        )


def _shares(channels: dict[tuple[str, str | None], Channel]) -> int:
    """Parts that the false alarms are split into: all traffic and the segments, each watched.

    A row belongs to one segment, so all segments together need but one part.
    """
    return len({(watched, segment is None) for watched, segment in channels})


def _fitted(
    reference: dict[str, Floats],
    segments: NDArray[np.str_] | None,
    rate: float,
    confidence: float,
    block: int | str,
    detector: str | DetectorFactory,
    seed: int,
) -> dict[tuple[str, str | None], Channel]:
    """A channel for everything watched, in all traffic and in each segment that is large enough."""
    parts: dict[tuple[str, str | None], Floats] = {}
    for watched, scores in reference.items():
        parts[watched, None] = scores
        for name in [] if segments is None else np.unique(segments).tolist():
            if (segments == name).sum() >= FEWEST:
                parts[watched, name] = scores[segments == name]
    if callable(detector):
        return {name: OneByOne(detector, scores) for name, scores in parts.items()}
    if detector != "evidence":
        raise SettingsError(f'detector {detector!r}: "evidence", or a function that makes one')
    share = len({(watched, segment is None) for watched, segment in parts})
    sure = 1 - (1 - confidence) / len(parts)
    return {
        name: Evidence(scores, rate * share, block=block, confidence=sure, seed=seed)
        for name, scores in parts.items()
    }
