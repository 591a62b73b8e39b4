"""From queued requests to answers: one model call and one transaction per batch of requests.

Requests wait in a queue of bounded length. Whatever is in it becomes a batch, which is measured
in one thread and written in another, so that the model works on the next batch while the last
one is committed. A request is answered when its points are on the disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from anharmonic.errors import InputError, first_line
from anharmonic.serve.http import LogThrottle
from anharmonic.serve.http.problems import (
    BadRequest,
    ModelUnavailable,
    Overloaded,
    ServiceError,
    StoreUnavailable,
    UnstorableValue,
)
from anharmonic.serve.monitor.health import Health
from anharmonic.serve.monitor.label_queue import LabelQueue
from anharmonic.serve.monitor.metrics import Metrics
from anharmonic.serve.monitor.records import Event, EventResult, Label, LabelResult
from anharmonic.serve.monitor.retention import Retention, SteadyClock
from anharmonic.serve.monitor.settings import Limits
from anharmonic.serve.monitor.stored_monitor import EventScores, Outcome, StoredMonitor
from anharmonic.serve.monitor.threads import Worker

__all__ = ["Answer", "Pipeline"]

STOPPING_SECONDS = 3.0
T = TypeVar("T")
LOG = logging.getLogger("anharmonic.serve.monitor")


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of a request's events, in their order."""

    results: list[EventResult]
    alarm: bool


@dataclass(slots=True)
class QueuedRequest:
    """A request's events, and the answer that it waits for."""

    events: Sequence[Event]
    answer: asyncio.Future[Answer]
    since: float
    patient: bool


class Pipeline:
    """The queue of requests and what empties it; all points come through here.

    `submit` is called on the event loop, between `start` and `stop`.
    """

    def __init__(
        self,
        stored_monitor: StoredMonitor,
        metrics: Metrics,
        limits: Limits,
        retention: Retention,
    ) -> None:
        self.stored_monitor, self.metrics = stored_monitor, metrics
        self.limits, self.retention = limits, retention
        self.queue: deque[QueuedRequest] = deque()
        self.points = 0
        """Of all requests in the queue."""
        width = len(stored_monitor.row_schema.columns)
        self._most_points = min(limits.waiting_points, max(1, limits.waiting_values // width))
        self.lag = 0.0
        """Seconds from the oldest request of the last batch to its answer."""
        self._batch_seconds = 0.0
        """What the last batch took to measure."""
        self._listeners: list[Callable[[Outcome], None]] = []
        self._model_thread, self._store_thread = Worker("model"), Worker("store")
        self.health = Health(stored_monitor, limits, self._model_thread)
        self._throttle = LogThrottle()
        self._labels = LabelQueue(stored_monitor, self._store_thread, self._tell)
        self._tasks: list[asyncio.Task[None]] = []

    def listen(self, listener: Callable[[Outcome], None]) -> None:
        """Have a function called with every outcome, on the event loop."""
        self._listeners.append(listener)

    async def start(self) -> None:
        self._not_empty, self._not_patient = asyncio.Event(), asyncio.Event()
        loops = (self._run(), self._housekeep(), self._follow(), self.health.keep_probing())
        self._tasks = [*(asyncio.create_task(loop) for loop in loops), self._labels.start()]

    async def stop(self) -> None:
        """Finish what is being written; what is still queued was never acknowledged."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._refuse_all(StoreUnavailable("the service is stopping: send it again"))
        self._labels.refuse_all()
        for worker in (self._model_thread, self._store_thread):
            await asyncio.to_thread(worker.stop, STOPPING_SECONDS)

    def submit(self, events: Sequence[Event], patient: bool = False) -> asyncio.Future[Answer]:
        """Queue a request: a future of its answer, or an error where it cannot be queued.

        `patient` are those that nobody waits for: they may be gathered for longer.
        """
        if self.health.model_stuck:
            raise self._count_refused(
                ModelUnavailable("the model has not answered for a while"), len(events)
            )
        # An empty queue takes a request of any size: it could never be sent otherwise.
        if self.queue and self.points + len(events) > self._most_points:
            raise self._count_refused(
                Overloaded(f"{self.points:,} points are waiting: send them later"), len(events)
            )
        answer = asyncio.get_running_loop().create_future()
        self.queue.append(QueuedRequest(events, answer, time.monotonic(), patient))
        self.points += len(events)
        self._not_empty.set()
        if not patient or self.points >= self.limits.batch_points:
            self._not_patient.set()
        return answer

    def submit_labels(self, labels: Sequence[Label]) -> asyncio.Future[Sequence[LabelResult]]:
        """Queue labels: a future of what became of each, once they are on the disk."""
        return self._labels.submit(labels)

    async def call_monitor(self, call: Callable[[], T]) -> T:
        """The result of a call that reads the monitor, between two writes."""
        return await self._store_thread.submit(call)

    async def reset(self) -> None:
        """Clear alarms and evidence, between two batches."""
        await self._store_thread.submit(self.stored_monitor.reset)
        self.metrics.record_state()

    def _count_refused(self, fault: ServiceError, points: int) -> ServiceError:
        self.metrics.skip(fault.kind, points)
        return fault

    def _take_batch(self) -> list[QueuedRequest]:
        """Whole requests until there are enough points."""
        batch: list[QueuedRequest] = []
        count = 0
        while self.queue and (not batch or count < self.limits.batch_points):
            batch.append(self.queue.popleft())
            count += len(batch[-1].events)
        self.points -= count
        self.metrics.waiting.set(self.points)
        return batch

    async def _run(self) -> None:
        writing: asyncio.Task[None] | None = None
        while True:
            if not self.queue:
                self._not_empty.clear()
                await self._not_empty.wait()
            await self._gather()
            requests = self._take_batch()
            begun = time.monotonic()
            try:
                if self.health.store_unavailable:
                    # Do not spend model calls on what could not be written.
                    await self._store_thread.submit(self.stored_monitor.store.probe)
                    self.health.store_unavailable = False
                measured = await self._measure(requests)
                self._batch_seconds = time.monotonic() - begun
                # One batch is measured while the one before it is written, never more.
                if writing is not None:
                    await writing
                writing = asyncio.create_task(self._commit_measured(measured)) if measured else None
            except asyncio.CancelledError:
                if writing is not None:
                    await asyncio.wait([writing])
                raise
            except Exception as problem:
                self.health.record_problem(problem)
                self._refuse(requests, self._as_service_error(problem))

    async def _gather(self) -> None:
        """Wait for more requests: a batch costs nearly as much as its first point.

        No request waits longer for it than the last batch took to measure, nor than the limit.
        """
        if all(request.patient for request in self.queue):
            self._not_patient.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.limits.patience_seconds):
                    await self._not_patient.wait()
        pause = min(self._batch_seconds, self.limits.gather_seconds)
        if self.queue and self.points < self.limits.batch_points:
            await asyncio.sleep(pause - (time.monotonic() - self.queue[0].since))

    async def _measure(
        self, requests: list[QueuedRequest]
    ) -> list[tuple[list[QueuedRequest], EventScores]]:
        """Scores; a request that the model cannot take does not spoil the others.

        Where a batch fails it is halved until the requests at fault are alone.
        """
        begun = time.perf_counter()
        try:
            events = [event for request in requests for event in request.events]
            scores = await self.health.call_model(lambda: self.stored_monitor.measure(events))
        except ModelUnavailable:
            self._refuse_all(ModelUnavailable("the model does not answer: try again later"))
            raise
        except Exception as problem:
            self._log_problem(problem)
            # Whose fault it is, the model's or the points', shows at a point of the reference.
            if not await self.health.probe_model():
                raise ModelUnavailable("the model fails: try again later") from problem
            if len(requests) == 1:
                self._refuse(requests, _as_bad_request(problem))
                return []
            middle = len(requests) // 2
            first, second = requests[:middle], requests[middle:]
            return [*await self._measure(first), *await self._measure(second)]
        self.health.model_failing = False
        self.metrics.record_seconds(time.perf_counter() - begun)
        return [(requests, scores)]

    async def _commit_measured(
        self, measured: list[tuple[list[QueuedRequest], EventScores]]
    ) -> None:
        """Put the parts of a batch that were measured together again, and commit it."""
        requests = [request for part, _ in measured for request in part]
        parts = [scores for _, scores in measured]
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        await self._commit(requests, whole)

    async def _commit(self, requests: list[QueuedRequest], scores: EventScores) -> None:
        """All of it in one transaction; a request that cannot be observed or stored is left out.

        Which one that is, is found by halving.
        """
        events = [event for request in requests for event in request.events]
        try:
            outcome = await self._store_thread.submit(
                lambda: self.stored_monitor.commit(events, scores)
            )
        except Exception as problem:
            at_fault = isinstance(problem, UnstorableValue) or not isinstance(problem, ServiceError)
            if not at_fault:
                self.health.record_problem(problem)
                self._refuse(requests, self._as_service_error(problem))
                return
            if len(requests) == 1:
                self._log_problem(problem)
                self._refuse(requests, _as_bad_request(problem))
                return
            middle = len(requests) // 2
            cut = sum(len(request.events) for request in requests[:middle])
            await self._commit(requests[:middle], {name: v[:cut] for name, v in scores.items()})
            await self._commit(requests[middle:], {name: v[cut:] for name, v in scores.items()})
            return
        self.lag = time.monotonic() - requests[0].since
        _answer(requests, outcome)
        self._tell(outcome)

    def _tell(self, outcome: Outcome) -> None:
        for listener in self._listeners:
            listener(outcome)

    def _refuse(self, requests: Sequence[QueuedRequest], fault: ServiceError) -> None:
        self.metrics.skip(fault.kind, sum(len(request.events) for request in requests))
        for request in requests:
            if not request.answer.done():
                request.answer.set_exception(fault)
                # Mark it as retrieved: asyncio would log it for a client that has hung up.
                request.answer.exception()

    def _refuse_all(self, fault: ServiceError) -> None:
        requests, self.points = list(self.queue), 0
        self.queue.clear()
        self._refuse(requests, fault)

    async def _follow(self) -> None:
        """Show what other services of the store have come to, also while no request comes here."""
        while True:
            await asyncio.sleep(self.limits.probing_seconds)
            try:
                if await self._store_thread.submit(self.stored_monitor.catch_up):
                    self.metrics.record_state()
            except Exception as problem:
                self.health.record_problem(problem)
                self._log_problem(problem)

    async def _housekeep(self) -> None:
        """Delete what is too old, a chunk at a time between the writes."""
        if self.retention == Retention():
            return
        clock, stored_monitor = SteadyClock(), self.stored_monitor
        while True:
            try:
                deleted = await self._store_thread.submit(
                    lambda: self.retention.apply(
                        stored_monitor.store, stored_monitor.name, clock.now()
                    )
                )
                if deleted:
                    await self._store_thread.submit(stored_monitor.count_waiting_labels)
            except StoreUnavailable:
                deleted = 0
            except Exception:
                LOG.exception("old events could not be forgotten")
                deleted = 0
            await asyncio.sleep(0.05 if deleted else self.limits.housekeeping_seconds)

    def _as_service_error(self, problem: Exception) -> ServiceError:
        """The answer to a client: our own errors as they are, of others only that there is one."""
        if isinstance(problem, ServiceError):
            return problem
        self._log_problem(problem)
        return ModelUnavailable("the batch failed: see the service's log")

    def _log_problem(self, problem: Exception) -> None:
        """A model's own message is for those who run the service, not for clients."""
        if times := self._throttle.due(type(problem).__name__):
            about = first_line(problem)
            LOG.warning("a batch failed (%s: %s; %d times)", type(problem).__name__, about, times)
            LOG.debug("in detail", exc_info=problem)


def _as_bad_request(problem: Exception) -> ServiceError:
    """The answer to points at which the model or the monitor fails while it takes others."""
    if isinstance(problem, ServiceError):
        return problem
    if isinstance(problem, InputError):
        return BadRequest(first_line(problem))
    return BadRequest("one of these points cannot be taken: see the service's log")


def _answer(requests: list[QueuedRequest], outcome: Outcome) -> None:
    """Give each request its results; of one id in several requests the first was new."""
    earlier: set[str] = set()
    for request in requests:
        ids = [event.id for event in request.events]
        if not request.answer.done():
            results = [outcome.results[id] for id in ids]
            if earlier and not earlier.isdisjoint(ids):
                results = [replace(r, duplicate=True) if r.id in earlier else r for r in results]
            request.answer.set_result(Answer(results, outcome.alarm))
        earlier.update(ids)
