"""Queries to a store: pages of rows, one event, summaries of the recent past."""

from __future__ import annotations

import json
import typing
from collections.abc import Sequence
from typing import Any, TypedDict

from sqlalchemy import ColumnElement, Select, cast, desc, func, null, select, types

from anharmonic.serve.monitor.records import Cell, LabelValue
from anharmonic.serve.monitor.schema import alarms, events, labels
from anharmonic.serve.monitor.store import Store

HEAVY = ("point", "others", "metadata", "evidences")
"""Columns of an event that a list of scores does not have."""
__all__ = ["AlarmRow", "EventRow", "LabelRow", "Queries", "ScoreRow", "SegmentRow"]


class AlarmRow(TypedDict):
    """A row of the table of alarms; `words` and `carriers` as the monitor said them."""

    id: str
    sequence: int
    monitor: str
    time: float
    watched: str
    segment: str | None
    direction: str
    since: int
    log_evidence: float
    threshold: float
    attempts: int
    delivered: float | None
    remark: str | None
    cleared: float | None
    acknowledged: float | None
    acknowledged_by: str | None
    note: str | None
    words: str | None
    carriers: list[str]


class ScoreRow(TypedDict):
    """A row of the table of events without its point."""

    monitor: str
    sequence: int
    id: str
    time: float
    received: float
    segment: str | None
    score: float | None
    evidence: float | None


class EventRow(ScoreRow):
    """A row of the table of events with its point and the scores of what else is watched."""

    point: list[Cell]
    others: dict[str, float | None] | None
    metadata: dict[str, float | str] | None


class LabelRow(TypedDict):
    """What turned out to be true of an event, when, and when that was heard."""

    value: LabelValue
    time: float | None
    received: float


class Summary(TypedDict):
    """Values of what is watched, over some events."""

    points: int
    mean: float | None
    largest: float | None
    smallest: float | None


class SegmentRow(Summary):
    """The events of one segment."""

    segment: str | None
    scored: int


class Queries:
    """Queries about one monitor; the size of every result is bounded."""

    def __init__(self, store: Store, monitor: str) -> None:
        self.store, self.monitor = store, monitor
        self._own_events = events.c.monitor == monitor
        self._own_alarms = alarms.c.monitor == monitor

    def rows(self, query: Select[Any]) -> list[Any]:
        """Rows of any other query about this monitor, as dictionaries."""
        return self._rows(query)

    def _rows(self, query: Select[Any]) -> list[Any]:
        """Rows as dictionaries; the caller's result type says which columns they have."""
        with self.store.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def alarms(self, limit: int, before: int | None = None) -> list[AlarmRow]:
        """Newest first; `before` an event's number, for the next page."""
        query = select(alarms).where(self._own_alarms)
        query = query.order_by(desc(alarms.c.sequence), alarms.c.id).limit(limit)
        rows = self._rows(query if before is None else query.where(alarms.c.sequence < before))
        return [_with_details(row) for row in rows]

    def alarm(self, id: str) -> AlarmRow | None:
        """One alarm of this monitor."""
        rows = self._rows(select(alarms).where(self._own_alarms, alarms.c.id == id))
        return _with_details(rows[0]) if rows else None

    def standing(self, limit: int) -> list[AlarmRow]:
        """Alarms that nobody has cleared, the first raised first."""
        query = select(alarms).where(self._own_alarms, alarms.c.cleared.is_(None))
        query = query.order_by(alarms.c.sequence, alarms.c.id).limit(limit)
        return [_with_details(row) for row in self._rows(query)]

    def scores(self, after: int, limit: int, segment: str | None = None) -> list[ScoreRow]:
        """Events in order, from the one after `after`, without their points."""
        columns = [column for column in events.c if column.name not in HEAVY]
        query = select(*columns).where(self._own_events, events.c.sequence > after)
        if segment is not None:
            query = query.where(events.c.segment == segment)
        return self._rows(query.order_by(events.c.sequence).limit(limit))

    def point(self, id: str) -> EventRow | None:
        """One event with the point it observed."""
        rows = self._rows(select(events).where(self._own_events, events.c.id == id))
        return _with_parsed_json(rows[0]) if rows else None

    def label(self, id: str) -> LabelRow | None:
        """The label of one event, where it has come."""
        query = select(labels.c.label, labels.c.time, labels.c.received).where(
            labels.c.monitor == self.monitor, labels.c.id == id
        )
        for row in self._rows(query):
            value: LabelValue = json.loads(row["label"])
            return {"value": value, "time": row["time"], "received": row["received"]}
        return None

    def labels(self, ids: Sequence[str]) -> dict[str, LabelValue]:
        """Labels by id, of those events that have one."""
        own = (labels.c.monitor == self.monitor, labels.c.id.in_(ids))
        rows = self._rows(select(labels.c.id, labels.c.label).where(*own))
        return {row["id"]: json.loads(row["label"]) for row in rows}

    def worst(
        self,
        count: int,
        after: int,
        watched: str | None = None,
        smallest: bool = False,
        last: int | None = None,
        segment: str | None = None,
        far_from: float | None = None,
    ) -> list[EventRow]:
        """Of the events after number `after` those with the largest or smallest values.

        Up to number `last`, and of one segment, if these are given. With `far_from`, those that
        are farthest from it on either side.
        """
        value = self.value(watched)
        where = [*self._stretch(after, last), value.is_not(None)]
        if segment is not None:
            where.append(events.c.segment == segment)
        order = desc(value) if not smallest else value
        if far_from is not None:
            order = desc(func.abs(value - far_from))
        query = select(events, value.label("value")).where(*where).order_by(order).limit(count)
        return [_with_parsed_json(row) for row in self._rows(query)]

    def newest(self, count: int, last: int, segment: str | None = None) -> list[EventRow]:
        """The latest events up to number `last`, newest first."""
        where = [*self._stretch(0, last)]
        if segment is not None:
            where.append(events.c.segment == segment)
        query = select(events, null().label("value")).where(*where)
        query = query.order_by(desc(events.c.sequence)).limit(count)
        return [_with_parsed_json(row) for row in self._rows(query)]

    def _stretch(self, after: int, last: int | None) -> list[ColumnElement[bool]]:
        where = [self._own_events, events.c.sequence > after]
        return where if last is None else [*where, events.c.sequence <= last]

    def segments(
        self, after: int, watched: str | None = None, limit: int = 50, last: int | None = None
    ) -> list[SegmentRow]:
        """Counts and values of each segment, over the events after `after`, up to `last`."""
        count, value = func.count(), self.value(watched)
        query = (
            select(
                events.c.segment,
                count.label("points"),
                func.count(value).label("scored"),
                func.avg(value).label("mean"),
                func.max(value).label("largest"),
                func.min(value).label("smallest"),
            )
            .where(*self._stretch(after, last))
            .group_by(events.c.segment)
            .order_by(desc(count))
            .limit(limit)
        )
        return self._rows(query)

    def value(self, watched: str | None) -> ColumnElement[Any]:
        """The first thing watched has a column; all others are in one column of JSON."""
        return events.c.score if watched is None else self.in_json(events.c.others, watched)

    def in_json(self, column: ColumnElement[Any], name: str) -> ColumnElement[Any]:
        """The number under a name in a column that holds JSON objects."""
        if self.store.engine.dialect.name == "postgresql":
            return cast(cast(column, types.JSON).op("->>")(name), types.Float)
        return func.json_extract(column, f"$.{json.dumps(name, ensure_ascii=False)}")

    def bounds(self) -> tuple[int, int]:
        """The numbers of the oldest and the newest event, (0, 0) when there is none."""
        query = select(
            select(func.min(events.c.sequence))
            .where(self._own_events)
            .scalar_subquery()
            .label("low"),
            select(func.max(events.c.sequence))
            .where(self._own_events)
            .scalar_subquery()
            .label("high"),
        )
        row = self._rows(query)[0]
        return int(row["low"] or 0), int(row["high"] or 0)

    def undelivered(self, attempts: int) -> list[AlarmRow]:
        """Alarms that the webhook has not taken and that may be tried again, oldest first."""
        rows = self._rows(
            select(alarms)
            .where(self._own_alarms, alarms.c.delivered.is_(None), alarms.c.attempts < attempts)
            .order_by(alarms.c.sequence)
            .limit(100)
        )
        return [_with_details(row) for row in rows]


def _with_details(row: dict[str, Any]) -> AlarmRow:
    details = json.loads(row.pop("details") or "{}")
    said = {"words": details.get("words"), "carriers": details.get("carriers", [])}
    return typing.cast(AlarmRow, {**row, **said})


def _with_parsed_json(row: dict[str, Any]) -> EventRow:
    row.pop("evidences", None)
    parsed = {name: row.get(name) and json.loads(row[name]) for name in ("others", "metadata")}
    event = {**row, "point": json.loads(row["point"]), **parsed}
    return typing.cast(EventRow, event)
