"""Who may come in, how much they may bring, and what browsers are told."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
from collections.abc import Mapping

from anharmonic.serve.http import LogThrottle, is_cross_origin, is_local_host
from anharmonic.serve.http.problems import BadRequest, Overloaded

__all__ = ["PLAIN_HEADERS", "SECURITY_HEADERS", "Guard", "token_of"]

LOG = logging.getLogger("anharmonic.serve.monitor")
SECURITY_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
PLAIN_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
"""For answers no browser shows as a page."""
OPEN = ("/healthz", "/livez", "/readyz")
SAFE = ("GET", "HEAD", "OPTIONS")
WRONG_SECONDS = 0.5
"""What a wrong token waits for its answer, so that guessing is slow."""
MOST_WRONG = 64
"""Wrong tokens that wait at the same time; more are turned away at once."""


class Guard:
    """Lets a request in, or raises `BadRequest`; what it refuses leaves a line in the log."""

    def __init__(
        self, host: str, ingest_token: str | None, read_token: str | None, forwards: bool = False
    ) -> None:
        """Listening on `host`; with `forwards`, a model server stands behind /v2/."""
        self.host, self.forwards = host, forwards
        self.ingest_token, self.read_token = ingest_token, read_token
        self.guarded = ingest_token is not None
        self._wrong = 0
        self._throttle = LogThrottle()

    async def admit(self, method: str, path: str, headers: Mapping[str, str], address: str) -> None:
        """Check where a request comes from, and the token of the role that it needs.

        Posts feed, the rest reads. What goes on to a model server has that server's guard.
        """
        if path in OPEN:
            return
        try:
            self._admit_page(method, headers)
            if not self._forwarded(path):
                self._admit_role(method, headers)
        except BadRequest as fault:
            if told := self._throttle.due(f"{address} {fault.kind}"):
                LOG.warning("refused %s from %s: %s (%d times)", method, address, fault, told)
            if fault.kind == "unauthorized" and headers.get("authorization"):
                await self._slowed()
            raise

    def _forwarded(self, path: str) -> bool:
        return self.forwards and path.startswith("/v2/")

    def _admit_page(self, method: str, headers: Mapping[str, str]) -> None:
        """No page of elsewhere: none that sends, and without tokens none by another name."""
        if method not in SAFE and is_cross_origin(headers):
            raise BadRequest("a web page of elsewhere may not send this", status=403, kind="origin")
        if not self.guarded and not is_local_host(headers.get("host", ""), self.host):
            raise BadRequest(
                "this service answers to localhost only: set tokens", status=421, kind="host"
            )

    def _admit_role(self, method: str, headers: Mapping[str, str]) -> None:
        if not self.guarded:
            return
        role = "ingest" if method == "POST" else "read"
        token = self.ingest_token if role == "ingest" else self.read_token
        given = token_of(headers.get("authorization", ""), basic=role == "read")
        if not hmac.compare_digest(given.encode(), str(token).encode()):
            raise BadRequest(f"this needs the {role} token", status=401, kind="unauthorized")

    async def _slowed(self) -> None:
        if self._wrong >= MOST_WRONG:
            raise Overloaded("too many wrong tokens: try again later")
        self._wrong += 1
        try:
            await asyncio.sleep(WRONG_SECONDS)
        finally:
            self._wrong -= 1


def token_of(authorization: str, basic: bool) -> str:
    """A bearer token; browsers send it as a password."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if basic and scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return ""
    return ""
