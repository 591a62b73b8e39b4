"""Labels on their way to the store: what waits is written in one transaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anharmonic.errors import AnharmonicError, first_line
from anharmonic.serve.http.problems import (
    BadRequest,
    Overloaded,
    ServiceError,
    StoreUnavailable,
    UnstorableValue,
)
from anharmonic.serve.monitor.records import Label, LabelResult
from anharmonic.serve.monitor.stored_monitor import Outcome, StoredMonitor
from anharmonic.serve.monitor.threads import Worker

__all__ = ["LabelQueue"]

LOG = logging.getLogger("anharmonic.serve.monitor")
MOST_WAITING = 50_000
MOST_IN_BATCH = 10_000


@dataclass(slots=True)
class QueuedLabels:
    """A request's labels, and the answer that it waits for."""

    labels: Sequence[Label]
    answer: asyncio.Future[Sequence[LabelResult]]


class LabelQueue:
    """Requests with labels, which are written between batches of events.

    Parameters
    ----------
    stored_monitor
        What takes the labels.
    store_thread
        The thread that writes events.
    on_outcome
        Is called with what a transaction brought, on the event loop.
    """

    def __init__(
        self,
        stored_monitor: StoredMonitor,
        store_thread: Worker,
        on_outcome: Callable[[Outcome], None],
    ) -> None:
        self.stored_monitor, self._store_thread = stored_monitor, store_thread
        self._on_outcome = on_outcome
        self._queue: list[QueuedLabels] = []
        self._waiting = 0

    def start(self) -> asyncio.Task[None]:
        """The task that empties the queue."""
        self._not_empty = asyncio.Event()
        return asyncio.create_task(self._run())

    def submit(self, labels: Sequence[Label]) -> asyncio.Future[Sequence[LabelResult]]:
        """Queue a request: a future of what became of its labels."""
        if self._queue and self._waiting + len(labels) > MOST_WAITING:
            raise Overloaded(f"{self._waiting:,} labels are waiting: send them later")
        answer = asyncio.get_running_loop().create_future()
        self._queue.append(QueuedLabels(labels, answer))
        self._waiting += len(labels)
        self._not_empty.set()
        return answer

    def refuse_all(self) -> None:
        """Answer what is queued: the service is stopping."""
        requests, self._queue, self._waiting = self._queue, [], 0
        for request in requests:
            _refuse(request, StoreUnavailable("the service is stopping: send it again"))

    async def _run(self) -> None:
        while True:
            self._not_empty.clear()
            if not self._queue:
                await self._not_empty.wait()
            await self._write(self._take())

    def _take(self) -> list[QueuedLabels]:
        """Whole requests until there are enough labels."""
        batch: list[QueuedLabels] = []
        count = 0
        while self._queue and (not batch or count + len(self._queue[0].labels) <= MOST_IN_BATCH):
            batch.append(self._queue.pop(0))
            count += len(batch[-1].labels)
        self._waiting -= count
        return batch

    async def _write(self, requests: list[QueuedLabels]) -> None:
        """All in one transaction; where one has a label that nobody can take, one by one."""
        labels = [label for request in requests for label in request.labels]
        try:
            outcome = await self._store_thread.submit(
                lambda: self.stored_monitor.commit_labels(labels)
            )
        except Exception as problem:
            at_fault = isinstance(problem, UnstorableValue) or not isinstance(problem, ServiceError)
            if at_fault and len(requests) > 1:
                for request in requests:
                    await self._write([request])
                return
            for request in requests:
                _refuse(request, _as_service_error(problem))
            return
        begin = 0
        for request in requests:
            end = begin + len(request.labels)
            if not request.answer.done():
                request.answer.set_result(outcome.labels[begin:end])
            begin = end
        self._on_outcome(outcome)


def _refuse(request: QueuedLabels, fault: ServiceError) -> None:
    if not request.answer.done():
        request.answer.set_exception(fault)
        # Mark it as retrieved: asyncio would log it for a client that has hung up.
        request.answer.exception()


def _as_service_error(problem: Exception) -> ServiceError:
    if isinstance(problem, ServiceError):
        return problem
    if isinstance(problem, AnharmonicError):
        return BadRequest(first_line(problem))
    LOG.warning("labels failed (%s: %s)", type(problem).__name__, first_line(problem))
    return BadRequest("the monitor cannot take one of these labels: see the service's log")
