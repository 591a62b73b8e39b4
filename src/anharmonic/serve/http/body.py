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
"""How long the rest of a body that is too long is read, so that its sender sees the answer."""


class Disconnected(ConnectionError):
    """The client has hung up."""


def check_announced(length: str | None, largest: int) -> None:
    """Refuse a body by its Content-Length, before any of it is read."""
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
    """A whole body. `take` is called with the size of every chunk and may raise.

    With `drain`, what is left of a body that is too long is read and thrown away for a moment:
    a client that only sends would otherwise see a reset instead of the answer.
    """
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > largest:
                    chunks.clear()
                    if drain:
                        await _drain(receive)
                    raise _too_long(largest)
                if take is not None:
                    take(len(chunks[-1]))
                if not message.get("more_body"):
                    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
    except TimeoutError:
        raise BadRequest(f"the body did not come within {seconds:g} s", 408, "slow") from None


def _too_long(largest: int) -> BadRequest:
    return BadRequest(f"a body has at most {largest:,} bytes here", 413, "size")


async def _drain(receive: Receive) -> None:
    """Read and drop what is left: a reset while the client still sends hides the answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while (await receive()).get("more_body"):
                pass
