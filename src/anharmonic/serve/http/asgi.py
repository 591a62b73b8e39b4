"""The outermost layer: guard, body, headers, and a short way in for points."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from anharmonic.serve.http.problems import Overloaded, Refused, ServiceError
from anharmonic.serve.http.responses import answered
from anharmonic.serve.http.security import PLAIN_HEADERS, SECURITY_HEADERS, Guard
from anharmonic.serve.monitor.settings import Limits

__all__ = ["Body", "Door"]

LOG = logging.getLogger("anharmonic.serve.monitor")
Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Body = Callable[[dict[str, str], bytes], Awaitable[Response]]
Forward = Callable[[Scope, dict[str, str], bytes], Awaitable[Response]]


@dataclass(slots=True)
class Room:
    """Bytes of one body that are in memory."""

    taken: int = 0


class Door:
    """An ASGI application around another.

    Bodies are read here, within limits on each and on all together, before anything else sees
    the request. Paths in `short` are answered at once with headers and body in hand: a
    framework's layers would take longer than the rest; what of theirs is refused here is told to
    `skip`. `forward`, where there is a model server behind, answers what is below /v2/.
    """

    def __init__(
        self,
        app: App,
        guard: Guard,
        limits: Limits,
        short: Mapping[str, Body],
        skip: Callable[[str, int], None],
        forward: Forward | None = None,
    ) -> None:
        self.app, self.guard, self.limits = app, guard, limits
        self.short, self.skip, self.forward = short, skip, forward
        self.held = self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                message["headers"] = [*message["headers"], *self._headers(scope)]
            await send(message)

        try:
            await self._enter(scope, receive, sending)
        except ServiceError as fault:
            if not began:
                await answered(fault)(scope, receive, sending)
        except ConnectionError:
            return
        except Exception:
            LOG.exception("%s %.200r failed", scope["method"], scope["path"])
            if began:
                raise
            await answered(ServiceError("this failed here: see the log"))(scope, receive, sending)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        method, path = scope["method"], scope["path"]
        await self.guard.admit(method, path, headers, (scope.get("client") or ("",))[0])
        forward = self.forward if path.startswith("/v2/") else None
        if method in ("GET", "HEAD") and not (forward and method == "GET"):
            await self.app(scope, receive, send)
            return
        short = self.short.get(path) if method == "POST" else None
        room = Room()
        self.under_way += 1
        try:
            try:
                self._check_length(headers.get("content-length"))
                body = await self._body(receive, room)
            except ServiceError as fault:
                if short is not None:
                    self.skip(fault.kind, 1)
                raise
            if forward is not None and method in ("GET", "POST"):
                await (await forward(scope, headers, body))(scope, receive, send)
            elif short is not None:
                await (await short(headers, body))(scope, receive, send)
            else:
                await self.app(scope, _repeated(body, receive), send)
        finally:
            self.held -= room.taken
            self.under_way -= 1

    def _headers(self, scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
        if self.forward is not None and scope["path"].startswith("/v2/"):
            return ()
        return PLAIN_HEADERS if scope["method"] == "POST" else SECURITY_HEADERS

    def _check_length(self, length: str | None) -> None:
        """Whether a body may be as long as it says, and one more be read."""
        if length and length.isdigit() and int(length[:20]) > self.limits.body_bytes:
            raise Refused(
                f"a body has at most {self.limits.body_bytes:,} bytes: send fewer points",
                status=413,
                kind="size",
            )
        if self.under_way > self.limits.requests:
            raise Overloaded("too many requests are under way: send this one later")

    async def _body(self, receive: Receive, room: Room) -> bytes:
        """A body, counted as it comes: what is only announced takes no room from others."""
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionError
                    parts.append(message.get("body", b""))
                    self._make_room(room, len(parts[-1]))
                    if not message.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise Refused("the body came too slowly", status=408, kind="slow") from None

    def _make_room(self, room: Room, size: int) -> None:
        if room.taken + size > self.limits.body_bytes:
            raise Refused("the body is longer than it may be", status=413, kind="size")
        if self.held + size > self.limits.held_bytes:
            raise Overloaded("too many bytes are being read: send them later")
        room.taken += size
        self.held += size


def _repeated(body: bytes, receive: Receive) -> Receive:
    """A body that was read, to be read again."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
