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
from dataclasses import dataclass, replace

import numpy as np

from anharmonic.errors import InputError, first_line
from anharmonic.serve.http import LogThrottle
from anharmonic.serve.http.problems import (
    BadRequest,
    ModelUnavailable,
    Overloaded,
    ServiceError,
    StoreUnavailable,
    Unkeepable,
)
from anharmonic.serve.monitor.health import Health
from anharmonic.serve.monitor.metrics import Metrics
from anharmonic.serve.monitor.records import Event, EventResult
from anharmonic.serve.monitor.retention import Retention, SteadyClock
from anharmonic.serve.monitor.settings import Limits
from anharmonic.serve.monitor.stored_monitor import Outcome, Scored, StoredMonitor
from anharmonic.serve.monitor.threads import Worker

__all__ = ["Answer", "Pipeline"]

STOPPING_SECONDS = 3.0
LOG = logging.getLogger("anharmonic.serve.monitor")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request's events, in their order."""

    told: list[EventResult]
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
        self, watch: StoredMonitor, metrics: Metrics, limits: Limits, retention: Retention
    ) -> None:
        self.watch, self.metrics, self.limits, self.retention = watch, metrics, limits, retention
        self.waiting: deque[Waiting] = deque()
        self.points = 0
        wide = len(watch.row_schema.columns)
        self._most = min(limits.waiting_points, max(1, limits.waiting_values // wide))
        self.lag = 0.0
        self._pace = 0.0
        self._listeners: list[Callable[[Outcome], None]] = []
        self._asker, self._writer = Worker("model"), Worker("store")
        self.health = Health(watch, limits, self._asker)
        self._throttle = LogThrottle()
        self._tasks: list[asyncio.Task[None]] = []

    def listen(self, listener: Callable[[Outcome], None]) -> None:
        """Have every outcome handed over, on the event loop."""
        self._listeners.append(listener)

    async def start(self) -> None:
        self._work, self._hurry = asyncio.Event(), asyncio.Event()
        always = (self._run(), self._housekeep(), self.health.keep_probing())
        self._tasks = [asyncio.create_task(each) for each in always]

    async def stop(self) -> None:
        """Finish what is being written; what still waits was never acknowledged."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._refuse_all(StoreUnavailable("the service is stopping: send it again"))
        for worker in (self._asker, self._writer):
            await asyncio.to_thread(worker.stop, STOPPING_SECONDS)

    def submit(self, events: Sequence[Event], patient: bool = False) -> asyncio.Future[Answer]:
        """An answer to wait for, or at once a reason why there will be none.

        `patient` are those nobody waits for: they may be gathered for longer.
        """
        if self.health.stuck:
            raise self._counted(
                ModelUnavailable("the model has not answered for a while"), len(events)
            )
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
                if self.health.store_away:
                    await self._writer.do(self.watch.store.probe)
                    self.health.store_away = False
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
                self.health.heard(problem)
                self._refuse(group, self._fault(problem))

    async def _gather(self) -> None:
        """Let a few more come: a batch costs nearly as much as its first point.

        Nobody waits longer for it than the last batch took to measure, nor than the limit.
        """
        if all(each.patient for each in self.waiting):
            self._hurry.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.limits.patience_seconds):
                    await self._hurry.wait()
        pause = min(self._pace, self.limits.gather_seconds)
        if self.waiting and self.points < self.limits.batch_points:
            await asyncio.sleep(pause - (time.monotonic() - self.waiting[0].since))

    async def _measured(self, group: list[Waiting]) -> list[tuple[list[Waiting], Scored]]:
        """Scores; a request that the model cannot take does not spoil the others."""
        begun = time.perf_counter()
        try:
            events = [event for each in group for event in each.events]
            scores: Scored = await self.health.ask(lambda: self.watch.measure(events))
        except ModelUnavailable:
            self._refuse_all(ModelUnavailable("the model does not answer: try again later"))
            raise
        except Exception as problem:
            self._say(problem)
            # Whose fault it is shows at a point that the model is known to take.
            if not await self.health.known_point():
                raise ModelUnavailable("the model fails: try again later") from problem
            if len(group) == 1:
                self._refuse(group, _blamed(problem))
                return []
            middle = len(group) // 2
            return [*await self._measured(group[:middle]), *await self._measured(group[middle:])]
        self.health.failing = False
        self.metrics.asked(time.perf_counter() - begun)
        return [(group, scores)]

    async def _settled(self, measured: list[tuple[list[Waiting], Scored]]) -> None:
        group = [each for several, _ in measured for each in several]
        parts = [scores for _, scores in measured]
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        await self._written(group, whole)

    async def _written(self, group: list[Waiting], scores: Scored) -> None:
        """All of it in one transaction; where a value cannot be kept, without its request."""
        events = [event for each in group for event in each.events]
        try:
            outcome: Outcome = await self._writer.do(lambda: self.watch.settle(events, scores))
        except Unkeepable as fault:
            if len(group) == 1:
                self._refuse(group, fault)
                return
            middle = len(group) // 2
            cut = sum(len(each.events) for each in group[:middle])
            await self._written(group[:middle], {name: v[:cut] for name, v in scores.items()})
            await self._written(group[middle:], {name: v[cut:] for name, v in scores.items()})
            return
        except Exception as problem:
            self.health.heard(problem)
            self._refuse(group, self._fault(problem))
            return
        self.lag = time.monotonic() - group[0].since
        _answer(group, outcome)
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
        clock, watch = SteadyClock(), self.watch
        while True:
            try:
                gone = await self._writer.do(
                    lambda: self.retention.apply(watch.store, watch.name, clock.now())
                )
            except StoreUnavailable:
                gone = 0
            except Exception:
                LOG.exception("old events could not be forgotten")
                gone = 0
            await asyncio.sleep(0.05 if gone else self.limits.housekeeping_seconds)

    def _fault(self, problem: Exception) -> ServiceError:
        """What a client is told of a problem: ours as it is, of others that there is one."""
        if isinstance(problem, ServiceError):
            return problem
        self._say(problem)
        return ModelUnavailable("the batch failed: see the service's log")

    def _say(self, problem: Exception) -> None:
        """A model's own words are for those who run the service, not for those who send."""
        if told := self._throttle.due(type(problem).__name__):
            about = first_line(problem)
            LOG.warning("a batch failed (%s: %s; %d times)", type(problem).__name__, about, told)
            LOG.debug("in detail", exc_info=problem)


def _blamed(problem: Exception) -> ServiceError:
    """What is said of points that fail where others do not."""
    if isinstance(problem, InputError):
        return BadRequest(first_line(problem))
    return BadRequest("the model cannot take one of these points: see the service's log")


def _answer(group: list[Waiting], outcome: Outcome) -> None:
    """Tell each what became of its events; of one id in several requests the first was new."""
    taken: set[str] = set()
    for each in group:
        names = [event.id for event in each.events]
        if not each.answer.done():
            told = [outcome.told[name] for name in names]
            if taken and not taken.isdisjoint(names):
                told = [replace(t, duplicate=True) if t.id in taken else t for t in told]
            each.answer.set_result(Answer(told, outcome.alarm))
        taken.update(names)
