"""The outermost layer: guard, body, headers, and a short way in for points."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from starlette.responses import Response

from anharmonic.service.answers import answered
from anharmonic.service.faults import Overloaded, Refused, ServiceError
from anharmonic.service.security import PLAIN_HEADERS, SECURITY_HEADERS, Guard
from anharmonic.service.settings import Limits

__all__ = ["Body", "Door"]

LOG = logging.getLogger("anharmonic.service")
Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Body = Callable[[dict[str, str], bytes], Awaitable[Response]]
Forward = Callable[[Scope, dict[str, str], bytes], Awaitable[Response]]


class Door:
    """An ASGI application around another.

    Bodies are read here, within limits on each and on all together, before anything else sees
    the request. Paths in `short` are answered at once with headers and body in hand: a
    framework's layers would take longer than the rest. `forward`, where there is a model server
    behind, answers what is below /v2/.
    """

    def __init__(
        self,
        app: App,
        guard: Guard,
        limits: Limits,
        short: Mapping[str, Body],
        forward: Forward | None = None,
    ) -> None:
        self.app, self.guard, self.limits = app, guard, limits
        self.short, self.forward = short, forward
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

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        method, path = scope["method"], scope["path"]
        self.guard.admit(method, path, headers)
        forward = self.forward if path.startswith("/v2/") else None
        if method in ("GET", "HEAD") and not (forward and method == "GET"):
            await self.app(scope, receive, send)
            return
        size = self._reserved(headers.get("content-length", "0" if method == "GET" else None))
        try:
            body = await self._body(receive, size)
            short = self.short.get(path) if method == "POST" else None
            if forward is not None and method in ("GET", "POST"):
                await (await forward(scope, headers, body))(scope, receive, send)
            elif short is not None:
                await (await short(headers, body))(scope, receive, send)
            else:
                await self.app(scope, _repeated(body, receive), send)
        finally:
            self.held -= size
            self.under_way -= 1

    def _headers(self, scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
        if self.forward is not None and scope["path"].startswith("/v2/"):
            return ()
        return PLAIN_HEADERS if scope["method"] == "POST" else SECURITY_HEADERS

    def _reserved(self, length: str | None) -> int:
        """Room for a body that says how long it is; for one that does not, the most it may be."""
        size = int(length) if length and length.isdigit() else self.limits.body_bytes
        if size > self.limits.body_bytes:
            raise Refused(
                f"a body has at most {self.limits.body_bytes:,} bytes: send fewer points",
                status=413,
                kind="size",
            )
        if self.held + size > self.limits.held_bytes:
            raise Overloaded("too many bytes are being read: send them later")
        if self.under_way >= self.limits.requests:
            raise Overloaded("too many requests are under way: send this one later")
        self.held += size
        self.under_way += 1
        return size

    async def _body(self, receive: Receive, most: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionError
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise Refused("the body is longer than it may be", status=413, kind="size")
                    if not message.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise Refused("the body came too slowly", status=408, kind="slow") from None


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
