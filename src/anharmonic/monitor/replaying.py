"""A recorded stream through a monitor: what it would have raised, when, and because of whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

import numpy as np

from anharmonic._core import tables
from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import PointsError
from anharmonic.monitor.alarms import Alarm, Key, Observation
from anharmonic.monitor.culprits import Culprits
from anharmonic.monitor.monitor import Monitor
from anharmonic.monitor.monitor_settings import MonitorSettings
from anharmonic.monitor.rows import as_rows, count_of, label_cells, segments_of, taken
from anharmonic.monitor.windows import WindowArguments, Windows, windows_of
from anharmonic.performance import Curve
from anharmonic.performance.fitting import plain_labels

__all__ = ["Replay", "replay"]

BATCH, PIECE = 4096, 64
"""Rows scored at once, and rows fed to the detectors before looking whether to start anew."""
EXPLAINED = 8
"""Alarms whose culprits are looked for, the first ones."""
Name = TypeVar("Name")


@dataclass(frozen=True)
class Replay:
    """A whole stream, as a monitor saw it.

    Parameters
    ----------
    scores : (rows,) each
        Of each thing watched, NaN where a row was not scored.
    trace : (rows,) each
        Log evidence after each row, for each `Key` of all traffic.
    alarms
        In the order in which they were raised.
    culprits
        Of the first few alarms, in their order.
    reference
        The reference's scores of each thing watched.
    threshold, rate
        The log evidence that raises an alarm, and the points per false alarm that it stands for.
    blocks
        Scores averaged before each bet, for each thing watched.
    skipped
        Rows that were not scored, by reason.
    queries
        What the stream cost, the culprits included.
    settings
        Of the monitor.
    times : (rows,)
        Of the rows, where known.
    performance
        Window by window, where the reference has labels; of the rows so far where none is full.
    labels_used, labels_unused
        How many labels were joined with their rows, and how many were not: of rows without a
        score, or later than `memory` rows after their own.
    first
        The number of the first row, where the monitor had seen others before.
    restarted
        Whether the monitor began anew after each alarm.
    """

    scores: dict[str, Floats]
    trace: dict[Key, Floats]
    alarms: tuple[Alarm, ...]
    culprits: tuple[Culprits, ...]
    reference: dict[str, Floats]
    threshold: float
    rate: float
    blocks: dict[str, int]
    skipped: dict[str, int]
    queries: int
    settings: MonitorSettings
    times: Array | None = None
    performance: Curve | None = None
    labels_used: int = 0
    labels_unused: int = 0
    first: int = 0
    restarted: bool = True

    def __len__(self) -> int:
        return len(next(iter(self.scores.values())))

    @property
    def promise(self) -> str:
        """What is promised of false alarms, or why nothing is."""
        return self.settings.promise

    @property
    def promised(self) -> bool:
        """Whether any rate is."""
        return self.settings.promised

    @property
    def scored(self) -> int:
        """Rows that were."""
        return len(self) - sum(self.skipped.values())

    def time_of(self, alarm: Alarm) -> str:
        """When the row came that raised an alarm, "" where that is not known.

        Parameters
        ----------
        alarm
            One of these.
        """
        return "" if self.times is None else str(self.times[alarm.at - self.first])

    def windows(self, watched: str | None = None, **arguments: Unpack[WindowArguments]) -> Windows:
        """Windows of one thing watched, and which of their means are unusual.

        Parameters
        ----------
        watched
            Its name; the first thing watched if not given.
        **arguments
            `count` rows or `every` so much time per window, `level` and `limits` of the band: see
            `windows_of`.
        """
        name = watched or next(iter(self.scores))
        rows = self.first + np.arange(len(self))
        return windows_of(
            name, rows, self.scores[name], self.reference[name], times=self.times, **arguments
        )

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line per row, scores and evidence: as pandas, polars or pyarrow, the first installed.

        Parameters
        ----------
        backend
            Which of them instead.
        """
        columns: dict[str, Array] = {"row": self.first + np.arange(len(self)), **self.scores}
        columns |= {f"evidence: {key}": line for key, line in self.trace.items()}
        return tables.frame(tables.arrow(columns, {"holds": "replay"}), backend)

    def summary(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "rows": len(self),
            "scored": self.scored,
            "skipped": self.skipped,
            "queries": self.queries,
            "false_alarms": f"1 per {self.rate:g}",
            "promise": self.promise,
            "blocks": self.blocks,
            "threshold": self.threshold,
            "alarms": [
                alarm.plain()
                | ({} if self.times is None else {"time": self.time_of(alarm)})
                | next((_explanation(one) for one in self.culprits if one.alarm == alarm), {})
                for alarm in self.alarms
            ],
            "settings": self.settings.plain(),
            "performance": [window.plain() for window in self.performance or ()],
            "labels": {"used": self.labels_used, "unused": self.labels_unused},
        }


def _explanation(culprits: Culprits) -> dict[str, object]:
    return {
        "culprits": [
            {"row": row, "score": score, "contribution": share}
            for row, score, share in zip(
                culprits.rows.tolist(),
                culprits.scores.tolist(),
                culprits.contributions.tolist(),
                strict=True,
            )
        ],
        "segments": culprits.segments,
        "features": {share.name: [*share.now, *share.usual] for share in culprits.features[:10]},
    }


def replay(
    monitor: Monitor,
    points: Array,
    *,
    segments: Array = None,
    times: Array | None = None,
    labels: Array | None = None,
    delay: int = 0,
    restart: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Run a monitor over recorded points.

    Parameters
    ----------
    monitor
        As fitted; it goes on from where it stands.
    points
        The stream's rows, in their order.
    segments : (rows,)
        Labels; by the monitor's own rule if not given.
    times : (rows,)
        When the rows came, for windows and alarms.
    labels : (rows,)
        Of the stream, given to a monitor of a labelled reference; None or NaN where unknown.
    delay
        Rows after which a label comes.
    restart
        Whether the monitor begins anew after each alarm, as if somebody had looked into it, so
        that later changes are raised too; the last alarm may then repeat the same change.
    progress
        Called with rows done and rows in all.

    Examples
    --------
    >>> from anharmonic.monitor import Monitor
    >>> random = np.random.default_rng(1)
    >>> quiet, later = random.normal(size=(1000, 2)), 3 * random.normal(size=(200, 2))
    >>> size = lambda points: np.linalg.norm(points, axis=1)
    >>> monitor = Monitor(lambda x: x[:, 0], quiet, watch={"size": size})
    >>> print(replay(monitor, later).alarms[0].key)
    size up
    """
    points = as_rows(points)
    count = count_of(points)
    if not count:
        raise PointsError("there are no points: give at least one row")
    for name, facts in (("times", times), ("labels", labels)):
        if facts is not None and len(facts) != count:
            raise PointsError(f"{count} rows and {len(facts)} {name}: give one per row")
    names = segments_of(points, monitor.segment) if segments is None else label_cells(segments)
    # A table's column has an index of its own, by which it would be read.
    times = None if times is None else np.asarray(times)
    late = None if labels is None else LateLabels(labels, delay, monitor.seen)
    queries_before, skipped_before, first = monitor.queries, monitor.skipped.copy(), monitor.seen
    observations: list[Observation] = []
    alarms: list[Alarm] = []
    culprits: list[Culprits] = []
    for start in range(0, count, BATCH):
        rows = np.arange(start, min(count, start + BATCH))
        batch = taken(points, rows)
        scores, reasons = monitor.considered(batch)
        for low in range(0, len(rows), PIECE):
            piece = slice(low, low + PIECE)
            observation = monitor.observed(
                taken(batch, rows[piece] - start),
                {name: values[piece] for name, values in scores.items()},
                segments=None if names is None else names[rows[piece]],
                reasons=reasons[piece],
                times=None if times is None else [str(time) for time in times[rows[piece]]],
            )
            observations.append(observation)
            raised = [*observation.alarms, *(() if late is None else late.give(monitor))]
            alarms += raised
            # Before the reset, which forgets the points.
            culprits += [
                monitor.culprits(alarm=alarm)
                for alarm in observation.alarms[: max(0, EXPLAINED - len(culprits))]
            ]
            if raised and restart:
                monitor.reset()
        if progress is not None:
            progress(int(rows[-1]) + 1, count)
    spent = monitor.queries - queries_before + sum(one.queries for one in culprits)
    return Replay(
        scores=_joined([observation.scores for observation in observations]),
        trace=_joined([observation.trace for observation in observations]),
        alarms=tuple(alarms),
        culprits=tuple(culprits),
        reference=monitor.reference,
        threshold=monitor.threshold,
        rate=monitor.rate,
        blocks={
            name: block for (name, segment), block in monitor.blocks.items() if segment is None
        },
        skipped=dict(monitor.skipped - skipped_before),
        queries=spent,
        settings=monitor.settings,
        times=times,
        performance=None if monitor.judge is None else _curve(monitor),
        labels_used=0 if late is None else late.used,
        labels_unused=0 if late is None else late.unused,
        first=first,
        restarted=restart,
    )


def _curve(monitor: Monitor) -> Curve:
    """Performance window by window, or of the open window if none is full."""
    return monitor.performance_curve() or Curve((monitor.performance(),))


class LateLabels:
    """A stream's labels, given to a monitor so many rows after their own."""

    def __init__(self, labels: Array, delay: int, first: int) -> None:
        self.labels, self.delay, self.first, self.given = plain_labels(labels), delay, first, 0
        self.used = self.unused = 0

    def give(self, monitor: Monitor) -> tuple[Alarm, ...]:
        """Hand over those that are due; the alarms that they raise."""
        due = min(len(self.labels), monitor.seen - self.first - self.delay)
        rows = [row for row in range(self.given, due) if not is_missing(self.labels[row])]
        self.given = max(self.given, due)
        if not rows:
            return ()
        found = monitor.add_labels(
            [self.first + row for row in rows], [self.labels[row] for row in rows]
        )
        self.used += found.used
        self.unused += len(found.unknown)
        return found.alarms


def _joined(parts: list[dict[Name, Floats]]) -> dict[Name, Floats]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
