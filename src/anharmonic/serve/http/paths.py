"""Paths that every server reads alike: nothing in them is normalised, cut or decoded later."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

__all__ = ["is_plain_path"]


def is_plain_path(raw: bytes) -> bool:
    r"""Whether a path has no dots, encoded slashes, empty parts or control characters.

    Servers differ in what they make of these, so a check of such a path here would say nothing
    about what the next server does with it.

    Parameters
    ----------
    raw
        The path as it came, without its query, percent-encoding included.

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
        _is_plain_part(part) or (not part and index == len(parts) - 1)
        for index, part in enumerate(parts)
    )


def _is_plain_part(part: bytes) -> bool:
    decoded = unquote_to_bytes(part)
    if decoded in (b"", b".", b"..") or any(byte in decoded for byte in b"/\\%?#;"):
        return False
    return all(byte >= 0x20 and byte != 0x7F for byte in decoded)
