"""Whether points would be taken now, asked again and again in the background.

What failed is noticed by those who come, and by a probe where nobody comes; only so can a
balancer that sends nothing to a service that is not ready find out that it is ready again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from anharmonic.errors import first_line
from anharmonic.serve.http.problems import ModelUnavailable, StoreDamaged, StoreUnavailable
from anharmonic.serve.monitor.settings import Limits
from anharmonic.serve.monitor.stored_monitor import StoredMonitor
from anharmonic.serve.monitor.threads import Worker

__all__ = ["Health"]

LOG = logging.getLogger("anharmonic.serve.monitor")
PROBE_SECONDS = 10.0


class Health:
    """What is known of the model and of the store, and the probes that keep it true."""

    def __init__(self, watch: StoredMonitor, limits: Limits, asker: Worker) -> None:
        self.watch, self.limits, self._asker = watch, limits, asker
        self.stuck = False
        """The model was asked and has not come back."""
        self.failing = False
        """The model raises even at a point of its reference."""
        self.store_away = False
        self.damaged = False
        """The store answers and cannot be read."""

    @property
    def model_answers(self) -> bool:
        return not (self.stuck or self.failing)

    @property
    def store_answers(self) -> bool:
        return not (self.store_away or self.damaged)

    @property
    def ready(self) -> bool:
        """Whether points would be taken now."""
        return self.model_answers and self.store_answers

    def heard(self, problem: Exception) -> None:
        """Somebody met a problem of the store."""
        if isinstance(problem, StoreDamaged) and not self.damaged:
            self.damaged = True
            LOG.error("the store is damaged: %s", problem)
        elif isinstance(problem, StoreUnavailable) and not self.store_away:
            self.store_away = True
            LOG.warning("the store is away: %s", problem)

    async def ask(self, call: Callable[[], Any]) -> Any:
        """What the model says, or `ModelUnavailable` where it does not come back in time."""
        asking = self._asker.do(call)
        done, _ = await asyncio.wait([asking], timeout=self.limits.model_seconds)
        if done:
            return asking.result()
        # A thread cannot be stopped: take nothing more until the model comes back.
        self.stuck = True
        asking.add_done_callback(self._back)
        raise ModelUnavailable(f"the model did not answer within {self.limits.model_seconds:g} s")

    def _back(self, asking: asyncio.Future[Any]) -> None:
        self.stuck = False
        if not asking.cancelled() and asking.exception() is None:
            LOG.warning("the model answers again")

    async def known_point(self) -> bool:
        """Whether the model answers about a point of its reference."""
        try:
            await self.ask(self.watch.ask_known)
        except Exception as problem:
            if not self.failing:
                LOG.error("the model fails at its own reference: %s", first_line(problem))
            self.failing = True
            return False
        if self.failing:
            LOG.warning("the model answers again")
        self.failing = False
        return True

    async def keep_probing(self) -> None:
        """Until cancelled: the store always, the model while it fails."""
        while True:
            await asyncio.sleep(self.limits.probing_seconds)
            await self._probe_store()
            if self.failing and not self.stuck:
                await self.known_point()

    async def _probe_store(self) -> None:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await asyncio.to_thread(self.watch.store.probe)
        except TimeoutError:
            self.heard(StoreUnavailable(f"no answer within {PROBE_SECONDS:g} s"))
        except (StoreUnavailable, StoreDamaged) as problem:
            self.heard(problem)
        except Exception:
            LOG.exception("the store could not be probed")
        else:
            if self.store_away:
                LOG.warning("the store is back")
            self.store_away = False
