"""Queries to a store: pages of rows, one event, summaries of the recent past."""

from __future__ import annotations

import json
import typing
from typing import Any, TypedDict

from sqlalchemy import ColumnElement, Select, cast, desc, func, select, types

from anharmonic.serve.monitor.records import Cell, LabelValue
from anharmonic.serve.monitor.schema import alarms, events, labels
from anharmonic.serve.monitor.store import Store

HEAVY = ("point", "others", "metadata", "evidences")
"""Columns of an event that a list of scores does not have."""
__all__ = ["AlarmRow", "EventRow", "HistoryRow", "LabelRow", "Queries", "ScoreRow", "SegmentRow"]


class AlarmRow(TypedDict):
    """A row of the table of alarms."""

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


class HistoryRow(Summary):
    """Consecutive events; the number and time of the last of them."""

    sequence: int
    time: float
    evidence: float | None


class Queries:
    """Queries about one monitor; the size of every result is bounded."""

    def __init__(self, store: Store, monitor: str) -> None:
        self.store, self.monitor = store, monitor
        self._own_events = events.c.monitor == monitor
        self._own_alarms = alarms.c.monitor == monitor

    def _rows(self, query: Select[Any]) -> list[Any]:
        """Rows as dictionaries; the caller's result type says which columns they have."""
        with self.store.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def alarms(self, limit: int, before: int | None = None) -> list[AlarmRow]:
        """Newest first; `before` an event's number, for the next page."""
        query = select(alarms).where(self._own_alarms)
        query = query.order_by(desc(alarms.c.sequence), alarms.c.id).limit(limit)
        return self._rows(query if before is None else query.where(alarms.c.sequence < before))

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

    def worst(
        self, count: int, after: int, watched: str | None = None, smallest: bool = False
    ) -> list[EventRow]:
        """Of the events after number `after` those with the largest or smallest values."""
        value = self._value(watched)
        query = (
            select(events, value.label("value"))
            .where(self._own_events, events.c.sequence > after, value.is_not(None))
            .order_by(value if smallest else desc(value))
            .limit(count)
        )
        return [_with_parsed_json(row) for row in self._rows(query)]

    def segments(self, after: int, watched: str | None = None, limit: int = 50) -> list[SegmentRow]:
        """Counts and values of each segment, over the events after number `after`."""
        count, value = func.count(), self._value(watched)
        query = (
            select(
                events.c.segment,
                count.label("points"),
                func.count(value).label("scored"),
                func.avg(value).label("mean"),
                func.max(value).label("largest"),
                func.min(value).label("smallest"),
            )
            .where(self._own_events, events.c.sequence > after)
            .group_by(events.c.segment)
            .order_by(desc(count))
            .limit(limit)
        )
        return self._rows(query)

    def history(
        self, last: int, after: int, buckets: int, watched: str | None = None
    ) -> list[HistoryRow]:
        """The events in (after, last] in buckets of equally many numbers."""
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
            .where(self._own_events, events.c.sequence > after, events.c.sequence <= last)
            .group_by(bucket)
            .order_by(bucket)
        )
        return self._rows(query)

    def _value(self, watched: str | None) -> ColumnElement[Any]:
        """The first thing watched has a column; all others are in one column of JSON."""
        if watched is None:
            return events.c.score
        if self.store.engine.dialect.name == "postgresql":
            return cast(cast(events.c.others, types.JSON).op("->>")(watched), types.Float)
        return func.json_extract(events.c.others, f"$.{json.dumps(watched)}")

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
        return self._rows(
            select(alarms)
            .where(self._own_alarms, alarms.c.delivered.is_(None), alarms.c.attempts < attempts)
            .order_by(alarms.c.sequence)
            .limit(100)
        )


def _with_parsed_json(row: dict[str, Any]) -> EventRow:
    row.pop("evidences", None)
    parsed = {name: row.get(name) and json.loads(row[name]) for name in ("others", "metadata")}
    event = {**row, "point": json.loads(row["point"]), **parsed}
    return typing.cast(EventRow, event)
