"""The outermost ASGI layer: access control, body limits, headers, and a direct path for points."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anharmonic.serve.http.body import check_announced, read_body
from anharmonic.serve.http.limits import HttpLimits
from anharmonic.serve.http.problems import Overloaded, ServiceError
from anharmonic.serve.http.responses import problem_response
from anharmonic.serve.http.security import PLAIN_HEADERS, SECURITY_HEADERS, Guard

__all__ = ["Application", "BodyHandler"]

LOG = logging.getLogger("anharmonic.serve.monitor")
BodyHandler = Callable[[dict[str, str], bytes], Awaitable[Response]]
"""From a request's headers and body to its response."""
Forward = Callable[[Scope, dict[str, str], bytes], Awaitable[Response]]


@dataclass(slots=True)
class HeldBytes:
    """Bytes of one body that are in memory."""

    size: int = 0


class Application:
    """An ASGI application around another.

    Bodies are read here, within limits on each and on all together, before anything else sees
    the request.

    Parameters
    ----------
    app
        The application that answers everything else.
    guard
        Checks origin, Host header and token of every request.
    limits
        Bytes, requests and seconds granted to bodies.
    direct
        Handlers by path for POST requests that are answered here, past `app`: a framework's
        routing and validation would take longer than all the rest.
    skip
        Is called with a kind of problem and a count for requests to `direct` paths that are
        refused before their handler sees them.
    forward
        Answers what is below /v2/, where there is a model server behind.
    """

    def __init__(
        self,
        app: ASGIApp,
        guard: Guard,
        limits: HttpLimits,
        direct: Mapping[str, BodyHandler],
        skip: Callable[[str, int], None],
        forward: Forward | None = None,
    ) -> None:
        self.app, self.guard, self.limits = app, guard, limits
        self.direct, self.skip, self.forward = direct, skip, forward
        self.held_bytes = self.requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # There are no websockets here: whoever asks for one is left without an answer.
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        response_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal response_started
            if message["type"] == "http.response.start":
                response_started = True
                message["headers"] = [*message["headers"], *self._extra_headers(scope)]
            await send(message)

        try:
            await self._handle(scope, receive, send_with_headers)
        except ServiceError as fault:
            if not response_started:
                await problem_response(fault)(scope, receive, send_with_headers)
        except ConnectionError:
            # The client has hung up: there is nobody to answer.
            return
        except Exception:
            LOG.exception("%s %.200r failed", scope["method"], scope["path"])
            if response_started:
                # Half a response cannot become a problem: uvicorn closes the connection.
                raise
            await problem_response(ServiceError("this failed here: see the log"))(
                scope, receive, send_with_headers
            )

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        method, path = scope["method"], scope["path"]
        await self.guard.admit(method, path, headers, (scope.get("client") or ("",))[0])
        forward = self.forward if path.startswith("/v2/") else None
        if method in ("GET", "HEAD") and not (forward and method == "GET"):
            await self.app(scope, receive, send)
            return
        handler = self.direct.get(path) if method == "POST" else None
        held = HeldBytes()
        self.requests += 1
        try:
            try:
                self._check_length(headers.get("content-length"))
                body = await self._read_body(receive, held)
            except ServiceError as fault:
                if handler is not None:
                    self.skip(fault.kind, 1)
                raise
            if forward is not None and method in ("GET", "POST"):
                await (await forward(scope, headers, body))(scope, receive, send)
            elif handler is not None:
                await (await handler(headers, body))(scope, receive, send)
            else:
                await self.app(scope, _replay(body, receive), send)
        finally:
            self.held_bytes -= held.size
            self.requests -= 1

    def _extra_headers(self, scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
        """Headers that a response gets here; a forwarded one stays as it came."""
        if self.forward is not None and scope["path"].startswith("/v2/"):
            return ()
        return PLAIN_HEADERS if scope["method"] == "POST" else SECURITY_HEADERS

    def _check_length(self, length: str | None) -> None:
        """Refuse a body that announces too much, or one request too many."""
        check_announced(length, self.limits.body_bytes)
        if self.requests > self.limits.requests:
            raise Overloaded("too many requests are under way: send this one later")

    async def _read_body(self, receive: Receive, held: HeldBytes) -> bytes:
        """A body, counted as it comes: what is only announced takes no memory from others."""

        def take(size: int) -> None:
            if self.held_bytes + size > self.limits.held_bytes:
                raise Overloaded("too many bytes are being read: send them later")
            held.size += size
            self.held_bytes += size

        return await read_body(receive, self.limits.body_bytes, self.limits.body_seconds, take)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read once more, then what `receive` gives."""
    replayed = False

    async def receive_again() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
