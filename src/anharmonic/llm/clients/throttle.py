"""How many calls may be under way at once: fewer after a server says it is too much."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Throttle"]


class Throttle:
    """At most `most` at once; halved by every wave of complaints, and slowly raised again."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self._running = 0
        self._closed_until = 0.0
        self._slowed_at = 0.0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Wait for a place and for the end of any pause; gives the moment the call began."""
        async with self._freed:
            await self._freed.wait_for(lambda: self._running < int(self.limit))
            self._running += 1
        try:
            while (pause := self._closed_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            yield time.monotonic()
        finally:
            async with self._freed:
                self._running -= 1
                # Only as many as there are places: hundreds may be waiting.
                self._freed.notify(max(0, int(self.limit) - self._running))

    def went_well(self) -> None:
        """One more place after as many good answers as there are places."""
        self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def too_much(self, pause: float, began: float) -> None:
        """Half the places, and nobody asks before the pause is over.

        Calls that began before the last slowing knew nothing of it: they do not count again.
        """
        now = time.monotonic()
        self._closed_until = max(self._closed_until, now + pause)
        if began >= self._slowed_at:
            self.limit = max(1.0, self.limit / 2)
            self._slowed_at = now
