"""Forget old events, by age and by size; alarms and detectors stay."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, desc, func, select

from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.schema import events
from anharmonic.serve.monitor.store import Store

__all__ = ["Retention", "SteadyClock", "stored_bytes"]

LOG = logging.getLogger("anharmonic.serve.monitor")
JUMP_SECONDS = 3_600.0
"""Less is a clock being put right, as happens."""
CHUNK = 5_000
"""Events forgotten at a time, so that nobody waits long for the writer."""

ROW_BYTES = 150
"""What a row takes beside its point and its names: numbers, page headers, three indexes."""

SAMPLE = 1_000


class SteadyClock:
    """The time of day, as long as it goes on as a clock does.

    Ages are reckoned by it. A clock that is put forward makes everything old at once; so until
    the next start the time since this one counts, on a clock that nobody sets.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] | None = None,
    ) -> None:
        self._wall, self._steady = wall, steady or _since_boot
        self._began = wall() - self._steady()
        self._told = False

    def now(self) -> float:
        """The earlier of the time of day and what it should be by now."""
        wall, expected = self._wall(), self._began + self._steady()
        if wall > expected + JUMP_SECONDS and not self._told:
            self._told = True
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
    """How long events are kept and how much room they may take; None is no limit."""

    seconds: float | None = None
    megabytes: float | None = None

    def apply(self, store: Store, monitor: str, now: float) -> int:
        """Forget one chunk of what is too old or too much; how many events went.

        What counts are the events of the monitor's model in all its versions: those of an
        earlier one grow old too. Other models' are not touched.
        """
        for name in (versions := _versions(store, monitor)):
            if gone := self._forget(store, name, self._too_old(store, name, now)):
                return gone
        return self._forget_much(store, versions)

    def _forget(self, store: Store, monitor: str, last: int) -> int:
        low, _ = Queries(store, monitor).bounds()
        last = min(last, low + CHUNK - 1)
        if not low or last < low:
            return 0
        mine = (events.c.monitor == monitor, events.c.sequence <= last)
        with store.writing() as connection:
            gone = connection.execute(delete(events).where(*mine)).rowcount
        if store.engine.dialect.name == "sqlite":
            with store.reading() as connection:
                # A script runs to its end; a statement would free one page.
                driver: Any = connection.connection.driver_connection
                driver.executescript("PRAGMA incremental_vacuum")
        return int(gone)

    def _too_old(self, store: Store, monitor: str, now: float) -> int:
        """The last event that is too old, among the oldest; all before it are older still.

        By arrival, which grows with the sequence; events may carry any time they like. Events
        of a clock that was ahead say nothing of their age: those after them do.
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

    def _forget_much(self, store: Store, versions: list[str]) -> int:
        if self.megabytes is None:
            return 0
        sizes = {name: stored_bytes(store, name) for name in versions}
        over = sum(sizes.values()) - self.megabytes * 1e6
        if over <= 0:
            return 0
        # Of several versions the one whose oldest event came first.
        oldest = {name: rows[0].received for name in versions if (rows := _oldest(store, name, 0))}
        name = min(oldest, key=lambda each: oldest[each])
        low, high = Queries(store, name).bounds()
        many = math.ceil(over / sizes[name] * (high - low + 1))
        return self._forget(store, name, low + many - 1)


def _versions(store: Store, monitor: str) -> list[str]:
    """A monitor and the others of the same model."""
    model = monitor.rpartition("@")[0]
    others = (name for name in store.monitors() if model and name.rpartition("@")[0] == model)
    return [monitor, *(name for name in others if name != monitor)]


def _oldest(store: Store, monitor: str, after: int) -> list[Any]:
    query = (
        select(events.c.sequence, events.c.received)
        .where(events.c.monitor == monitor, events.c.sequence > after)
        .order_by(events.c.sequence)
        .limit(CHUNK)
    )
    with store.reading() as connection:
        return list(connection.execute(query).all())


def _row_bytes(store: Store, monitor: str) -> float:
    """The usual size of a row, from the newest: both databases free pages later than rows."""
    newest = select(events).where(events.c.monitor == monitor)
    newest_few = newest.order_by(desc(events.c.sequence)).limit(SAMPLE).subquery()
    # A row, and its entries in the indexes by number and by id.
    wide = func.length(newest_few.c.point) + 2 * func.length(newest_few.c.id)
    with store.reading() as connection:
        mean = connection.execute(select(func.avg(wide))).scalar()
    return ROW_BYTES + 3 * len(monitor) + float(mean or 0)


def stored_bytes(store: Store, monitor: str) -> int:
    """What a monitor's events take, nearly."""
    low, high = Queries(store, monitor).bounds()
    return int((high - low + 1) * _row_bytes(store, monitor)) if high else 0
