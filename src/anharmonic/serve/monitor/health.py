"""Whether points would be taken now: what requests met, and probes in the background.

Without the probes a service that is not ready, and so gets no requests from its load balancer,
could not find out that it is ready again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from anharmonic.errors import first_line
from anharmonic.serve.http.problems import ModelUnavailable, StoreDamaged, StoreUnavailable
from anharmonic.serve.monitor.settings import Limits
from anharmonic.serve.monitor.stored_monitor import StoredMonitor
from anharmonic.serve.monitor.threads import Worker

__all__ = ["Health"]

LOG = logging.getLogger("anharmonic.serve.monitor")
PROBE_SECONDS = 10.0
T = TypeVar("T")


class Health:
    """What is known of the model and of the store, and the probes that keep it true."""

    def __init__(self, stored_monitor: StoredMonitor, limits: Limits, model_thread: Worker) -> None:
        self.stored_monitor, self.limits = stored_monitor, limits
        self._model_thread = model_thread
        self.model_stuck = False
        """The model was called and has not returned in time."""
        self.model_failing = False
        """The model raises even at a point of its reference."""
        self.store_unavailable = False
        self.store_damaged = False
        """The store answers and cannot be read."""

    @property
    def model_answers(self) -> bool:
        return not (self.model_stuck or self.model_failing)

    @property
    def store_answers(self) -> bool:
        return not (self.store_unavailable or self.store_damaged)

    @property
    def ready(self) -> bool:
        """Whether points would be taken now."""
        return self.model_answers and self.store_answers

    def record_problem(self, problem: Exception) -> None:
        """Note a problem that somebody met, if it is one of the store."""
        if isinstance(problem, StoreDamaged) and not self.store_damaged:
            self.store_damaged = True
            LOG.error("the store is damaged: %s", problem)
        elif isinstance(problem, StoreUnavailable) and not self.store_unavailable:
            self.store_unavailable = True
            LOG.warning("the store is away: %s", problem)

    async def call_model(self, call: Callable[[], T]) -> T:
        """The result of a call, or `ModelUnavailable` where it does not return in time."""
        pending = self._model_thread.submit(call)
        done, _ = await asyncio.wait([pending], timeout=self.limits.model_seconds)
        if done:
            return pending.result()
        # A thread cannot be stopped: take nothing more until the model returns.
        self.model_stuck = True
        pending.add_done_callback(self._model_returned)
        raise ModelUnavailable(f"the model did not answer within {self.limits.model_seconds:g} s")

    def _model_returned(self, call: asyncio.Future[T]) -> None:
        self.model_stuck = False
        if not call.cancelled() and call.exception() is None:
            LOG.warning("the model answers again")

    async def probe_model(self) -> bool:
        """Whether the model answers about a point of its reference."""
        try:
            await self.call_model(self.stored_monitor.probe_model)
        except Exception as problem:
            if not self.model_failing:
                LOG.error("the model fails at its own reference: %s", first_line(problem))
            self.model_failing = True
            return False
        if self.model_failing:
            LOG.warning("the model answers again")
        self.model_failing = False
        return True

    async def keep_probing(self) -> None:
        """Until cancelled: the store always, the model while it fails."""
        while True:
            await asyncio.sleep(self.limits.probing_seconds)
            await self._probe_store()
            if self.model_failing and not self.model_stuck:
                await self.probe_model()

    async def _probe_store(self) -> None:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await asyncio.to_thread(self.stored_monitor.store.probe)
        except TimeoutError:
            self.record_problem(StoreUnavailable(f"no answer within {PROBE_SECONDS:g} s"))
        except (StoreUnavailable, StoreDamaged) as problem:
            self.record_problem(problem)
        except Exception:
            LOG.exception("the store could not be probed")
        else:
            # A damaged store stays so until a restart: part of it may still be read.
            if self.store_unavailable:
                LOG.warning("the store is back")
            self.store_unavailable = False
