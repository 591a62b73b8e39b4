"""From requests that wait to answers: one model call and one transaction for many.

Requests wait in a queue of bounded length. Whatever waits is put together, measured in one
thread and written in another, so that the model is asked about the next batch while the last
one goes to the disk. A request is answered when its points are there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic.errors import AnharmonicError, InputError, RemoteError, first_line
from anharmonic.service.faults import ModelAway, Overloaded, Refused, ServiceError, StoreAway
from anharmonic.service.metrics import Metrics
from anharmonic.service.records import Event, Told
from anharmonic.service.retention import Retention
from anharmonic.service.settings import Limits
from anharmonic.service.threads import Worker
from anharmonic.service.watching import Outcome, Scored, Watch

__all__ = ["Answer", "Pipeline"]

STOPPING_SECONDS = 3.0
LOG = logging.getLogger("anharmonic.service")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request's events, in their order."""

    told: list[Told]
    alarm: bool


@dataclass(slots=True)
class Waiting:
    events: Sequence[Event]
    answer: asyncio.Future[Answer]
    since: float
    patient: bool


class Pipeline:
    """The only way in. `submit` from the event loop; `start` and `stop` around it."""

    def __init__(
        self, watch: Watch, metrics: Metrics, limits: Limits, retention: Retention
    ) -> None:
        self.watch, self.metrics, self.limits, self.retention = watch, metrics, limits, retention
        self.waiting: deque[Waiting] = deque()
        self.points = 0
        wide = len(watch.form.columns)
        self._most = min(limits.waiting_points, max(1, limits.waiting_values // wide))
        self.lag = 0.0
        self._pace = 0.0
        self.stuck = False
        self.store_away = False
        self._listeners: list[Callable[[Outcome], None]] = []
        self._asker, self._writer = Worker("model"), Worker("store")
        self._tasks: list[asyncio.Task[None]] = []

    def listen(self, listener: Callable[[Outcome], None]) -> None:
        """Have every outcome handed over, on the event loop."""
        self._listeners.append(listener)

    async def start(self) -> None:
        self._work, self._hurry = asyncio.Event(), asyncio.Event()
        self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._housekeep())]

    async def stop(self) -> None:
        """Finish what is being written; what still waits was never acknowledged."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._refuse_all(StoreAway("the service is stopping: send it again"))
        for worker in (self._asker, self._writer):
            await asyncio.to_thread(worker.stop, STOPPING_SECONDS)

    def submit(self, events: Sequence[Event], patient: bool = False) -> asyncio.Future[Answer]:
        """An answer to wait for, or at once a reason why there will be none.

        `patient` are those nobody waits for: they may be gathered for longer.
        """
        if self.stuck:
            raise self._counted(ModelAway("the model has not answered for a while"), len(events))
        if self.waiting and self.points + len(events) > self._most:
            raise self._counted(
                Overloaded(f"{self.points:,} points are waiting: send them later"), len(events)
            )
        answer = asyncio.get_running_loop().create_future()
        self.waiting.append(Waiting(events, answer, time.monotonic(), patient))
        self.points += len(events)
        self._work.set()
        if not patient or self.points >= self.limits.batch_points:
            self._hurry.set()
        return answer

    async def reset(self) -> None:
        """Clear alarms and evidence, between two batches."""
        await self._writer.do(self.watch.reset)
        self.metrics.cleared()

    def _counted(self, fault: ServiceError, points: int) -> ServiceError:
        self.metrics.skip(fault.kind, points)
        return fault

    def _take(self) -> list[Waiting]:
        """Whole requests until there are enough points."""
        taken: list[Waiting] = []
        many = 0
        while self.waiting and (not taken or many < self.limits.batch_points):
            taken.append(self.waiting.popleft())
            many += len(taken[-1].events)
        self.points -= many
        self.metrics.waiting.set(self.points)
        return taken

    async def _run(self) -> None:
        writing: asyncio.Task[None] | None = None
        while True:
            if not self.waiting:
                self._work.clear()
                await self._work.wait()
            await self._gather()
            group = self._take()
            begun = time.monotonic()
            try:
                if self.store_away:
                    await self._writer.do(lambda: self.watch.store.kept(self.watch.name))
                    self.store_away = False
                measured = await self._measured(group)
                self._pace = time.monotonic() - begun
                if writing is not None:
                    await writing
                writing = asyncio.create_task(self._settled(measured)) if measured else None
            except asyncio.CancelledError:
                if writing is not None:
                    await asyncio.wait([writing])
                raise
            except Exception as problem:
                self._refuse(group, _fault(problem))

    async def _gather(self) -> None:
        """Let a few more come: a batch costs nearly as much as its first point.

        Nobody waits longer for it than the last batch took to measure, nor than the limit.
        """
        if all(each.patient for each in self.waiting):
            self._hurry.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self.limits.patience_seconds)
        pause = min(self._pace, self.limits.gather_seconds)
        if self.waiting and self.points < self.limits.batch_points:
            await asyncio.sleep(pause - (time.monotonic() - self.waiting[0].since))

    async def _measured(self, group: list[Waiting]) -> list[tuple[list[Waiting], Scored]]:
        """Scores; a request that the model cannot take does not spoil the others."""
        begun = time.perf_counter()
        try:
            scores = await self._asked([event for each in group for event in each.events])
        except (ModelAway, RemoteError):
            raise
        except Exception as problem:
            if len(group) > 1:
                alone = [await self._measured([each]) for each in group]
                return [pair for pairs in alone for pair in pairs]
            self._refuse(group, _fault(problem))
            return []
        self.metrics.asked(time.perf_counter() - begun)
        return [(group, scores)]

    async def _asked(self, events: list[Event]) -> Scored:
        asking = self._asker.do(lambda: self.watch.measured(events))
        done, _ = await asyncio.wait([asking], timeout=self.limits.model_seconds)
        if done:
            scores: Scored = asking.result()
            return scores
        # A thread cannot be stopped: take nothing more until the model comes back.
        self.stuck = True
        self._refuse_all(ModelAway("the model does not answer: try again later"))
        asking.add_done_callback(self._back)
        raise ModelAway(f"the model did not answer within {self.limits.model_seconds:g} s")

    def _back(self, asking: asyncio.Future[Any]) -> None:
        self.stuck = False
        if not asking.cancelled() and asking.exception() is None:
            LOG.warning("the model answers again")

    async def _settled(self, measured: list[tuple[list[Waiting], Scored]]) -> None:
        group = [each for several, _ in measured for each in several]
        events = [event for each in group for event in each.events]
        parts = [scores for _, scores in measured]
        scores = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        try:
            outcome: Outcome = await self._writer.do(lambda: self.watch.settle(events, scores))
        except Exception as problem:
            self.store_away = isinstance(problem, StoreAway)
            self._refuse(group, _fault(problem))
            return
        self.lag = time.monotonic() - group[0].since
        for each in group:
            if not each.answer.done():
                told = [outcome.told[event.id] for event in each.events]
                each.answer.set_result(Answer(told, outcome.alarm))
        for listener in self._listeners:
            listener(outcome)

    def _refuse(self, group: Sequence[Waiting], fault: ServiceError) -> None:
        self.metrics.skip(fault.kind, sum(len(each.events) for each in group))
        for each in group:
            if not each.answer.done():
                each.answer.set_exception(fault)
                # Somebody who hung up does not look; that is no error.
                each.answer.exception()

    def _refuse_all(self, fault: ServiceError) -> None:
        group, self.points = list(self.waiting), 0
        self.waiting.clear()
        self._refuse(group, fault)

    async def _housekeep(self) -> None:
        """Forget what is too old, a chunk at a time between the writes."""
        if self.retention == Retention():
            return
        while True:
            try:
                gone = await self._writer.do(
                    lambda: self.retention.apply(self.watch.store, time.time())
                )
            except StoreAway:
                gone = 0
            except Exception:
                LOG.exception("old events could not be forgotten")
                gone = 0
            await asyncio.sleep(0.05 if gone else self.limits.housekeeping_seconds)


def _fault(problem: Exception) -> ServiceError:
    """What a client is told of a problem: ours as it is, a model's in one line."""
    if isinstance(problem, ServiceError):
        return problem
    if isinstance(problem, InputError):
        return Refused(first_line(problem))
    if isinstance(problem, AnharmonicError):
        LOG.warning("the model failed: %s", problem)
        return ModelAway(f"the model failed: {first_line(problem)}")
    LOG.error("a batch failed", exc_info=problem)
    return ModelAway(f"the batch failed: {type(problem).__name__}; see the log")
