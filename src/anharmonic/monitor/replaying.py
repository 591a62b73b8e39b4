"""A recorded stream through a monitor: what it would have raised, when, and because of whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from anharmonic._core import tables
from anharmonic._core.protocols import Floats
from anharmonic.monitor.alarms import Alarm, Key, Observation
from anharmonic.monitor.culprits import Culprits
from anharmonic.monitor.monitor import Monitor
from anharmonic.monitor.monitor_settings import MonitorSettings
from anharmonic.monitor.rows import count_of, segments_of, taken
from anharmonic.monitor.windows import WindowArguments, Windows, windows_of

__all__ = ["Replay", "replay"]

BATCH, PIECE = 4096, 64
"""Rows scored at once, and rows weighed before looking whether to start anew."""
EXPLAINED = 8


@dataclass(frozen=True)
class Replay:
    """A whole stream: scores and log evidence (rows,) for each thing watched, and the alarms.

    `culprits` belong to the first few alarms, in their order. `times` (rows,) where known.
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
    times: NDArray[Any] | None = None

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
        return len(self) - sum(self.skipped.values())

    def windows(self, watched: str | None = None, **arguments: Unpack[WindowArguments]) -> Windows:
        """Windows of one thing watched, the first if not told; see `windows_of`."""
        name = watched or next(iter(self.scores))
        rows = np.arange(len(self))
        return windows_of(
            name, rows, self.scores[name], self.reference[name], times=self.times, **arguments
        )

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line a row: scores and evidence."""
        columns: dict[str, Any] = {"row": np.arange(len(self)), **self.scores}
        columns |= {f"evidence: {key}": line for key, line in self.trace.items()}
        return tables.frame(tables.arrow(columns, {"holds": "replay"}), backend)

    def summary(self) -> dict[str, Any]:
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
                | ({} if self.times is None else {"time": str(self.times[alarm.at])})
                | (_explained(self.culprits[place]) if place < len(self.culprits) else {})
                for place, alarm in enumerate(self.alarms)
            ],
            "settings": self.settings.plain(),
        }


def _explained(culprits: Culprits) -> dict[str, Any]:
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
    points: Any,
    *,
    segments: Any = None,
    times: NDArray[Any] | None = None,
    restart: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Run a monitor over recorded points.

    With `restart` it begins anew after each alarm, as if somebody had looked into it, so that
    later changes are raised too; the last alarm may then repeat the same change. `progress` is
    called with rows done and rows in all.
    """
    count = count_of(points)
    labels = segments_of(points, monitor.segment) if segments is None else np.asarray(segments)
    begun = monitor.queries
    seen: list[Observation] = []
    alarms: list[Alarm] = []
    culprits: list[Culprits] = []
    for start in range(0, count, BATCH):
        rows = np.arange(start, min(count, start + BATCH))
        batch = taken(points, rows)
        scores, reasons = monitor.considered(batch)
        for low in range(0, len(rows), PIECE):
            few = slice(low, low + PIECE)
            some = rows[few] - start
            found = monitor.observed(
                taken(batch, some),
                {name: values[few] for name, values in scores.items()},
                segments=None if labels is None else labels[rows[few]],
                reasons=reasons[few],
            )
            seen.append(found)
            alarms += found.alarms
            culprits += [
                monitor.culprits(alarm=alarm)
                for alarm in found.alarms[: max(0, EXPLAINED - len(culprits))]
            ]
            if found.alarm and restart:
                monitor.reset()
        if progress is not None:
            progress(int(rows[-1]) + 1, count)
    spent = monitor.queries - begun + sum(each.queries for each in culprits)
    return Replay(
        scores=_joined([each.scores for each in seen]),
        trace=_joined([each.trace for each in seen]),
        alarms=tuple(alarms),
        culprits=tuple(culprits),
        reference=monitor.reference,
        threshold=monitor.threshold,
        rate=monitor.rate,
        blocks={name: block for (name, part), block in monitor.blocks.items() if part is None},
        skipped=dict(monitor.skipped),
        queries=spent,
        settings=monitor.settings,
        times=times,
    )


def _joined(parts: list[dict[Any, Floats]]) -> dict[Any, Floats]:
    return {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
