"""The recent past in a few dozen buckets: scores and evidence of each thing watched.

Scores and evidence are downsampled here, by the database, so that a page gets as much for a
million events as for a hundred. The axis is the events' numbers, when they arrived, or their own
times. By number and arrival, buckets are of consecutive events. By their own times, late events
belong to an earlier bucket; evidence, which is about the order of arrival, then stands at the
newest time that had been seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from sqlalchemy import ColumnElement, case, cast, func, select, types

from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.schema import events

__all__ = ["AXES", "Axis", "Bucket", "Curves", "Series", "read_curves"]

Axis = Literal["number", "time", "received"]
AXES: tuple[Axis, ...] = ("number", "time", "received")
SAMPLE = 2_000
"""Times that the range of the axis is taken from."""
OUTLIERS = 0.005
"""The share at each end that may lie far outside it: clocks that are wrong."""


class Bucket(TypedDict):
    """Some events: where they are on the axis, the last one's number, times, how many."""

    x: float
    sequence: int
    time: float
    received: float
    points: int
    scored: int


class Series(TypedDict):
    """One thing watched: values for each of the buckets, evidence for each of the steps."""

    means: list[float | None]
    largest: list[float | None]
    smallest: list[float | None]
    evidence: list[float | None]


class Curves(TypedDict):
    """Buckets of scores, steps of evidence, and the series over both by name.

    `outside` are events whose own time lies far from all others': they are in no bucket.
    """

    axis: Axis
    buckets: list[Bucket]
    steps: list[Bucket]
    series: dict[str, Series]
    outside: int


def read_curves(
    queries: Queries,
    watch: Sequence[str],
    names: Sequence[str],
    span: tuple[int, int],
    count: int,
    axis: Axis = "number",
    alone: bool = False,
    segment: str | None = None,
) -> Curves:
    """The events with numbers in `span`, both ends included, in about `count` buckets.

    Parameters
    ----------
    queries
        Of the monitor.
    watch
        Everything that it scores, the first first: that has a column of its own.
    names
        What to read, of these or of what has evidence only.
    span
        The numbers of the first and the last event.
    count
        How many buckets.
    axis
        What they are along.
    alone
        Whether nothing else has evidence, so that all of it is that of the one name.
    segment
        Whose scores to read, if not those of all.
    """
    reader = _Reader(queries, list(watch), list(names), alone, segment)
    low, high = span
    width = max(1, -(-(high - low + 1) // count))
    own = (events.c.monitor == queries.monitor, events.c.sequence.between(low, high))
    steps = reader.read(own, events.c.sequence // width, evidence=True, scores=axis != "time")
    if axis != "time":
        for row in steps:
            row["x"] = row["sequence"] if axis == "number" else row["received"]
        _make_monotone(steps)
        return reader.curves(axis, _without_partial(steps), steps, 0)
    first, last = _time_range(queries, own, low, high)
    # A little more than the range, so that its end is in the last bucket and not after it.
    seconds = max(1.0001 * (last - first) / count, 1e-6)
    within = (*own, events.c.time >= first, events.c.time <= last)
    buckets = reader.read(
        within, reader.whole((events.c.time - first) / seconds), evidence=False, scores=True
    )
    for row in buckets:
        row["x"] = row["time"]
    for row in steps:
        row["x"] = min(max(row["time"], first), last)
    _make_monotone(steps)
    outside = sum(row["points"] for row in steps) - sum(row["points"] for row in buckets)
    return reader.curves(axis, buckets, steps, outside)


class _Reader:
    """Reads buckets of events with the values and the evidence of some things watched."""

    def __init__(
        self,
        queries: Queries,
        watch: list[str],
        names: list[str],
        alone: bool,
        segment: str | None,
    ) -> None:
        self.queries, self.watch, self.names = queries, watch, names
        self.alone, self.segment = alone, segment

    def whole(self, quotient: ColumnElement[Any]) -> ColumnElement[Any]:
        """A number from 0 on without its fraction; a cast cuts it off in SQLite only."""
        if self.queries.store.engine.dialect.name == "postgresql":
            quotient = func.floor(quotient)
        return cast(quotient, types.BigInteger)

    def read(
        self, where: Sequence[ColumnElement[bool]], bucket: Any, evidence: bool, scores: bool
    ) -> list[dict[str, Any]]:
        columns: list[Any] = [
            func.max(events.c.sequence).label("sequence"),
            func.max(events.c.time).label("time"),
            func.max(events.c.received).label("received"),
            func.count().label("points"),
            func.count(self._of_segment(events.c.score)).label("scored"),
        ]
        for index, name in enumerate(self.names):
            if scores and name in self.watch:
                column = None if name == self.watch[0] else name
                value = self._of_segment(self.queries.value(column))
                columns += [
                    func.avg(value).label(f"mean_{index}"),
                    func.max(value).label(f"largest_{index}"),
                    func.min(value).label(f"smallest_{index}"),
                ]
            if evidence:
                columns.append(func.max(self._evidence(name)).label(f"evidence_{index}"))
        query = select(*columns).where(*where).group_by(bucket).order_by(bucket)
        return self.queries.rows(query)

    def _of_segment(self, value: ColumnElement[Any]) -> ColumnElement[Any]:
        return value if self.segment is None else case((events.c.segment == self.segment, value))

    def _evidence(self, name: str) -> ColumnElement[Any]:
        """Of one thing watched all evidence is its own; of several it is in a column of JSON."""
        return events.c.evidence if self.alone else self.queries.in_json(events.c.evidences, name)

    def curves(
        self,
        axis: Axis,
        buckets: list[dict[str, Any]],
        steps: list[dict[str, Any]],
        outside: int,
    ) -> Curves:
        series: dict[str, Series] = {}
        for index, name in enumerate(self.names):
            series[name] = {
                "means": [_digits(row.get(f"mean_{index}")) for row in buckets],
                "largest": [_digits(row.get(f"largest_{index}")) for row in buckets],
                "smallest": [_digits(row.get(f"smallest_{index}")) for row in buckets],
                "evidence": [_digits(row.get(f"evidence_{index}")) for row in steps],
            }
        return {
            "axis": axis,
            "buckets": [_bucket(row) for row in buckets],
            "steps": [_bucket(row) for row in steps],
            "series": series,
            "outside": outside,
        }


def _bucket(row: dict[str, Any]) -> Bucket:
    return {
        "x": row["x"],
        "sequence": row["sequence"],
        "time": row["time"],
        "received": row["received"],
        "points": row["points"],
        "scored": row["scored"],
    }


def _digits(value: float | None) -> float | None:
    """A number in six digits: what a chart needs, in half the bytes."""
    return None if value is None else float(f"{value:.6g}")


def _make_monotone(rows: list[dict[str, Any]]) -> None:
    """A clock that was put back, and late events, must not make a curve run backwards."""
    newest = float("-inf")
    for row in rows:
        newest = row["x"] = max(row["x"], newest)


def _time_range(
    queries: Queries, own: Sequence[ColumnElement[bool]], low: int, high: int
) -> tuple[float, float]:
    """From the earliest to the latest time, without the few that lie far from all others."""
    step = max(1, (high - low) // SAMPLE)
    sampled = select(events.c.time).where(*own, events.c.sequence % step == low % step)
    times = sorted(row["time"] for row in queries.rows(sampled.limit(2 * SAMPLE)))
    ends = select(func.min(events.c.time).label("first"), func.max(events.c.time).label("last"))
    (row,) = queries.rows(ends.where(*own))
    if not times or row["first"] is None:
        return 0.0, 0.0
    cut = int(OUTLIERS * len(times)) if len(times) >= 1 / OUTLIERS else int(len(times) > 20)
    first, last = times[cut], times[-1 - cut]
    room = max(last - first, 1.0)
    return max(row["first"], first - room), min(row["last"], last + room)


def _without_partial(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without a last bucket that is less than half full: a mean of few points jumps about."""
    partial = len(rows) > 2 and 2 * rows[-1]["points"] < rows[-2]["points"]
    return rows[:-1] if partial else rows
