"""What the page shows: one picture of the recent past, made at most once a second for all."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from anharmonic.service.faults import Overloaded, ServiceError
from anharmonic.service.pipeline import Pipeline
from anharmonic.service.reading import Reading
from anharmonic.service.watching import Outcome

__all__ = ["Live"]

EVERY_SECONDS = 1.0
QUIET_SECONDS = 10.0
"""A line is sent at least this often, so that a dead connection is noticed."""
STRETCH = 20_000
"""How many events back the page looks."""
BUCKETS, ALARMS, WORST = 80, 20, 6
RATE_SECONDS = 10.0


class Live:
    """Status and snapshots of a service, and a stream of them for browsers."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline, self.watch = pipeline, pipeline.watch
        self.reading = Reading(self.watch.store)
        self.streams = 0
        self.stopping = asyncio.Event()
        self._recent: deque[tuple[float, int]] = deque(maxlen=4096)
        self._made: tuple[float, int, dict[str, Any]] | None = None
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
            "columns": list(self.watch.form.columns),
            "events": self.watch.sequence,
            "seen": int(monitor.seen),
            "scored": int(monitor.scored),
            "skipped": sum(monitor.skipped.values()),
            "queries": int(monitor.queries),
            "alarm": bool(monitor.alarm),
            "log_evidence": max(filter(math.isfinite, logs), default=0.0),
            "threshold": float(monitor.threshold),
            "waiting": pipeline.points,
            "lag_seconds": round(pipeline.lag, 4),
            "points_per_second": round(self.rate(), 1),
            "model_answers": not pipeline.stuck,
            "store_answers": not pipeline.store_away,
        }

    async def snapshot(self) -> dict[str, Any]:
        """Everything the page shows."""
        async with self._making:
            now, last = time.monotonic(), self.watch.sequence
            if self._made and now - self._made[0] < EVERY_SECONDS:
                return self._made[2]
            if not self._made or self._made[1] != last:
                past = await asyncio.to_thread(self._past, last)
            else:
                past = {name: self._made[2][name] for name in PAST}
            self._made = (now, last, {"status": self.status(), "time": time.time(), **past})
            return self._made[2]

    def _past(self, last: int) -> dict[str, Any]:
        after = max(0, last - STRETCH)
        form, evidence = self.watch.form, self._by_segment()
        alarms = self.reading.alarms(ALARMS)
        since = alarms[-1]["since"] if alarms and self.watch.monitor.alarm else None
        worst = self.reading.worst(WORST, max(after, (since or 1) - 1))
        return {
            "reference": self._reference(),
            "history": _whole(self.reading.history(last, after, BUCKETS)),
            "alarms": alarms,
            "worst_since": since,
            "worst": [{**row, "point": form.named(row["point"])} for row in worst],
            "segments": [
                {**row, "log_evidence": evidence.get(row["segment"])}
                for row in self.reading.segments(after)
            ],
        }

    def _by_segment(self) -> dict[str | None, float]:
        largest: dict[str | None, float] = {}
        for key, log in self.watch.evidence.items():
            if math.isfinite(log):
                largest[key.segment] = max(log, largest.get(key.segment, 0.0))
        return largest

    def _reference(self) -> dict[str, float]:
        """Mean and spread of the reference's own scores."""
        scores = next(iter(self.watch.monitor.reference.values()))
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
            except ServiceError:
                text = json.dumps({"status": self.status()}, separators=(",", ":"))
            if text != before or time.monotonic() - sent > QUIET_SECONDS:
                before, sent = text, time.monotonic()
                yield f"data: {text}\n\n"
            try:
                await asyncio.wait_for(self.stopping.wait(), EVERY_SECONDS)
            except TimeoutError:
                continue


def _whole(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without a last stretch that has hardly begun: a mean of few points jumps about."""
    short = len(history) > 2 and 2 * history[-1]["points"] < history[-2]["points"]
    return history[:-1] if short else history


PAST = ("reference", "history", "alarms", "worst", "worst_since", "segments")
