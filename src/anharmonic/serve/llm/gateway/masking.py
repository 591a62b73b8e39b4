"""The operator's key, taken out of whatever a server echoes, also where pieces cut it in two."""

from __future__ import annotations

import html
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final
from urllib.parse import quote

__all__ = ["Mask"]

SHORTEST: Final = 8
PLACEHOLDERS: Final = {"lm-studio", "not-needed", "no-key-required"}
"""Servers without keys are given such a word, which may stand in any answer."""


class Mask:
    """Stars for every byte of `key`, as it is or as JSON, URLs and HTML escape it.

    As many stars as bytes, so that the length that a server announced stays true. A key of fewer
    than 8 characters is taken for a placeholder.

    >>> Mask("sk-secret/1")(b"Bearer sk-secret/1, again sk-secret%2F1")
    b'Bearer ***********, again *************'
    """

    def __init__(self, key: str) -> None:
        secret = len(key) >= SHORTEST and key not in PLACEHOLDERS
        # Longest first: of two that begin alike a regular expression takes the first.
        self._spellings = sorted(_spellings(key), key=len, reverse=True) if secret else []
        self._pattern = re.compile(b"|".join(map(re.escape, self._spellings)) or b"(?!)")

    def __call__(self, data: bytes) -> bytes:
        return self._pattern.sub(lambda match: b"*" * len(match[0]), data)

    def text(self, text: str) -> str:
        """The same for text."""
        raw = text.encode("utf-8", "surrogatepass")
        return self(raw).decode("utf-8", "surrogatepass")

    async def pieces(self, source: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
        """Pieces as they come; an end that may be a key's beginning waits for the next."""
        held = b""
        async for piece in source:
            masked = self(held + piece)
            cut = len(masked) - self._unfinished(masked)
            held = masked[cut:]
            if cut:
                yield masked[:cut]
        if held:
            yield held

    def _unfinished(self, data: bytes) -> int:
        """How many bytes at the end may be a key's beginning."""
        longest = min(len(data), len(self._spellings[0]) - 1) if self._spellings else 0
        for size in range(longest, 0, -1):
            end = data[-size:]
            if any(text.startswith(end) for text in self._spellings if len(text) > size):
                return size
        return 0


def _spellings(key: str) -> set[bytes]:
    """A key as it is, and as JSON, URLs and HTML escape it."""
    escaped = json.dumps(key)[1:-1]
    texts = {
        key,
        escaped,
        escaped.replace("/", "\\/"),
        json.dumps(key, ensure_ascii=False)[1:-1],
        quote(key),
        quote(key, safe=""),
        html.escape(key),
    }
    return {text.encode() for text in texts}
