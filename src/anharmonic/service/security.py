"""Who may come in, how much they may bring, and what browsers are told."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping

from anharmonic.service.faults import Refused
from anharmonic.service.settings import Settings

__all__ = ["PLAIN_HEADERS", "SECURITY_HEADERS", "Guard"]

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
OPEN = ("/healthz",)
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """Lets a request in, or raises `Refused`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.guarded = settings.ingest_token is not None

    def admit(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Check the token of the role that a request needs: posts feed, the rest reads."""
        if path in OPEN or (self.settings.upstream is not None and path.startswith("/v2/")):
            return
        if not self.guarded:
            self._local(headers.get("host", ""))
            return
        role = "ingest" if method == "POST" else "read"
        token = self.settings.ingest_token if role == "ingest" else self.settings.read_token
        given = _token(headers.get("authorization", ""), basic=role == "read")
        if not hmac.compare_digest(given.encode(), str(token).encode()):
            raise Refused(f"this needs the {role} token", status=401, kind="unauthorized")

    def _local(self, host: str) -> None:
        """Without tokens only pages of this machine may ask: a name that points here is none."""
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name.lower() not in (*LOCAL_NAMES, self.settings.host):
            raise Refused(
                "this service answers to localhost only: set tokens", status=421, kind="host"
            )


def _token(authorization: str, basic: bool) -> str:
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
