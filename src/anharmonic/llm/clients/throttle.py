"""How many calls may be under way at once: fewer after a server says it is too much."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Throttle"]


class Throttle:
    """At most `most` calls at once; halved when a server complains, and slowly raised again.

    Additive increase, multiplicative decrease, as in TCP. First come, first served, so that
    answers arrive about in the order of their questions. All of it happens in one event loop, so
    nothing needs a lock.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self._running = 0
        self._closed_until = 0.0
        self._slowed_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, again: bool = False) -> AsyncIterator[float]:
        """Wait for a free slot and for the end of any pause; gives the moment the call began.

        One that asks `again` goes first: others wait for its answer already.
        """
        await self._slot(again)
        try:
            while (pause := self._closed_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            yield time.monotonic()
        finally:
            self._running -= 1
            self._admit()

    def went_well(self) -> None:
        """One more slot after as many good answers as there are slots."""
        self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def too_much(self, pause: float, began: float) -> None:
        """Half the slots, and no call begins before the pause is over.

        Calls that began before the last slowing knew nothing of it: they do not count again.
        """
        now = time.monotonic()
        self._closed_until = max(self._closed_until, now + pause)
        if began >= self._slowed_at:
            self.limit = max(1.0, self.limit / 2)
            self._slowed_at = now

    async def _slot(self, first: bool) -> None:
        mine = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if first else self._waiting.append)(mine)
        self._admit()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # it had a slot and never used it
                self._running -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting and self._running < int(self.limit):
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._running += 1
                waiter.set_result(None)
