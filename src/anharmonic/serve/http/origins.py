"""Whether a request was made by a web page of another origin.

A browser sends what any page makes it send, from inside the machine and the network it runs in.
It marks such requests with headers that no page can set: `Sec-Fetch-Site`, and `Origin` with every
POST. Programs send neither.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

__all__ = ["is_cross_origin", "is_local_host", "is_one_of"]

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


def is_cross_origin(headers: Mapping[str, str]) -> bool:
    """Whether a page that this server did not serve is behind a request (CSRF).

    Parameters
    ----------
    headers
        Of the request, with names in lower case.

    >>> is_cross_origin({"host": "127.0.0.1:8000"})
    False
    >>> is_cross_origin({"host": "127.0.0.1:8000", "origin": "http://evil.test"})
    True
    >>> is_cross_origin({"host": "127.0.0.1:8000", "sec-fetch-site": "cross-site"})
    True
    >>> is_cross_origin({"host": "127.0.0.1:8000", "origin": "http://127.0.0.1:8000"})
    False
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    except ValueError:
        return True


def is_local_host(host: str, *others: str) -> bool:
    """Whether a Host header names this machine itself, or one of `others`.

    Against DNS rebinding: a page can point a name of its own at 127.0.0.1, and its requests then
    carry that name.

    Parameters
    ----------
    host
        The Host header, with or without a port.
    others
        Further names that are allowed.

    >>> is_local_host("localhost:8000"), is_local_host("[::1]"), is_local_host("evil.test:8000")
    (True, True, False)
    >>> is_local_host("127.0.0.1:80@evil.test")
    False
    """
    return is_one_of(host, (*LOCAL_NAMES, *others))


def is_one_of(host: str, names: Collection[str]) -> bool:
    """Whether a Host header, with or without a port, holds one of these names."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, ""
    return (not port or port.isdigit()) and name.lower() in names
