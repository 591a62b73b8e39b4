"""How a service is set up, and what is refused before it starts."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from anharmonic.errors import SettingsError
from anharmonic.service.retention import Retention

__all__ = ["Limits", "Settings"]

SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Limits:
    """What bounds the service's memory and its patience."""

    body_bytes: int = 8_000_000
    held_bytes: int = 64_000_000
    """Bodies read and not yet answered, all together."""
    requests: int = 2_000
    """Those with a body that may be under way; twice as many connections may be open."""
    waiting_points: int = 10_000
    waiting_values: int = 4_000_000
    """What waits has at most so many points, and at most so many features in all."""
    batch_points: int = 512
    """Requests are put together until they hold this many points."""
    gather_seconds: float = 0.015
    """The longest a request waits for others to share its batch with."""
    patience_seconds: float = 0.25
    """The same for copies of a proxy's requests, which nobody waits for."""
    model_seconds: float = 30.0
    body_seconds: float = 20.0
    housekeeping_seconds: float = 30.0
    streams: int = 32
    """Browsers that may watch at the same time."""


@dataclass(frozen=True)
class Settings:
    """Where a service listens, who may come in, what it keeps and whom it tells."""

    host: str = "127.0.0.1"
    port: int = 8000
    ingest_token: str | None = field(default=None, repr=False)
    read_token: str | None = field(default=None, repr=False)
    upstream: str | None = None
    webhook: str | None = None
    webhook_secret: str | None = field(default=None, repr=False)
    retention: Retention = field(default_factory=Retention)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        tokens = (self.ingest_token, self.read_token)
        if not self.local and not all(tokens):
            raise SettingsError(
                f"{self.host} can be reached from elsewhere: set ANHARMONIC_INGEST_TOKEN and "
                "ANHARMONIC_READ_TOKEN, or listen on 127.0.0.1"
            )
        if any(tokens) and not all(tokens):
            raise SettingsError("one of the two tokens is missing: set both, or neither")
        for token in tokens:
            if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii()):
                raise SettingsError(f"a token has at least {SHORTEST_TOKEN} ASCII characters")
        for name, url in (("--upstream", self.upstream), ("--webhook", self.webhook)):
            if url is not None and not url.startswith(("http://", "https://")):
                raise SettingsError(f"{name} {url}: give an http:// or https:// address")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
