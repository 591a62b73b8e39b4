"""What is asked of a store: pages of rows, one point, the shape of the recent past."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import ColumnElement, Select, cast, desc, func, select, types

from anharmonic.serve.monitor.schema import alarms, events
from anharmonic.serve.monitor.store import Store

__all__ = ["Queries"]

Row = dict[str, Any]


class Queries:
    """Questions to a store about one monitor; every answer is bounded."""

    def __init__(self, store: Store, monitor: str) -> None:
        self.store, self.monitor = store, monitor
        self._events, self._alarms = events.c.monitor == monitor, alarms.c.monitor == monitor

    def _rows(self, query: Select[Any]) -> list[Row]:
        with self.store.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def alarms(self, limit: int, before: int | None = None) -> list[Row]:
        """Newest first; `before` an event's number, for the next page."""
        query = select(alarms).where(self._alarms)
        query = query.order_by(desc(alarms.c.sequence), alarms.c.id).limit(limit)
        return self._rows(query if before is None else query.where(alarms.c.sequence < before))

    def scores(self, after: int, limit: int, segment: str | None = None) -> list[Row]:
        """Events in order, from the one after `after`, without their points."""
        columns = [each for each in events.c if each.name not in ("point", "others")]
        query = select(*columns).where(self._events, events.c.sequence > after)
        if segment is not None:
            query = query.where(events.c.segment == segment)
        return self._rows(query.order_by(events.c.sequence).limit(limit))

    def point(self, id: str) -> Row | None:
        """One event with the point it observed."""
        found = self._rows(select(events).where(self._events, events.c.id == id))
        return _opened(found[0]) if found else None

    def worst(
        self, count: int, after: int, watched: str | None = None, smallest: bool = False
    ) -> list[Row]:
        """The events after one with the largest or smallest values of what is watched."""
        value = self._value(watched)
        query = (
            select(events, value.label("value"))
            .where(self._events, events.c.sequence > after, value.is_not(None))
            .order_by(value if smallest else desc(value))
            .limit(count)
        )
        return [_opened(row) for row in self._rows(query)]

    def segments(self, after: int, watched: str | None = None, limit: int = 50) -> list[Row]:
        """Points, scored points and mean value of each segment after an event."""
        many, value = func.count(), self._value(watched)
        query = (
            select(
                events.c.segment,
                many.label("points"),
                func.count(value).label("scored"),
                func.avg(value).label("mean"),
                func.max(value).label("largest"),
                func.min(value).label("smallest"),
            )
            .where(self._events, events.c.sequence > after)
            .group_by(events.c.segment)
            .order_by(desc(many))
            .limit(limit)
        )
        return self._rows(query)

    def history(self, last: int, after: int, buckets: int, watched: str | None = None) -> list[Row]:
        """The events in (after, last] cut into stretches of equal length."""
        width = max(1, -(-(last - after) // buckets))
        bucket = cast(events.c.sequence / width, types.BigInteger)
        value = self._value(watched)
        query = (
            select(
                func.max(events.c.sequence).label("sequence"),
                func.max(events.c.time).label("time"),
                func.count().label("points"),
                func.avg(value).label("mean"),
                func.max(value).label("largest"),
                func.min(value).label("smallest"),
                func.max(events.c.evidence).label("evidence"),
            )
            .where(self._events, events.c.sequence > after, events.c.sequence <= last)
            .group_by(bucket)
            .order_by(bucket)
        )
        return self._rows(query)

    def _value(self, watched: str | None) -> ColumnElement[Any]:
        """The first thing watched has a column; all others stand together, by name."""
        if watched is None:
            return events.c.score
        if self.store.engine.dialect.name == "postgresql":
            return cast(cast(events.c.others, types.JSON).op("->>")(watched), types.Float)
        return func.json_extract(events.c.others, f"$.{json.dumps(watched)}")

    def bounds(self) -> tuple[int, int]:
        """The numbers of the oldest and the newest event, (0, 0) when there is none."""
        query = select(
            select(func.min(events.c.sequence)).where(self._events).scalar_subquery().label("low"),
            select(func.max(events.c.sequence)).where(self._events).scalar_subquery().label("high"),
        )
        row = self._rows(query)[0]
        return int(row["low"] or 0), int(row["high"] or 0)

    def undelivered(self, attempts: int) -> list[Row]:
        """Alarms that the webhook has not taken and that may be tried again, oldest first."""
        return self._rows(
            select(alarms)
            .where(self._alarms, alarms.c.delivered.is_(None), alarms.c.attempts < attempts)
            .order_by(alarms.c.sequence)
            .limit(100)
        )


def _opened(row: Row) -> Row:
    others = row.pop("others", None)
    return {
        **row,
        "point": json.loads(row["point"]),
        "others": None if others is None else json.loads(others),
    }
