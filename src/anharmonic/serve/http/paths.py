"""Paths that are what they seem: nothing in them is folded, cut or decoded later."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

__all__ = ["is_plain_path"]


def is_plain_path(raw: bytes) -> bool:
    r"""Whether a path has no dots, encoded slashes, empty parts or control characters.

    Servers differ in what they make of these, so a check here would say nothing about there.

    >>> is_plain_path(b"/v2/models/a.b%20c/infer"), is_plain_path(b"/v2/../admin")
    (True, False)
    >>> is_plain_path(b"/v2/%2e%2e/admin"), is_plain_path(b"/v2/..%2fadmin")
    (False, False)
    >>> is_plain_path(b"/v2//admin")
    False
    >>> is_plain_path(b"/v2/%252e%252e/admin"), is_plain_path(b"/v2/a\\..\\b")
    (False, False)
    """
    if not raw.startswith(b"/"):
        return False
    parts = raw[1:].split(b"/")
    # An empty last part is a slash at the end, which means nothing else.
    return all(
        _plain(part) or (not part and place == len(parts) - 1) for place, part in enumerate(parts)
    )


def _plain(part: bytes) -> bool:
    decoded = unquote_to_bytes(part)
    if decoded in (b"", b".", b"..") or any(each in decoded for each in b"/\\%?#;"):
        return False
    return all(each >= 0x20 and each != 0x7F for each in decoded)
