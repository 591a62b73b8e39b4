"""Delete old events, by age and by size; alarms and detectors stay."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, desc, func, select

from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.schema import events, labels
from anharmonic.serve.monitor.store import Store

__all__ = ["Retention", "SteadyClock", "stored_bytes"]

LOG = logging.getLogger("anharmonic.serve.monitor")
JUMP_SECONDS = 3_600.0
"""A smaller step is a clock being corrected."""
CHUNK = 5_000
"""Events deleted at a time, so that no batch waits long for the writer."""

ROW_BYTES = 150
"""What a row takes besides its point and its names: numbers, page headers, three indexes."""

SAMPLE = 1_000


class SteadyClock:
    """The time of day, unless it jumps forward.

    Events' ages are computed with it. A clock that is put forward would make everything old at
    once; from then on the time since the start counts, on a monotonic clock.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] | None = None,
    ) -> None:
        self._wall, self._steady = wall, steady or _since_boot
        self._began = wall() - self._steady()
        self._warned = False

    def now(self) -> float:
        """The earlier of the time of day and what it should be by now."""
        wall, expected = self._wall(), self._began + self._steady()
        if wall > expected + JUMP_SECONDS and not self._warned:
            self._warned = True
            LOG.warning(
                "the clock was put forward by %.0f s: old events are reckoned by the time since "
                "the start; restart once the clock is right",
                wall - expected,
            )
        return min(wall, expected) if wall > expected + JUMP_SECONDS else wall


def _since_boot() -> float:
    """Seconds that go on while the machine sleeps, where there is such a clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@dataclass(frozen=True)
class Retention:
    """How long events are kept and how much space they may take; None is no limit.

    Parameters
    ----------
    seconds
        Events that arrived longer ago are deleted.
    megabytes
        Of all events of a model; beyond it the oldest are deleted.
    """

    seconds: float | None = None
    megabytes: float | None = None

    def apply(self, store: Store, monitor: str, now: float) -> int:
        """Delete one chunk of what is too old or too much; how many events that was.

        What counts are the events of the monitor's model in all its versions: those of an
        earlier one grow old too. Other models' are not touched.
        """
        for name in (versions := _versions(store, monitor)):
            if deleted := self._delete(store, name, self._last_too_old(store, name, now)):
                return deleted
        return self._delete_over_size(store, versions)

    def _delete(self, store: Store, monitor: str, last: int) -> int:
        """Delete a monitor's events up to number `last`, at most a chunk."""
        low, _ = Queries(store, monitor).bounds()
        last = min(last, low + CHUNK - 1)
        if not low or last < low:
            return 0
        chunk = (events.c.monitor == monitor, events.c.sequence <= last)
        own_labels = labels.c.monitor == monitor
        with store.writing() as connection:
            # Labels go with their events, and those that waited for any as old.
            newest = connection.execute(select(func.max(events.c.received)).where(*chunk)).scalar()
            ids = select(events.c.id).where(*chunk)
            connection.execute(delete(labels).where(own_labels, labels.c.id.in_(ids)))
            old = (labels.c.waiting == 1, labels.c.received <= newest)
            connection.execute(delete(labels).where(own_labels, *old))
            deleted = connection.execute(delete(events).where(*chunk)).rowcount
        if store.engine.dialect.name == "sqlite":
            with store.reading() as connection:
                # A script runs to its end; a single statement would free one page.
                driver: Any = connection.connection.driver_connection
                driver.executescript("PRAGMA incremental_vacuum")
        return int(deleted)

    def _last_too_old(self, store: Store, monitor: str, now: float) -> int:
        """The number of the last event that is too old, among the oldest; 0 where none is.

        By arrival, which grows with the sequence; an event's own time is the client's. Events that
        arrived under a clock that was ahead have no known age: those after them decide.
        """
        if self.seconds is None:
            return 0
        after = 0
        while rows := _oldest(store, monitor, after):
            old = [row.sequence for row in rows if row.received < now - self.seconds]
            if old or any(row.received <= now for row in rows):
                return max(old, default=0)
            after = rows[-1].sequence
        return 0

    def _delete_over_size(self, store: Store, versions: list[str]) -> int:
        if self.megabytes is None:
            return 0
        sizes = {name: stored_bytes(store, name) for name in versions}
        over = sum(sizes.values()) - self.megabytes * 1e6
        if over <= 0:
            return 0
        # Of several versions the one whose oldest event came first.
        oldest = {name: rows[0].received for name in versions if (rows := _oldest(store, name, 0))}
        name = min(oldest, key=lambda version: oldest[version])
        low, high = Queries(store, name).bounds()
        count = math.ceil(over / sizes[name] * (high - low + 1))
        return self._delete(store, name, low + count - 1)


def _versions(store: Store, monitor: str) -> list[str]:
    """A monitor and the others of the same model."""
    model = monitor.rpartition("@")[0]
    others = (name for name in store.monitors() if model and name.rpartition("@")[0] == model)
    return [monitor, *(name for name in others if name != monitor)]


def _oldest(store: Store, monitor: str, after: int) -> list[Any]:
    """The `sequence` and `received` of a chunk of rows, by number."""
    query = (
        select(events.c.sequence, events.c.received)
        .where(events.c.monitor == monitor, events.c.sequence > after)
        .order_by(events.c.sequence)
        .limit(CHUNK)
    )
    with store.reading() as connection:
        return list(connection.execute(query).all())


def _row_bytes(store: Store, monitor: str) -> float:
    """The mean size of the newest rows: both databases free pages later than rows."""
    own = select(events).where(events.c.monitor == monitor)
    newest = own.order_by(desc(events.c.sequence)).limit(SAMPLE).subquery()
    # A row, and its entries in the indexes by number and by id.
    size = func.length(newest.c.point) + 2 * func.length(newest.c.id)
    for column in (newest.c.metadata, newest.c.evidences, newest.c.others):
        size = size + func.coalesce(func.length(column), 0)
    with store.reading() as connection:
        mean = connection.execute(select(func.avg(size))).scalar()
    return ROW_BYTES + 3 * len(monitor) + float(mean or 0)


def stored_bytes(store: Store, monitor: str) -> int:
    """An estimate of the bytes that a monitor's events take."""
    low, high = Queries(store, monitor).bounds()
    return int((high - low + 1) * _row_bytes(store, monitor)) if high else 0
