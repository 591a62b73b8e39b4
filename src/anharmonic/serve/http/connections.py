"""Connections: how many, from which address, and how long the head of a request may take.

A server without such limits can be blocked with a few thousand connections that send nothing
(slowloris). So a head has a time and a size; and where there are too many connections, one is
closed: of the address that has most of them the one that has been idle longest.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from anharmonic.serve.http.log_throttle import LogThrottle

__all__ = ["ConnectionLimiter", "bounded_protocol", "open_files"]

LOG = logging.getLogger("anharmonic.serve.http")
HEAD_SECONDS = 10.0
HEAD_BYTES = 65_536
SPARE_FILES = 128
"""File descriptors left for databases, logs, models and connections to other servers."""


class Abortable(Protocol):
    """What `ConnectionLimiter` closes."""

    def abort(self) -> None: ...


class Connection(Protocol):
    """What `ConnectionLimiter` counts: anything with a transport that can be aborted."""

    @property
    def transport(self) -> Abortable: ...


def open_files(wanted: int) -> int:
    """How many connections this process may have; raises its limit of open files if need be.

    Parameters
    ----------
    wanted
        Connections that the server would like to allow.
    """
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
    """The open connections, and those of them that are idle, by address.

    Parameters
    ----------
    most
        Connections that may be open at the same time.
    of_one
        The same for one address; half of `most` if not given.
    """

    def __init__(self, most: int, of_one: int | None = None) -> None:
        self.most = most
        self.of_one = max(1, most // 2) if of_one is None else of_one
        # Dictionaries without values: sets that remember the order, so the oldest comes first.
        self.open: dict[str, dict[Connection, None]] = {}
        self.idle: dict[str, dict[Connection, None]] = {}
        self.count = 0
        self._throttle = LogThrottle()

    def enter(self, connection: Connection, address: str) -> bool:
        """Admit a connection, if need be by closing an idle one; False where none is idle."""
        of_address = self.open.setdefault(address, {})
        of_address[connection] = None
        self.count += 1
        if len(of_address) <= self.of_one and self.count <= self.most:
            self.mark_idle(connection, address)
            return True
        # An address over its own limit pays itself, else the one with most connections.
        too_many = len(of_address) > self.of_one
        crowded = address if too_many else self._most_crowded(len(of_address))
        if times := self._throttle.due():
            LOG.warning(
                "too many connections (%d, %d from %s): idle ones are closed (%d times)",
                *(self.count, len(of_address), address, times),
            )
        oldest = next(iter(self.idle.get(crowded, ())), None)
        if oldest is None:
            self.leave(connection, address)
            return False
        self.leave(oldest, crowded)
        oldest.transport.abort()
        self.mark_idle(connection, address)
        return True

    def _most_crowded(self, least: int) -> str:
        """The address with most connections, at least `least`, among those with an idle one."""
        counts = {address: len(self.open[address]) for address, idle in self.idle.items() if idle}
        crowded = max(counts, default="", key=lambda address: counts[address])
        return crowded if counts.get(crowded, 0) >= least else ""

    def mark_idle(self, connection: Connection, address: str) -> None:
        """It waits for a request."""
        if connection in self.open.get(address, ()):
            self.idle.setdefault(address, {})[connection] = None

    def mark_busy(self, connection: Connection, address: str) -> None:
        """A request has come."""
        self.idle.get(address, {}).pop(connection, None)

    def leave(self, connection: Connection, address: str) -> None:
        """It is closed; a second call changes nothing."""
        of_address = self.open.get(address, {})
        if connection in of_address:
            del of_address[connection]
            self.count -= 1
        self.idle.get(address, {}).pop(connection, None)
        if not of_address:
            self.open.pop(address, None)
            self.idle.pop(address, None)


def bounded_protocol(
    limiter: ConnectionLimiter, head_seconds: float = HEAD_SECONDS, head_bytes: int = HEAD_BYTES
) -> type[asyncio.Protocol]:
    """Uvicorn's HTTP protocol with limits: a class for `uvicorn.Config(http=…)`.

    Parameters
    ----------
    limiter
        Counts the connections of all its instances.
    head_seconds, head_bytes
        The longest that a request's head may take and be.
    """
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class BoundedProtocol(HttpToolsProtocol):
        """Closes a connection whose request's head does not come, or does not end."""

        address = ""
        deadline: asyncio.TimerHandle | None = None
        """When the connection is aborted, while a head is awaited."""
        awaiting_head = True
        """A head has not come to its end."""
        head_size = 0

        def connection_made(  # type: ignore[override]
            self, transport: asyncio.Transport
        ) -> None:
            super().connection_made(transport)
            self.address = self.client[0] if self.client else ""
            if not limiter.enter(self, self.address):
                transport.abort()
                return
            self.deadline = self.loop.call_later(head_seconds, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_deadline()
            limiter.leave(self, self.address)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if not (self.awaiting_head or self.cycle.response_complete):
                return
            # No whole head yet. The deadline of a first one was set with the connection.
            self.head_size += len(data)
            if self.transport.is_closing():
                return
            if self.awaiting_head and self.head_size > head_bytes:
                self.send_400_response("The head is too long.")
            elif self.deadline is None:
                self.deadline = self.loop.call_later(head_seconds, self.transport.abort)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.awaiting_head, self.head_size = True, 0

        def on_headers_complete(self) -> None:
            self.awaiting_head = False
            self._cancel_deadline()
            limiter.mark_busy(self, self.address)
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle is None or self.cycle.response_complete:
                limiter.mark_idle(self, self.address)

        def _cancel_deadline(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

    return BoundedProtocol
