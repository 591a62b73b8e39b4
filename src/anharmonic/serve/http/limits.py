"""What bounds a server's memory and its patience with requests."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HttpLimits"]


@dataclass(frozen=True)
class HttpLimits:
    """Bytes, requests, connections and seconds that a server grants its clients."""

    body_bytes: int = 8_000_000
    held_bytes: int = 64_000_000
    """Bodies read and not yet answered, all together."""
    requests: int = 2_000
    """Those with a body that may be under way."""
    connections: int = 4_000
    """Open at the same time, half of them from one address: idle ones make room for others."""
    head_seconds: float = 10.0
    """The longest a request's head may take to come."""
    body_seconds: float = 20.0
