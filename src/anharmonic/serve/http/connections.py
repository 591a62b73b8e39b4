"""Connections: how many, from whom, and how long the head of a request may take.

A server that waits for whoever has connected can be shut with a few thousand connections that
say nothing. So a head has a time and a size; and where there are too many connections, the one
that has waited longest without a request makes room, of the address that has most of them.
"""

from __future__ import annotations

import logging
from typing import Any

from anharmonic.serve.http.log_throttle import LogThrottle

__all__ = ["ConnectionLimiter", "bounded_protocol", "open_files"]

LOG = logging.getLogger("anharmonic.serve.http")
HEAD_SECONDS = 10.0
HEAD_BYTES = 65_536
SPARE_FILES = 128
"""For databases, logs, models and connections to others."""


def open_files(wanted: int) -> int:
    """How many connections the system lets this process have, raising its limit if it may."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft = raised
    allowed = wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - SPARE_FILES)
    if allowed < wanted:
        LOG.warning(
            "at most %d connections, not %d: only %d files may be open (ulimit -n)",
            *(max(1, allowed), wanted, soft),
        )
    return max(1, allowed)


class ConnectionLimiter:
    """Who is connected, and who of them waits without a request, by address."""

    def __init__(self, most: int, of_one: int | None = None) -> None:
        self.most = most
        self.of_one = max(1, most // 2) if of_one is None else of_one
        self.here: dict[str, dict[Any, None]] = {}
        self.idle: dict[str, dict[Any, None]] = {}
        self.count = 0
        self._throttle = LogThrottle()

    def enter(self, one: Any, address: str) -> bool:
        """Let a connection in, if need be in the place of another; False where there is none."""
        mine = self.here.setdefault(address, {})
        mine[one] = None
        self.count += 1
        if len(mine) <= self.of_one and self.count <= self.most:
            self.rest(one, address)
            return True
        crowded = address if len(mine) > self.of_one else self._crowded(len(mine))
        if told := self._throttle.due():
            LOG.warning(
                "too many connections (%d, %d from %s): idle ones are closed (%d times)",
                *(self.count, len(mine), address, told),
            )
        oldest = next(iter(self.idle.get(crowded, ())), None)
        if oldest is None:
            self.leave(one, address)
            return False
        self.leave(oldest, crowded)
        oldest.transport.abort()
        self.rest(one, address)
        return True

    def _crowded(self, least: int) -> str:
        """The address with most connections of those that have an idle one, and so many."""
        several = {each: len(self.here[each]) for each, idle in self.idle.items() if idle}
        found = max(several, default="", key=lambda each: several[each])
        return found if several.get(found, 0) >= least else ""

    def rest(self, one: Any, address: str) -> None:
        """It waits for a request."""
        if one in self.here.get(address, ()):
            self.idle.setdefault(address, {})[one] = None

    def work(self, one: Any, address: str) -> None:
        """A request has come."""
        self.idle.get(address, {}).pop(one, None)

    def leave(self, one: Any, address: str) -> None:
        """It is gone; once is enough."""
        mine = self.here.get(address, {})
        if one in mine:
            del mine[one]
            self.count -= 1
        self.idle.get(address, {}).pop(one, None)
        if not mine:
            self.here.pop(address, None)
            self.idle.pop(address, None)


def bounded_protocol(
    limiter: ConnectionLimiter, head_seconds: float = HEAD_SECONDS, head_bytes: int = HEAD_BYTES
) -> Any:
    """The protocol of uvicorn, with an end to its patience: a class for `Config(http=…)`."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class BoundedProtocol(HttpToolsProtocol):
        """Closes a connection whose request's head does not come, or does not end."""

        address = ""
        deadline: Any = None
        awaiting = True
        """A head has not come to its end."""
        head_size = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.address = self.client[0] if self.client else ""
            if not limiter.enter(self, self.address):
                transport.abort()
                return
            self.deadline = self.loop.call_later(head_seconds, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            self._in_time()
            limiter.leave(self, self.address)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if not (self.awaiting or self.cycle.response_complete):
                return
            # No whole head yet. A first one was given its time with the connection.
            self.head_size += len(data)
            if self.transport.is_closing():
                return
            if self.awaiting and self.head_size > head_bytes:
                self.send_400_response("The head is too long.")
            elif self.deadline is None:
                self.deadline = self.loop.call_later(head_seconds, self.transport.abort)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.awaiting, self.head_size = True, 0

        def on_headers_complete(self) -> None:
            self.awaiting = False
            self._in_time()
            limiter.work(self, self.address)
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle is None or self.cycle.response_complete:
                limiter.rest(self, self.address)

        def _in_time(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

    return BoundedProtocol
