"""A monitor as pages see it: one that this process feeds, or one that it only has the store of."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from typing import Any, Protocol, TypedDict

from sqlalchemy import select

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.records import Cell
from anharmonic.serve.monitor.schema import events, monitors
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import Outcome
from anharmonic.serve.monitor.summaries import Summary, read_summary

__all__ = ["LiveView", "Status", "StoredView", "View", "named_point"]

RATE_SECONDS = 10.0
NOTHING_USUAL: Summary = {
    "watch": ["gamma"],
    "threshold": 0.0,
    "promise": "",
    "scores": {},
    "columns": {},
}
"""Of a monitor whose store was last written by an older version."""


class Status(TypedDict, total=False):
    """Where a monitor stands: the body of /v1/status.

    One that another process feeds has no more than the first eight.
    """

    model: str
    version: str
    live: bool
    columns: list[str]
    events: int
    alarm: bool
    log_evidence: float
    threshold: float
    promise: str
    seen: int
    scored: int
    skipped: int
    skipped_by_reason: dict[str, int]
    queries: int
    waiting: int
    labels_waiting: int
    lag_seconds: float
    points_per_second: float
    model_answers: bool
    store_answers: bool


class View(Protocol):
    """What pages need of a monitor besides the rows of its store."""

    name: str
    queries: Queries

    @property
    def live(self) -> bool: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def summary(self) -> Summary: ...
    @property
    def state(self) -> tuple[object, ...]: ...
    @property
    def last(self) -> int: ...
    @property
    def evidence(self) -> dict[str, float]: ...
    @property
    def segment_evidence(self) -> dict[str | None, float]: ...
    def status(self) -> Status: ...


class LiveView:
    """The monitor of this process, from memory."""

    live = True

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline, self.stored_monitor = pipeline, pipeline.stored_monitor
        self.name = self.stored_monitor.name
        self.queries = Queries(self.stored_monitor.store, self.name)
        self.acknowledged = 0
        """Acknowledgements by this process: they change what is shown and not the monitor."""
        self._recent: deque[tuple[float, int]] = deque(maxlen=4096)
        pipeline.listen(self._count_points)

    def _count_points(self, outcome: Outcome) -> None:
        self._recent.append((time.monotonic(), len(outcome.new_events)))

    def rate(self) -> float:
        """Points per second over the last ten seconds."""
        begin = time.monotonic() - RATE_SECONDS
        return sum(count for moment, count in self._recent if moment > begin) / RATE_SECONDS

    @property
    def columns(self) -> list[str]:
        return list(self.stored_monitor.row_schema.columns)

    @property
    def summary(self) -> Summary:
        return self.stored_monitor.summary

    @property
    def state(self) -> tuple[object, ...]:
        """Changes whenever what the store has of this monitor does."""
        return (self.stored_monitor.sequence, self.stored_monitor.revision, self.acknowledged)

    @property
    def last(self) -> int:
        """The number of the last event."""
        return self.stored_monitor.sequence

    @property
    def evidence(self) -> dict[str, float]:
        """The largest log evidence of each thing watched."""
        largest: dict[str, float] = {}
        for key, log in self.stored_monitor.evidence.items():
            if math.isfinite(log):
                largest[key.watched] = max(log, largest.get(key.watched, -math.inf))
        return largest

    @property
    def segment_evidence(self) -> dict[str | None, float]:
        """The largest log evidence in each segment, None for all traffic."""
        largest: dict[str | None, float] = {}
        for key, log in self.stored_monitor.evidence.items():
            if math.isfinite(log):
                largest[key.segment] = max(log, largest.get(key.segment, 0.0))
        return largest

    def status(self) -> Status:
        """Where the service stands, from memory alone."""
        stored, pipeline = self.stored_monitor, self.pipeline
        monitor, logs = stored.monitor, stored.evidence.values()
        return {
            "model": stored.model,
            "version": stored.version,
            "live": True,
            "columns": self.columns,
            "events": stored.sequence,
            "seen": int(monitor.seen),
            "scored": int(monitor.scored),
            "skipped": sum(monitor.skipped.values()),
            "skipped_by_reason": dict(monitor.skipped),
            "queries": int(monitor.queries),
            "alarm": bool(monitor.alarm),
            "log_evidence": max(filter(math.isfinite, logs), default=0.0),
            "threshold": float(monitor.threshold),
            "promise": str(monitor.promise),
            "waiting": pipeline.points,
            "labels_waiting": stored.waiting_labels,
            "lag_seconds": round(pipeline.lag, 4),
            "points_per_second": round(self.rate(), 1),
            "model_answers": pipeline.health.model_answers,
            "store_answers": pipeline.health.store_answers,
        }


class StoredView:
    """A monitor as the store has it, read once: whoever feeds it may be elsewhere."""

    live = False

    def __init__(self, store: Store, name: str) -> None:
        self.name, self.queries = name, Queries(store, name)
        query = select(monitors).where(monitors.c.name == name)
        with store.reading() as connection:
            row: Any = connection.execute(query).first()
        if row is None:
            raise BadRequest(f"no model {name[:80]!r} is in the store", status=404, kind="absent")
        self.last = int(row.sequence)
        self.columns: list[str] = json.loads(row.columns) if row.columns else []
        self.summary = read_summary(row.summary) or NOTHING_USUAL
        self.state: tuple[object, ...] = (row.sequence, row.revision)
        self._log_evidence = row.log_evidence
        self.segment_evidence: dict[str | None, float] = {}
        self.evidence = self._read_evidence()

    def _read_evidence(self) -> dict[str, float]:
        newest = (
            select(events.c.evidences)
            .where(events.c.monitor == self.name, events.c.sequence == self.last)
            .limit(1)
        )
        for row in self.queries.rows(newest):
            if row["evidences"]:
                stored: dict[str, float] = json.loads(row["evidences"])
                return stored
        return dict.fromkeys(self.summary["watch"][:1], float(self._log_evidence or 0.0))

    def status(self) -> Status:
        """What the store says."""
        model, _, version = self.name.rpartition("@")
        return {
            "model": model or self.name,
            "version": version,
            "live": False,
            "columns": self.columns,
            "events": self.last,
            "alarm": bool(self.queries.standing(1)),
            "log_evidence": float(self._log_evidence or 0.0),
            "threshold": self.summary["threshold"],
            "promise": self.summary["promise"],
        }


def named_point(columns: list[str], values: list[Cell]) -> dict[str, Cell]:
    """A point with its columns' names, or numbers where they are not known."""
    names = columns if len(columns) == len(values) else [str(i) for i in range(len(values))]
    return dict(zip(names, values, strict=True))
