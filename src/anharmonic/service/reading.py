"""What is asked of a store: pages of rows, one point, the shape of the recent past."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Select, cast, desc, func, select, types

from anharmonic.service.schema import alarms, events
from anharmonic.service.store import Store

__all__ = ["Reading"]

Row = dict[str, Any]


class Reading:
    """Questions to a store; every answer is bounded."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def _rows(self, query: Select[Any]) -> list[Row]:
        with self.store.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def alarms(self, limit: int, before: int | None = None) -> list[Row]:
        """Newest first; `before` an event's number, for the next page."""
        query = select(alarms).order_by(desc(alarms.c.sequence), alarms.c.id).limit(limit)
        return self._rows(query if before is None else query.where(alarms.c.sequence < before))

    def scores(self, after: int, limit: int, segment: str | None = None) -> list[Row]:
        """Events in order, from the one after `after`, without their points."""
        columns = [each for each in events.c if each.name not in ("point", "others")]
        query = select(*columns).where(events.c.sequence > after)
        if segment is not None:
            query = query.where(events.c.segment == segment)
        return self._rows(query.order_by(events.c.sequence).limit(limit))

    def point(self, id: str) -> Row | None:
        """One event with the point it observed."""
        found = self._rows(select(events).where(events.c.id == id))
        return _opened(found[0]) if found else None

    def worst(self, count: int, after: int) -> list[Row]:
        """The events with the largest scores after one."""
        query = (
            select(events)
            .where(events.c.sequence > after, events.c.score.is_not(None))
            .order_by(desc(events.c.score))
            .limit(count)
        )
        return [_opened(row) for row in self._rows(query)]

    def segments(self, after: int, limit: int = 50) -> list[Row]:
        """Points, scored points and mean score of each segment after an event."""
        many = func.count()
        query = (
            select(
                events.c.segment,
                many.label("points"),
                func.count(events.c.score).label("scored"),
                func.avg(events.c.score).label("mean"),
                func.max(events.c.score).label("largest"),
            )
            .where(events.c.sequence > after)
            .group_by(events.c.segment)
            .order_by(desc(many))
            .limit(limit)
        )
        return self._rows(query)

    def history(self, last: int, after: int, buckets: int) -> list[Row]:
        """The events in (after, last] cut into stretches of equal length."""
        width = max(1, -(-(last - after) // buckets))
        bucket = cast(events.c.sequence / width, types.BigInteger)
        query = (
            select(
                func.max(events.c.sequence).label("sequence"),
                func.max(events.c.time).label("time"),
                func.count().label("points"),
                func.avg(events.c.score).label("mean"),
                func.max(events.c.score).label("largest"),
                func.max(events.c.evidence).label("evidence"),
            )
            .where(events.c.sequence > after)
            .group_by(bucket)
            .order_by(bucket)
        )
        return self._rows(query)

    def bounds(self) -> tuple[int, int]:
        """The numbers of the oldest and the newest event, (0, 0) when there is none."""
        query = select(
            select(func.min(events.c.sequence)).scalar_subquery().label("low"),
            select(func.max(events.c.sequence)).scalar_subquery().label("high"),
        )
        row = self._rows(query)[0]
        return int(row["low"] or 0), int(row["high"] or 0)

    def undelivered(self, attempts: int) -> list[Row]:
        """Alarms that the webhook has not taken and that may be tried again, oldest first."""
        return self._rows(
            select(alarms)
            .where(alarms.c.delivered.is_(None), alarms.c.attempts < attempts)
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
