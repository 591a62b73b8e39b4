"""Access control: origin, Host header and tokens of requests; security headers of responses."""

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
"""For responses that no browser shows as a page."""
OPEN = ("/healthz", "/livez", "/readyz")
"""Paths without access control, for probes of an orchestrator."""
SAFE = ("GET", "HEAD", "OPTIONS")
WRONG_SECONDS = 0.5
"""How long the answer to a wrong token is delayed, so that guessing is slow."""
MOST_WRONG = 64
"""Answers that may be delayed at the same time; further ones are refused at once."""


class Guard:
    """Admits a request, or raises `BadRequest` and writes a line to the log.

    Parameters
    ----------
    host
        The address that the service listens on.
    ingest_token, read_token
        For POST requests and for all others; both None where only this machine has access.
    forwards
        Whether a model server stands behind /v2/, with access control of its own.
    """

    def __init__(
        self, host: str, ingest_token: str | None, read_token: str | None, forwards: bool = False
    ) -> None:
        self.host, self.forwards = host, forwards
        self.ingest_token, self.read_token = ingest_token, read_token
        self.guarded = ingest_token is not None
        self._wrong = 0
        self._throttle = LogThrottle()

    async def admit(self, method: str, path: str, headers: Mapping[str, str], address: str) -> None:
        """Check where a request comes from, and the token of the role that it needs.

        POST needs the ingest token, the rest the read token. What is forwarded to a model server
        is left to that server's own access control.
        """
        if path in OPEN:
            return
        try:
            self._check_origin(method, headers)
            if not self._is_forwarded(path):
                self._check_token(method, headers)
        except BadRequest as fault:
            if times := self._throttle.due(f"{address} {fault.kind}"):
                LOG.warning("refused %s from %s: %s (%d times)", method, address, fault, times)
            if fault.kind == "unauthorized" and headers.get("authorization"):
                await self._delay()
            raise

    def _is_forwarded(self, path: str) -> bool:
        return self.forwards and path.startswith("/v2/")

    def _check_origin(self, method: str, headers: Mapping[str, str]) -> None:
        """Reject writes of other origins (CSRF); without tokens also foreign Host headers.

        The latter is DNS rebinding: a page points a name of its own at this machine, and the
        browser then takes both for one origin.
        """
        if method not in SAFE and is_cross_origin(headers):
            raise BadRequest("a web page of elsewhere may not send this", status=403, kind="origin")
        if not self.guarded and not is_local_host(headers.get("host", ""), self.host):
            raise BadRequest(
                "this service answers to localhost only: set tokens", status=421, kind="host"
            )

    def _check_token(self, method: str, headers: Mapping[str, str]) -> None:
        if not self.guarded:
            return
        role = "ingest" if method == "POST" else "read"
        token = self.ingest_token if role == "ingest" else self.read_token
        sent = token_of(headers.get("authorization", ""), basic=role == "read")
        # Takes as long for a token that is nearly right as for any other.
        if not hmac.compare_digest(sent.encode(), str(token).encode()):
            raise BadRequest(f"this needs the {role} token", status=401, kind="unauthorized")

    async def _delay(self) -> None:
        """Wait before a wrong token is answered."""
        if self._wrong >= MOST_WRONG:
            raise Overloaded("too many wrong tokens: try again later")
        self._wrong += 1
        try:
            await asyncio.sleep(WRONG_SECONDS)
        finally:
            self._wrong -= 1


def token_of(authorization: str, basic: bool) -> str:
    """The token in an Authorization header; with `basic` also as a password, for browsers."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if basic and scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return ""
    return ""
