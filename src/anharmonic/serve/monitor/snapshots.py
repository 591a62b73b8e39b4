"""What the dashboard shows: a snapshot of the recent past, built at most once per second."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import NamedTuple

from anharmonic.serve.http.problems import Overloaded, ServiceError
from anharmonic.serve.monitor.history import Axis
from anharmonic.serve.monitor.past import Past, read_past
from anharmonic.serve.monitor.pipeline import Pipeline
from anharmonic.serve.monitor.views import LiveView, Status, StoredView, View

__all__ = ["Snapshot", "Snapshots"]

EVERY_SECONDS = 1.0
QUIET_SECONDS = 10.0
"""A line is sent at least this often, so that a dead connection is noticed."""
STALE_SECONDS = 10.0
"""What is shown is read again after this even if nothing came: others write to the store too."""
SHARE = 0.1
"""Of one processor's time that reading for the page may take, while events come."""
MOST_KEPT = 24
"""Snapshots in memory: three axes of a few models."""


class Snapshot(Past):
    """Everything the page shows."""

    status: Status
    time: float


class Latest(NamedTuple):
    """The last snapshot: when it was built and read, how long that is enough, of which state."""

    built: float
    read: float
    enough: float
    state: tuple[object, ...]
    past: Past
    snapshot: Snapshot


class Snapshots:
    """Status and snapshots of a service and of its store's other models, and streams of them."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.store = pipeline.stored_monitor.store
        self.live = LiveView(pipeline)
        self.queries = self.live.queries
        self.streams = 0
        self.stopping = asyncio.Event()
        self._latest: OrderedDict[tuple[str, Axis], Latest] = OrderedDict()
        self._building = asyncio.Lock()

    def status(self) -> Status:
        """Where the service stands, from memory alone."""
        return self.live.status()

    def view(self, model: str | None) -> View:
        """The monitor of this name, this process's own if none is given; reads the store."""
        if model is None or model == self.live.name:
            return self.live
        return StoredView(self.store, model)

    async def snapshot(self, axis: Axis = "number", model: str | None = None) -> Snapshot:
        """Everything the page shows, of one model along one axis."""
        key = (model or self.live.name, axis)
        async with self._building:
            now, latest = time.monotonic(), self._latest.get(key)
            if latest and now - latest.built < latest.enough:
                return latest.snapshot
            view = await self._opened(model)
            state, read, enough = view.state, now, EVERY_SECONDS
            # Without a new event or another alarm the queries would give the same again.
            if latest and latest.state == state and now - latest.read < STALE_SECONDS:
                past, read = latest.past, latest.read
            else:
                past = await asyncio.to_thread(read_past, view, axis)
                enough = max(EVERY_SECONDS, (time.monotonic() - now) / SHARE)
            status = view.status() if view.live else await asyncio.to_thread(view.status)
            snapshot: Snapshot = {"status": status, "time": time.time(), **past}
            self._keep(key, Latest(now, read, enough, state, past, snapshot))
            return snapshot

    async def _opened(self, model: str | None) -> View:
        if model is None or model == self.live.name:
            return self.live
        return await asyncio.to_thread(self.view, model)

    def _keep(self, key: tuple[str, Axis], latest: Latest) -> None:
        self._latest[key] = latest
        self._latest.move_to_end(key)
        while len(self._latest) > MOST_KEPT:
            self._latest.popitem(last=False)

    async def stream(self, axis: Axis = "number", model: str | None = None) -> AsyncIterator[str]:
        """Server-sent events: a snapshot whenever something has changed."""
        if self.streams >= self.pipeline.limits.streams:
            raise Overloaded("too many browsers are watching: close one")
        self.streams += 1
        try:
            # A model that is not there is an answer with a status, not a line of the stream.
            await self._opened(model)
            async for text in self._events(axis, model):
                yield text
        finally:
            self.streams -= 1

    async def _events(self, axis: Axis, model: str | None) -> AsyncIterator[str]:
        last_text, sent = "", 0.0
        while not self.stopping.is_set():
            try:
                snapshot = await self.snapshot(axis, model)
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
