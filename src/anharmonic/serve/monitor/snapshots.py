"""What the dashboard shows: a snapshot of the recent past, built at most once per second."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import NamedTuple, TypedDict

from anharmonic.monitor.alarms import direction_word
from anharmonic.serve.http.problems import Overloaded, ServiceError
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.queries import AlarmRow, HistoryRow, Queries, SegmentRow
from anharmonic.serve.monitor.stored_monitor import Outcome

__all__ = ["Snapshots"]

EVERY_SECONDS = 1.0
QUIET_SECONDS = 10.0
"""A line is sent at least this often, so that a dead connection is noticed."""
EVENTS_SHOWN = 20_000
"""How many events back the page looks."""
BUCKETS, ALARMS, WORST = 80, 20, 6
RATE_SECONDS = 10.0
SMALL_IS_FRAGILE = ("confidence", "margin")
"""What is watched that is small where a model is fragile."""


class Status(TypedDict):
    """Where the service stands: the body of /v1/status."""

    model: str
    version: str
    columns: list[str]
    events: int
    seen: int
    scored: int
    skipped: int
    queries: int
    alarm: bool
    log_evidence: float
    threshold: float
    promise: str
    waiting: int
    labels_waiting: int
    lag_seconds: float
    points_per_second: float
    model_answers: bool
    store_answers: bool


class Shown(TypedDict):
    """What is charted, and which end of its values is listed."""

    watched: str
    smallest: bool
    title: str


class NamedSegment(SegmentRow):
    """A segment's summary with the name that the page shows."""

    name: str
    log_evidence: float | None


class ShownAlarm(AlarmRow):
    """An alarm with the word for its direction."""

    change: str


class Past(TypedDict):
    """What is read from the store."""

    shown: Shown
    reference: dict[str, float]
    history: list[HistoryRow]
    alarms: list[ShownAlarm]
    worst_since: int | None
    worst: list[dict[str, object]]
    segments: list[NamedSegment]


class Snapshot(Past):
    """Everything the page shows."""

    status: Status
    time: float


class Latest(NamedTuple):
    """The last snapshot: when it was built, and for which last event and alarm."""

    built: float
    state: tuple[int, bool]
    past: Past
    snapshot: Snapshot


class Snapshots:
    """Status and snapshots of a service, and a stream of them for browsers."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline, self.stored_monitor = pipeline, pipeline.stored_monitor
        self.queries = Queries(self.stored_monitor.store, self.stored_monitor.name)
        self.streams = 0
        self.stopping = asyncio.Event()
        self._recent: deque[tuple[float, int]] = deque(maxlen=4096)
        self._latest: Latest | None = None
        self._building = asyncio.Lock()
        pipeline.listen(self._count_points)

    def _count_points(self, outcome: Outcome) -> None:
        self._recent.append((time.monotonic(), len(outcome.new_events)))

    def rate(self) -> float:
        """Points per second over the last ten seconds."""
        begin = time.monotonic() - RATE_SECONDS
        return sum(count for moment, count in self._recent if moment > begin) / RATE_SECONDS

    def status(self) -> Status:
        """Where the service stands, from memory alone."""
        stored, pipeline = self.stored_monitor, self.pipeline
        monitor, logs = stored.monitor, stored.evidence.values()
        return {
            "model": stored.model,
            "version": stored.version,
            "columns": list(stored.row_schema.columns),
            "events": stored.sequence,
            "seen": int(monitor.seen),
            "scored": int(monitor.scored),
            "skipped": sum(monitor.skipped.values()),
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

    async def snapshot(self) -> Snapshot:
        """Everything the page shows."""
        async with self._building:
            now, last = time.monotonic(), self.stored_monitor.sequence
            state = (last, bool(self.stored_monitor.monitor.alarm))
            latest = self._latest
            if latest and now - latest.built < EVERY_SECONDS:
                return latest.snapshot
            # Without a new event or another alarm the queries would give the same again.
            if latest and latest.state == state:
                past = latest.past
            else:
                past = await asyncio.to_thread(self._read_past, last)
            snapshot: Snapshot = {"status": self.status(), "time": time.time(), **past}
            self._latest = Latest(now, state, past, snapshot)
            return snapshot

    def _read_past(self, last: int) -> Past:
        after = max(0, last - EVENTS_SHOWN)
        alarms = self.queries.alarms(ALARMS)
        standing = self._standing_alarm(alarms)
        shown = self._choose_shown(standing)
        # The first thing watched has a column of its own in the store.
        first = next(iter(self.stored_monitor.monitor.watch))
        watched = None if shown["watched"] == first else shown["watched"]
        since = standing["since"] if standing else None
        begin = max(after, (since or 1) - 1)
        worst = self.queries.worst(WORST, begin, watched, shown["smallest"])
        named = self.stored_monitor.row_schema.named
        return {
            "shown": shown,
            "reference": self._reference(shown["watched"]),
            "history": _without_partial(self.queries.history(last, after, BUCKETS, watched)),
            "alarms": [{**row, "change": direction_word(row["direction"])} for row in alarms],
            "worst_since": since,
            "worst": [{**row, "point": named(row["point"])} for row in worst],
            "segments": self._segments(after, watched),
        }

    def _standing_alarm(self, alarms: list[AlarmRow]) -> AlarmRow | None:
        """The alarm that the page is about: of those that stand, the first raised."""
        monitor = self.stored_monitor.monitor
        if not alarms or not monitor.alarm:
            return None
        keys = {(alarm.watched, alarm.segment, alarm.direction) for alarm in monitor.alarms}
        latest: dict[tuple[str, str | None, str], AlarmRow] = {}
        for row in alarms:
            latest.setdefault((row["watched"], row["segment"], row["direction"]), row)
        standing = [row for key, row in latest.items() if key in keys]
        return min(standing, key=lambda row: row["sequence"], default=alarms[0])

    def _choose_shown(self, standing: AlarmRow | None) -> Shown:
        """What is charted and listed: what alarmed, else the first thing watched.

        Points are listed from the end that the alarm's direction points to, and while there is
        no alarm from the fragile end.
        """
        first = next(iter(self.stored_monitor.monitor.watch))
        watched = str(standing["watched"] if standing else first)
        smallest = standing["direction"] == "down" if standing else watched in SMALL_IS_FRAGILE
        return {"watched": watched, "smallest": smallest, "title": watched.capitalize()}

    def _segments(self, after: int, watched: str | None) -> list[NamedSegment]:
        evidence = self._evidence_by_segment()
        rows = self.queries.segments(after, watched)
        named: list[NamedSegment] = [
            {**row, "name": row["segment"], "log_evidence": evidence.get(row["segment"])}
            for row in rows
            if row["segment"] is not None
        ]
        rest: list[NamedSegment] = [
            {**row, "name": "no segment", "log_evidence": None}
            for row in rows
            if row["segment"] is None and named
        ]
        return [_all_traffic(rows, evidence.get(None)), *named, *rest] if rows else []

    def _evidence_by_segment(self) -> dict[str | None, float]:
        largest: dict[str | None, float] = {}
        for key, log in self.stored_monitor.evidence.items():
            if math.isfinite(log):
                largest[key.segment] = max(log, largest.get(key.segment, 0.0))
        return largest

    def _reference(self, watched: str) -> dict[str, float]:
        """Mean and spread of the reference's own scores."""
        scores = self.stored_monitor.monitor.reference[watched]
        return {"mean": float(scores.mean()), "deviation": float(scores.std())}

    async def stream(self) -> AsyncIterator[str]:
        """Server-sent events: a snapshot whenever something has changed."""
        if self.streams >= self.pipeline.limits.streams:
            raise Overloaded("too many browsers are watching: close one")
        self.streams += 1
        try:
            async for text in self._events():
                yield text
        finally:
            self.streams -= 1

    async def _events(self) -> AsyncIterator[str]:
        last_text, sent = "", 0.0
        while not self.stopping.is_set():
            try:
                snapshot = await self.snapshot()
                # Without the time, so that a snapshot in which nothing changed is the same text.
                text = json.dumps({**snapshot, "time": 0}, separators=(",", ":"))
            except ServiceError as problem:
                self.pipeline.health.record_problem(problem)
                text = json.dumps({"status": self.status()}, separators=(",", ":"))
            if text != last_text or time.monotonic() - sent > QUIET_SECONDS:
                last_text, sent = text, time.monotonic()
                yield f"data: {text}\n\n"
            try:
                async with asyncio.timeout(EVERY_SECONDS):
                    await self.stopping.wait()
            except TimeoutError:
                continue


def _all_traffic(rows: list[SegmentRow], log: float | None) -> NamedSegment:
    """All traffic, from its segments as far as `rows` has them."""
    scored = sum(row["scored"] for row in rows)
    means = [row["scored"] * row["mean"] for row in rows if row["mean"] is not None]
    return {
        "segment": None,
        "name": "all",
        "points": sum(row["points"] for row in rows),
        "scored": scored,
        "mean": sum(means) / scored if scored else None,
        "largest": max((r["largest"] for r in rows if r["largest"] is not None), default=None),
        "smallest": min((r["smallest"] for r in rows if r["smallest"] is not None), default=None),
        "log_evidence": log,
    }


def _without_partial(history: list[HistoryRow]) -> list[HistoryRow]:
    """Without a last bucket that is less than half full: a mean of few points jumps about."""
    partial = len(history) > 2 and 2 * history[-1]["points"] < history[-2]["points"]
    return history[:-1] if partial else history
