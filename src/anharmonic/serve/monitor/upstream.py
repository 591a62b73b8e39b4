"""A small HTTP client for one server: kept connections, raw bytes, nothing else.

General clients spend more than a millisecond of this process on a request, which all requests
behind it wait for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httptools

__all__ = ["Reply", "Upstream", "UpstreamUnavailable"]

IDLE = 64
MOST_BYTES = 64_000_000
"""In one answer, and in all that are in memory at the same time."""


class UpstreamUnavailable(ConnectionError):
    """The server cannot be reached, broke off, or answered no HTTP."""


@dataclass
class Reply:
    """An answer as it came."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    size: int = 0
    """Bytes of the body that are in memory."""


class ByteBudget:
    """Bytes of answers that have come and are not yet passed on, all together."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most, self.taken = most, 0

    def take(self, size: int) -> bool:
        """Whether there was room for them."""
        if self.taken + size > self.most:
            return False
        self.taken += size
        return True


class Connection(asyncio.Protocol):
    """One request at a time; whatever comes beside its answer ends the connection."""

    def __init__(self, room: ByteBudget) -> None:
        self.room = room
        self.lost = False
        self.begun = False
        self._done: asyncio.Future[Reply] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, request: bytes) -> asyncio.Future[Reply]:
        self.begun, self._headed = False, False
        self._parser = httptools.HttpResponseParser(self)
        self._reply, self._parts = Reply(), list[bytes]()
        self._done = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._done

    @property
    def reusable(self) -> bool:
        return not self.lost and self._parser.should_keep_alive()

    def data_received(self, data: bytes) -> None:
        if self._done is None or self._done.done():
            self._distrust()
            return
        self.begun = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as problem:
            self._fail(f"no HTTP: {problem}")

    def on_message_begin(self) -> None:
        if self._done is not None and self._done.done():
            self._distrust()

    def _distrust(self) -> None:
        """It said something unasked: the next answer might be no answer to its question."""
        self.lost = True
        self.transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.lost:
            self._reply.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._headed = True

    def on_body(self, part: bytes) -> None:
        if self.lost:
            return
        if self.room.take(len(part)):
            self._reply.size += len(part)
            self._parts.append(part)
        else:
            self._fail("the answer is too long")

    def on_message_complete(self) -> None:
        if self._done is None or self._done.done():
            return
        self._reply.status = self._parser.get_status_code()
        if self._reply.status < 200:
            self._reply, self._headed = Reply(), False
            return
        self._reply.body, self._parts = b"".join(self._parts), []
        self._done.set_result(self._reply)

    def connection_lost(self, problem: Exception | None) -> None:
        self.lost = True
        names = {name for name, _ in self._reply.headers} if self.begun else set()
        if self.begun and self._headed and not names & {b"content-length", b"transfer-encoding"}:
            self.on_message_complete()
        self._fail("the connection broke")

    def _fail(self, why: str) -> None:
        if self._done is not None and not self._done.done():
            self.lost = True
            self.drop()
            self._done.set_exception(UpstreamUnavailable(why))
            self.transport.close()

    def drop(self) -> None:
        """Give back the room of an answer that nobody will have."""
        self.room.taken -= self._reply.size
        self._reply, self._parts = Reply(), []


class Upstream:
    """A server at an http:// or https:// address, with connections kept for the next request."""

    def __init__(self, address: str, seconds: float) -> None:
        parts = urlsplit(address)
        self.host, self.secure = parts.hostname or "", parts.scheme == "https"
        self.port = parts.port or (443 if self.secure else 80)
        self.path = parts.path.rstrip("/")
        self.name = parts.netloc.rpartition("@")[2]
        self.seconds = seconds
        self.room = ByteBudget()
        self._idle: deque[Connection] = deque(maxlen=IDLE)

    async def ask(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> Reply:
        """One request; `TimeoutError` or `UpstreamUnavailable` where there is no answer."""
        lines = [f"{method} {self.path}{path} HTTP/1.1".encode("latin-1")]
        lines += [b"host: " + self.name.encode("latin-1")]
        lines += [name + b": " + value for name, value in headers]
        if body or method == "POST":
            lines.append(b"content-length: %d" % len(body))
        request = b"\r\n".join(lines) + b"\r\n\r\n" + body
        async with asyncio.timeout(self.seconds):
            while True:
                connection, kept = await self._connection()
                try:
                    reply = await connection.ask(request)
                except UpstreamUnavailable:
                    # A kept connection may have been closed just now, before anything was read.
                    if kept and not connection.begun:
                        continue
                    raise
                except asyncio.CancelledError:
                    connection.drop()
                    connection.transport.abort()
                    raise
                self._keep(connection)
                return reply

    def passed_on(self, reply: Reply) -> None:
        """An answer has left: its room is free."""
        self.room.taken -= reply.size
        reply.size = 0

    async def _connection(self) -> tuple[Connection, bool]:
        while self._idle:
            connection = self._idle.pop()
            if not connection.lost:
                return connection, True
        loop = asyncio.get_running_loop()
        try:
            _, made = await loop.create_connection(
                lambda: Connection(self.room), self.host, self.port, ssl=self.secure or None
            )
        except (OSError, UnicodeError) as problem:
            raise UpstreamUnavailable(str(problem)) from problem
        return made, False

    def _keep(self, connection: Connection) -> None:
        if connection.reusable and len(self._idle) < IDLE:
            self._idle.append(connection)
        else:
            connection.transport.close()

    def close(self) -> None:
        for connection in self._idle:
            connection.transport.close()
        self._idle.clear()
