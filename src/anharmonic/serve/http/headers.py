"""Hop-by-hop headers: they are about one connection, and a proxy does not pass them on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["HOP_BY_HOP", "Pairs", "end_to_end"]

Pairs = Iterable[tuple[bytes, bytes]]
HOP_BY_HOP: Final = frozenset(
    (
        *(b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade"),
        *(b"expect", b"proxy-connection", b"proxy-authorization", b"proxy-authenticate"),
    )
)
"""RFC 9110, section 7.6.1, and `expect`, which was answered here."""


def end_to_end(headers: Pairs, dropped: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """Headers for the next server, without the hop-by-hop ones and those in `dropped`.

    >>> end_to_end([(b"connection", b"x-mine"), (b"x-mine", b"1"), (b"accept", b"*/*")])
    [(b'accept', b'*/*')]
    """
    pairs = list(headers)
    # A Connection header names further headers that are hop-by-hop in this message.
    named = {
        name.strip().lower()
        for key, value in pairs
        if key.lower() == b"connection"
        for name in value.split(b",")
    }
    left_out = HOP_BY_HOP | named | set(dropped)
    return [(name, value) for name, value in pairs if name.lower() not in left_out]
