"""Forget old events, by age and by size; alarms and detectors stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, desc, func, select

from anharmonic.service.reading import Reading
from anharmonic.service.schema import events
from anharmonic.service.store import Store

__all__ = ["Retention", "stored_bytes"]

CHUNK = 5_000
"""Events forgotten at a time, so that nobody waits long for the writer."""

ROW_BYTES = 150
"""What a row takes beside its point and its names: numbers, page headers, two indexes."""

SAMPLE = 1_000


@dataclass(frozen=True)
class Retention:
    """How long events are kept and how much room they may take; None is no limit."""

    seconds: float | None = None
    megabytes: float | None = None

    def apply(self, store: Store, now: float) -> int:
        """Forget one chunk of what is too old or too much; how many events went."""
        low, high = Reading(store).bounds()
        if not high:
            return 0
        last = max(self._too_old(store, now), self._too_many(store, low, high))
        last = min(last, low + CHUNK - 1)
        if last < low:
            return 0
        with store.writing() as connection:
            gone = connection.execute(delete(events).where(events.c.sequence <= last)).rowcount
        if store.engine.dialect.name == "sqlite":
            with store.reading() as connection:
                # A script runs to its end; a statement would free one page.
                driver: Any = connection.connection.driver_connection
                driver.executescript("PRAGMA incremental_vacuum")
        return int(gone)

    def _too_old(self, store: Store, now: float) -> int:
        if self.seconds is None:
            return 0
        # By arrival, which grows with the sequence; events may carry any time they like.
        oldest = select(events.c.sequence, events.c.received).order_by(events.c.sequence)
        with store.reading() as connection:
            rows = connection.execute(oldest.limit(CHUNK)).all()
        old = [row.sequence for row in rows if row.received < now - self.seconds]
        return max(old, default=0)

    def _too_many(self, store: Store, low: int, high: int) -> int:
        if self.megabytes is None:
            return 0
        allowed = int(self.megabytes * 1e6 / _row_bytes(store))
        return high - allowed


def _row_bytes(store: Store) -> float:
    """The usual size of a row, from the newest: both databases free pages later than rows."""
    newest = select(events).order_by(desc(events.c.sequence)).limit(SAMPLE).subquery()
    wide = func.length(newest.c.point) + 2 * func.length(newest.c.id)
    with store.reading() as connection:
        mean = connection.execute(select(func.avg(wide))).scalar()
    return ROW_BYTES + float(mean or 0)


def stored_bytes(store: Store) -> int:
    """What the events take, nearly."""
    low, high = Reading(store).bounds()
    return int((high - low + 1) * _row_bytes(store)) if high else 0
