"""The settings of a service, checked before it starts."""

from __future__ import annotations

import base64
import binascii
import ipaddress
from dataclasses import dataclass, field

from anharmonic.errors import SettingsError
from anharmonic.serve.http.limits import HttpLimits
from anharmonic.serve.monitor.retention import Retention

__all__ = ["Limits", "Settings", "signing_key"]

SHORTEST_TOKEN = 16


def signing_key(secret: str) -> bytes:
    """The key of a secret: what follows `whsec_` is base64, as in Standard Webhooks."""
    before, marker, encoded = secret.partition("whsec_")
    if before or not marker:
        return secret.encode()
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise SettingsError("ANHARMONIC_WEBHOOK_SECRET has no base64 after whsec_") from None


def _is_address(url: str) -> bool:
    """Whether this is an address that requests can be sent to, without trying."""
    import httpx

    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parts.scheme in ("http", "https") and bool(parts.raw_host)


@dataclass(frozen=True)
class Limits(HttpLimits):
    """What bounds the service's memory and its waiting, besides `HttpLimits`.

    Parameters
    ----------
    waiting_points, waiting_values
        Points in the queue, and their values (points times columns) in all.
    batch_points
        Requests are put into one batch until they hold this many points.
    gather_seconds
        The longest a request waits for others to share its batch with.
    patience_seconds
        The same for copies of a proxy's requests, which nobody waits for.
    model_seconds
        How long the model may take for a batch.
    housekeeping_seconds
        Between two looks for old events.
    probing_seconds
        Between two probes of the store, and of the model while it fails.
    streams
        Browsers that may show the dashboard at the same time.
    """

    waiting_points: int = 10_000
    waiting_values: int = 4_000_000
    batch_points: int = 512
    gather_seconds: float = 0.015
    patience_seconds: float = 0.25
    model_seconds: float = 30.0
    housekeeping_seconds: float = 30.0
    probing_seconds: float = 2.0
    streams: int = 32


@dataclass(frozen=True)
class Settings:
    """Where a service listens, who has access, what it keeps and where alarms go.

    Parameters
    ----------
    host, port
        Where it listens; other hosts than loopback need tokens.
    ingest_token, read_token
        What clients must send to post points, and to read; both or neither.
    upstream
        The address of a v2 model server, whose requests are forwarded and scored.
    upstream_model
        The watched model there, NAME or NAME/versions/V, where it is not the monitor's name.
    webhook, webhook_secret
        Where alarms are posted, and what signs them.
    retention
        When old events are deleted.
    limits
        What bounds memory and waiting.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    ingest_token: str | None = field(default=None, repr=False)
    read_token: str | None = field(default=None, repr=False)
    upstream: str | None = None
    upstream_model: str | None = None
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
        if self.ingest_token is not None and self.ingest_token == self.read_token:
            raise SettingsError("both tokens are the same: whoever reads could feed; make another")
        for token in tokens:
            if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii()):
                raise SettingsError(f"a token has at least {SHORTEST_TOKEN} ASCII characters")
        for name, url in (("--upstream", self.upstream), ("--webhook", self.webhook)):
            if url is not None and not _is_address(url):
                raise SettingsError(f"{name} {url}: give an http:// or https:// address")
        if self.webhook_secret is not None:
            signing_key(self.webhook_secret)

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
