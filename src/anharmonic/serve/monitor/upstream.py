"""A small HTTP/1.1 client for one server: persistent connections, raw bytes, nothing else.

A general client such as httpx takes 0.7 ms of processor time per request, on the event loop that
all other requests wait for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

import httptools

__all__ = ["Reply", "Upstream", "UpstreamUnavailable"]

IDLE = 64
"""Connections that are kept open for later requests."""
MOST_BYTES = 64_000_000
"""In one answer, and in all that are in memory at the same time."""


class UpstreamUnavailable(ConnectionError):
    """The server cannot be reached, closed the connection early, or did not answer in HTTP."""


@dataclass
class Reply:
    """A response as it came."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    size: int = 0
    """Bytes of the body that are in memory."""


class ByteBudget:
    """Bytes of responses that have come and are not yet sent on, all together."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most, self.used = most, 0

    def take(self, size: int) -> bool:
        """Count bytes, if that stays within the budget; whether it does."""
        if self.used + size > self.most:
            return False
        self.used += size
        return True


class Connection(asyncio.Protocol):
    """One request at a time; bytes that belong to no response end the connection.

    The methods `on_…` are called by httptools' parser.
    """

    def __init__(self, budget: ByteBudget) -> None:
        self.budget = budget
        self.lost = False
        self.response_started = False
        self._done: asyncio.Future[Reply] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def send(self, request: bytes) -> asyncio.Future[Reply]:
        self.response_started, self._headers_complete = False, False
        self._keep_alive = False
        self._parser = httptools.HttpResponseParser(self)
        self._reply, self._parts = Reply(), list[bytes]()
        self._done = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._done

    @property
    def reusable(self) -> bool:
        return not self.lost and self._keep_alive

    def data_received(self, data: bytes) -> None:
        if self._done is None or self._done.done():
            self._distrust()
            return
        self.response_started = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as problem:
            self._fail(f"no HTTP: {problem}")

    def on_message_begin(self) -> None:
        if self._done is not None and self._done.done():
            self._distrust()

    def _distrust(self) -> None:
        """Close after bytes without a request: the next response might be to another request."""
        self.lost = True
        self.transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.lost:
            self._reply.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._headers_complete = True

    def on_body(self, part: bytes) -> None:
        if self.lost:
            return
        if self.budget.take(len(part)):
            self._reply.size += len(part)
            self._parts.append(part)
        else:
            self._fail("the answer is too long")

    def on_message_complete(self) -> None:
        # Only here does the parser know: once `feed_data` has returned it says no.
        self._keep_alive = self._parser.should_keep_alive()
        if self._done is None or self._done.done():
            return
        self._reply.status = self._parser.get_status_code()
        if self._reply.status < 200:
            # 100 Continue and its like: the response itself follows.
            self._reply, self._headers_complete = Reply(), False
            return
        self._reply.body, self._parts = b"".join(self._parts), []
        self._done.set_result(self._reply)

    def connection_lost(self, problem: Exception | None) -> None:
        self.lost = True
        # Without a length a response ends with its connection (RFC 9112, section 6.3).
        names = {name for name, _ in self._reply.headers} if self.response_started else set()
        if (
            self.response_started
            and self._headers_complete
            and not names & {b"content-length", b"transfer-encoding"}
        ):
            self.on_message_complete()
        self._fail("the connection broke")

    def _fail(self, why: str) -> None:
        if self._done is not None and not self._done.done():
            self.lost = True
            self.discard()
            self._done.set_exception(UpstreamUnavailable(why))
            self.transport.close()

    def discard(self) -> None:
        """Give back the bytes of a response that nobody will read."""
        self.budget.used -= self._reply.size
        self._reply, self._parts = Reply(), []


class Upstream:
    """A server at an http:// or https:// address, and the idle connections to it."""

    def __init__(self, address: str, seconds: float) -> None:
        parts = urlsplit(address)
        self.host, self.secure = parts.hostname or "", parts.scheme == "https"
        self.port = parts.port or (443 if self.secure else 80)
        self.path = parts.path.rstrip("/")
        self.name = parts.netloc.rpartition("@")[2]
        self.seconds = seconds
        self.budget = ByteBudget()
        self._idle: deque[Connection] = deque(maxlen=IDLE)

    async def request(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> Reply:
        """The response to a request; raises `TimeoutError` or `UpstreamUnavailable`."""
        lines = [f"{method} {self.path}{path} HTTP/1.1".encode("latin-1")]
        lines += [b"host: " + self.name.encode("latin-1")]
        lines += [name + b": " + value for name, value in headers]
        if body or method == "POST":
            lines.append(b"content-length: %d" % len(body))
        request = b"\r\n".join(lines) + b"\r\n\r\n" + body
        async with asyncio.timeout(self.seconds):
            while True:
                connection, reused = await self._connection()
                try:
                    reply = await connection.send(request)
                except UpstreamUnavailable:
                    # The server may have closed an idle connection just now, with nothing read.
                    if reused and not connection.response_started:
                        continue
                    raise
                except asyncio.CancelledError:
                    connection.discard()
                    connection.transport.abort()
                    raise
                self._keep(connection)
                return reply

    def release(self, reply: Reply) -> None:
        """A response was sent on: its bytes are free."""
        self.budget.used -= reply.size
        reply.size = 0

    async def _connection(self) -> tuple[Connection, bool]:
        """A connection, and whether it has been used before."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.lost:
                return connection, True
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(self.budget), self.host, self.port, ssl=self.secure or None
            )
        except (OSError, UnicodeError) as problem:
            raise UpstreamUnavailable(str(problem)) from problem
        return connection, False

    def _keep(self, connection: Connection) -> None:
        if connection.reusable and len(self._idle) < IDLE:
            self._idle.append(connection)
        else:
            connection.transport.close()

    def close(self) -> None:
        for connection in self._idle:
            connection.transport.close()
        self._idle.clear()
