"""What a monitor can say beyond scores: columns ranked by drift, and how well the model does.

Not every monitor has these. They are asked for between two writes, no more often than their cost
allows, and only while somebody looks.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypedDict, TypeVar

from anharmonic.errors import first_line
from anharmonic.serve.monitor.performance import (
    PerformanceWindow,
    finite_or_none,
    plain_window,
    plain_windows,
)
from anharmonic.serve.monitor.pipeline import Pipeline

__all__ = ["ColumnDrift", "Diagnostics"]

LOG = logging.getLogger("anharmonic.serve.monitor")
EVERY_SECONDS = 5.0
SHARE = 0.05
"""Of the store thread's time that one of these may take."""
MOST_COLUMNS, MOST_BINS = 200, 40
MOST_CHARACTERS = 300
T = TypeVar("T")


class ColumnDrift(TypedDict):
    """A column: how it has changed, in words, and its shares per bin then and now."""

    name: str
    kind: str
    evidence: float | None
    change: str
    labels: list[str]
    reference: list[float]
    recent: list[float]


class Cached(Generic[T]):
    """The last answer of a monitor, and when it may be asked again."""

    def __init__(self, pipeline: Pipeline, name: str, read: Callable[[], T]) -> None:
        self.pipeline, self.name, self._read = pipeline, name, read
        self._value: T | None = None
        self._state: tuple[int, int] | None = None
        self._due = 0.0
        self._asking = asyncio.Lock()

    async def get(self) -> T | None:
        """What the monitor says, at most a few seconds old; None where it could not."""
        async with self._asking:
            stored = self.pipeline.stored_monitor
            state = (stored.sequence, stored.revision)
            if time.monotonic() >= self._due and state != self._state:
                begun = time.perf_counter()
                try:
                    self._value = await self.pipeline.call_monitor(self._read)
                except Exception as problem:
                    LOG.warning("the monitor cannot say its %s: %s", self.name, first_line(problem))
                    self._value = None
                seconds = time.perf_counter() - begun
                self._state = state
                self._due = time.monotonic() + max(EVERY_SECONDS, seconds / SHARE)
            return self._value


class Diagnostics:
    """Columns and performance of the monitor of this process, where it has them."""

    def __init__(self, pipeline: Pipeline) -> None:
        monitor: Any = pipeline.stored_monitor.monitor
        columns, curve, now = (
            getattr(monitor, name, None) for name in ("columns", "performance_curve", "performance")
        )
        # A monitor has these methods also where it watches no inputs, or knows no labels.
        if getattr(monitor, "fitted_inputs", columns) is None:
            columns = None
        if getattr(monitor, "judge", curve) is None:
            curve = now = None
        stored = pipeline.stored_monitor

        def shift() -> int:
            # A monitor counts its rows from 0, and anew after `fresh`; the store counts on from 1.
            return stored.sequence + 1 - int(monitor.seen)

        self._columns = _cached(pipeline, "columns", columns, _columns)
        self._curve = _cached(pipeline, "performance", curve, lambda c: plain_windows(c, shift()))
        self._now = _cached(pipeline, "performance", now, lambda w: plain_window(w, shift()))

    @property
    def has_columns(self) -> bool:
        return self._columns is not None

    @property
    def has_performance(self) -> bool:
        return self._curve is not None or self._now is not None

    async def columns(self) -> list[ColumnDrift]:
        """Columns by their evidence, the largest first."""
        return (await self._columns.get() if self._columns else None) or []

    async def performance(self) -> tuple[PerformanceWindow | None, list[PerformanceWindow]]:
        """How well the model does now, and the curve up to now."""
        curve = (await self._curve.get() if self._curve else None) or []
        now = await self._now.get() if self._now else None
        return now or (curve[-1] if curve else None), curve


def _cached(
    pipeline: Pipeline, name: str, method: object, plain: Callable[[Any], T]
) -> Cached[T] | None:
    if not callable(method):
        return None
    call: Callable[[], Any] = method
    return Cached(pipeline, name, lambda: plain(call()))


def _columns(columns: Iterable[Any]) -> list[ColumnDrift]:
    """Columns as plain values, the largest evidence first."""
    plain: list[ColumnDrift] = [
        {
            "name": str(column.name)[:MOST_CHARACTERS],
            "kind": str(column.kind)[:MOST_CHARACTERS],
            "evidence": finite_or_none(column.evidence),
            "change": str(column.change)[:MOST_CHARACTERS],
            "labels": [str(label)[:80] for label in list(column.labels)[:MOST_BINS]],
            "reference": [float(share) for share in list(column.reference)[:MOST_BINS]],
            "recent": [float(share) for share in list(column.recent)[:MOST_BINS]],
        }
        for column in columns
    ]
    return sorted(plain, key=_evidence, reverse=True)[:MOST_COLUMNS]


def _evidence(column: ColumnDrift) -> float:
    return -math.inf if column["evidence"] is None else column["evidence"]
