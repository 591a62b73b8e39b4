"""Bodies of requests, counted while they come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final

from anharmonic.serve.http.problems import BadRequest

__all__ = ["Disconnected", "Receive", "check_announced", "read_body"]

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
DRAIN_SECONDS: Final = 2.0
"""How long what is too much is still taken in, so that its sender reads why."""


class Disconnected(ConnectionError):
    """The client has hung up."""


def check_announced(length: str | None, largest: int) -> None:
    """Refuse a body by the length that its head announces."""
    if length is not None and not (length.isascii() and length.isdigit() and len(length) < 20):
        raise BadRequest("content-length is no number of bytes", 400, "length")
    if length and int(length) > largest:
        raise _too_long(largest)


async def read_body(
    receive: Receive,
    largest: int,
    seconds: float,
    take: Callable[[int], None] | None = None,
    drain: bool = False,
) -> bytes:
    """A whole body. `take` hears of every piece's size and may raise.

    With `drain`, what is left of a body that is too long is read and thrown away for a moment:
    a client that only sends would otherwise see a reset instead of the answer.
    """
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > largest:
                    parts.clear()
                    if drain:
                        await _drain(receive)
                    raise _too_long(largest)
                if take is not None:
                    take(len(parts[-1]))
                if not message.get("more_body"):
                    return parts[0] if len(parts) == 1 else b"".join(parts)
    except TimeoutError:
        raise BadRequest(f"the body did not come within {seconds:g} s", 408, "slow") from None


def _too_long(largest: int) -> BadRequest:
    return BadRequest(f"a body has at most {largest:,} bytes here", 413, "size")


async def _drain(receive: Receive) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while (await receive()).get("more_body"):
                pass
