"""What the page shows: one picture of the recent past, made at most once a second for all."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from anharmonic.monitor.alarms import direction_word
from anharmonic.serve.http.problems import Overloaded, ServiceError
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.stored_monitor import Outcome

__all__ = ["Snapshots"]

EVERY_SECONDS = 1.0
QUIET_SECONDS = 10.0
"""A line is sent at least this often, so that a dead connection is noticed."""
STRETCH = 20_000
"""How many events back the page looks."""
BUCKETS, ALARMS, WORST = 80, 20, 6
RATE_SECONDS = 10.0
SMALL_IS_FRAGILE = ("confidence", "margin")
"""What is watched that is small where a model is fragile."""


class Snapshots:
    """Status and snapshots of a service, and a stream of them for browsers."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline, self.watch = pipeline, pipeline.watch
        self.reading = Queries(self.watch.store, self.watch.name)
        self.streams = 0
        self.stopping = asyncio.Event()
        self._recent: deque[tuple[float, int]] = deque(maxlen=4096)
        self._made: tuple[float, tuple[int, bool], dict[str, Any]] | None = None
        self._making = asyncio.Lock()
        pipeline.listen(self._heard)

    def _heard(self, outcome: Outcome) -> None:
        self._recent.append((time.monotonic(), len(outcome.fresh)))

    def rate(self) -> float:
        """Points a second over the last ten."""
        begin = time.monotonic() - RATE_SECONDS
        return sum(many for moment, many in self._recent if moment > begin) / RATE_SECONDS

    def status(self) -> dict[str, Any]:
        """Where the service stands, from memory alone."""
        monitor, pipeline = self.watch.monitor, self.pipeline
        logs = self.watch.evidence.values()
        return {
            "model": self.watch.model,
            "version": self.watch.version,
            "columns": list(self.watch.row_schema.columns),
            "events": self.watch.sequence,
            "seen": int(monitor.seen),
            "scored": int(monitor.scored),
            "skipped": sum(monitor.skipped.values()),
            "queries": int(monitor.queries),
            "alarm": bool(monitor.alarm),
            "log_evidence": max(filter(math.isfinite, logs), default=0.0),
            "threshold": float(monitor.threshold),
            "promise": str(monitor.promise),
            "waiting": pipeline.points,
            "lag_seconds": round(pipeline.lag, 4),
            "points_per_second": round(self.rate(), 1),
            "model_answers": pipeline.health.model_answers,
            "store_answers": pipeline.health.store_answers,
        }

    async def snapshot(self) -> dict[str, Any]:
        """Everything the page shows."""
        async with self._making:
            now, last = time.monotonic(), self.watch.sequence
            state = (last, bool(self.watch.monitor.alarm))
            if self._made and now - self._made[0] < EVERY_SECONDS:
                return self._made[2]
            if not self._made or self._made[1] != state:
                past = await asyncio.to_thread(self._past, last)
            else:
                past = {name: self._made[2][name] for name in PAST}
            self._made = (now, state, {"status": self.status(), "time": time.time(), **past})
            return self._made[2]

    def _past(self, last: int) -> dict[str, Any]:
        after = max(0, last - STRETCH)
        alarms = self.reading.alarms(ALARMS)
        standing = self._standing(alarms)
        shown = self._shown(standing)
        # The first thing watched has a column of its own in the store.
        first = next(iter(self.watch.monitor.watch))
        watched = None if shown["watched"] == first else shown["watched"]
        since = standing["since"] if standing else None
        begin = max(after, (since or 1) - 1)
        worst = self.reading.worst(WORST, begin, watched, shown["smallest"])
        return {
            "shown": shown,
            "reference": self._reference(shown["watched"]),
            "history": _whole(self.reading.history(last, after, BUCKETS, watched)),
            "alarms": [{**row, "change": direction_word(row["direction"])} for row in alarms],
            "worst_since": since,
            "worst": [{**row, "point": self.watch.row_schema.named(row["point"])} for row in worst],
            "segments": self._segments(after, watched),
        }

    def _standing(self, alarms: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The alarm that the page is about: of those that stand, the first raised."""
        if not alarms or not self.watch.monitor.alarm:
            return None
        keys = {(each.watched, each.segment, each.direction) for each in self.watch.monitor.alarms}
        latest: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in alarms:
            latest.setdefault((row["watched"], row["segment"], row["direction"]), row)
        standing = [row for key, row in latest.items() if key in keys]
        return min(standing, key=lambda row: row["sequence"], default=alarms[0])

    def _shown(self, standing: dict[str, Any] | None) -> dict[str, Any]:
        """What is charted and listed: what alarmed, else the first thing watched.

        Points are listed from where it went, and by the fragile end while nothing happens.
        """
        watched = str(standing["watched"] if standing else next(iter(self.watch.monitor.watch)))
        smallest = standing["direction"] == "down" if standing else watched in SMALL_IS_FRAGILE
        return {"watched": watched, "smallest": smallest, "title": watched.capitalize()}

    def _segments(self, after: int, watched: str | None) -> list[dict[str, Any]]:
        evidence = self._by_segment()
        rows = self.reading.segments(after, watched)
        named = [
            {**row, "name": row["segment"], "log_evidence": evidence.get(row["segment"])}
            for row in rows
            if row["segment"] is not None
        ]
        rest = [
            {**row, "name": "no segment", "log_evidence": None}
            for row in rows
            if row["segment"] is None and named
        ]
        return [_together(rows, evidence.get(None)), *named, *rest] if rows else []

    def _by_segment(self) -> dict[str | None, float]:
        largest: dict[str | None, float] = {}
        for key, log in self.watch.evidence.items():
            if math.isfinite(log):
                largest[key.segment] = max(log, largest.get(key.segment, 0.0))
        return largest

    def _reference(self, watched: str) -> dict[str, float]:
        """Mean and spread of the reference's own scores."""
        scores = self.watch.monitor.reference[watched]
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
        before, sent = "", 0.0
        while not self.stopping.is_set():
            try:
                snapshot = await self.snapshot()
                text = json.dumps({**snapshot, "time": 0}, separators=(",", ":"))
            except ServiceError as problem:
                self.pipeline.health.heard(problem)
                text = json.dumps({"status": self.status()}, separators=(",", ":"))
            if text != before or time.monotonic() - sent > QUIET_SECONDS:
                before, sent = text, time.monotonic()
                yield f"data: {text}\n\n"
            try:
                async with asyncio.timeout(EVERY_SECONDS):
                    await self.stopping.wait()
            except TimeoutError:
                continue


def _together(rows: list[dict[str, Any]], log: float | None) -> dict[str, Any]:
    """All traffic, of its segments as far as they are told."""
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


def _whole(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without a last stretch that has hardly begun: a mean of few points jumps about."""
    short = len(history) > 2 and 2 * history[-1]["points"] < history[-2]["points"]
    return history[:-1] if short else history


PAST = ("shown", "reference", "history", "alarms", "worst", "worst_since", "segments")
