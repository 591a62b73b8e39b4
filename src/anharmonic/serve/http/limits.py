"""What bounds a server's memory and the time that requests may take."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HttpLimits"]


@dataclass(frozen=True)
class HttpLimits:
    """Bytes, requests, connections and seconds that a server grants its clients.

    Parameters
    ----------
    body_bytes
        In one body.
    held_bytes
        In bodies read and not yet answered, all together.
    requests
        With a body, being read or answered at the same time.
    connections
        Open at the same time, half of them from one address; over it, idle ones are closed.
    head_seconds
        The longest a request's head may take to come.
    body_seconds
        The longest a body may take to come.
    """

    body_bytes: int = 8_000_000
    held_bytes: int = 64_000_000
    requests: int = 2_000
    connections: int = 4_000
    head_seconds: float = 10.0
    body_seconds: float = 20.0
