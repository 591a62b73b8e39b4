"""The outermost layer: guard, body, headers, and a short way in for points."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from anharmonic.serve.http.body import check_announced, read_body
from anharmonic.serve.http.limits import HttpLimits
from anharmonic.serve.http.problems import Overloaded, ServiceError
from anharmonic.serve.http.responses import problem_response
from anharmonic.serve.http.security import PLAIN_HEADERS, SECURITY_HEADERS, Guard

__all__ = ["Application", "Body"]

LOG = logging.getLogger("anharmonic.serve.monitor")
Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Body = Callable[[dict[str, str], bytes], Awaitable[Response]]
Forward = Callable[[Scope, dict[str, str], bytes], Awaitable[Response]]


@dataclass(slots=True)
class HeldBytes:
    """Bytes of one body that are in memory."""

    size: int = 0


class Application:
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
        limits: HttpLimits,
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
                await problem_response(fault)(scope, receive, sending)
        except ConnectionError:
            return
        except Exception:
            LOG.exception("%s %.200r failed", scope["method"], scope["path"])
            if began:
                raise
            await problem_response(ServiceError("this failed here: see the log"))(
                scope, receive, sending
            )

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
        held = HeldBytes()
        self.under_way += 1
        try:
            try:
                self._check_length(headers.get("content-length"))
                body = await self._body(receive, held)
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
            self.held -= held.size
            self.under_way -= 1

    def _headers(self, scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
        if self.forward is not None and scope["path"].startswith("/v2/"):
            return ()
        return PLAIN_HEADERS if scope["method"] == "POST" else SECURITY_HEADERS

    def _check_length(self, length: str | None) -> None:
        """Whether a body may be as long as it says, and one more be read."""
        check_announced(length, self.limits.body_bytes)
        if self.under_way > self.limits.requests:
            raise Overloaded("too many requests are under way: send this one later")

    async def _body(self, receive: Receive, held: HeldBytes) -> bytes:
        """A body, counted as it comes: what is only announced takes no room from others."""

        def take(size: int) -> None:
            if self.held + size > self.limits.held_bytes:
                raise Overloaded("too many bytes are being read: send them later")
            held.size += size
            self.held += size

        return await read_body(receive, self.limits.body_bytes, self.limits.body_seconds, take)


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
