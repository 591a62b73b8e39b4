"""A model server's address: what to call, and what may be shown of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from anharmonic.errors import SettingsError

__all__ = ["Address", "parse_address"]


@dataclass(frozen=True)
class Address:
    """A model on a server, and what of its address may be shown.

    Parameters
    ----------
    shown
        The address without credentials.
    model
        The model's name.
    output
        The name of the output that is wanted, the address's fragment, if any.
    query, user
        What requests carry: the query string, and the name and password for basic authentication.
    secrets
        Texts that nobody should read, wherever they may be echoed.
    """

    shown: str
    model: str
    output: str
    query: str = field(repr=False)
    user: tuple[str, str] | None = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def metadata(self) -> str:
        return self.shown + self.query

    @property
    def infer(self) -> str:
        return f"{self.shown}/infer{self.query}"


def parse_address(url: str) -> Address:
    """Read `http(s)://host:port/v2/models/NAME[/versions/V][/infer][#OUTPUT]`.

    >>> address = parse_address("https://me:secret@host:8080/v2/models/wine/infer?key=1#scores")
    >>> address.shown, address.model, address.output
    ('https://host:8080/v2/models/wine', 'wine', 'scores')
    >>> "secret" in repr(address)
    False
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SettingsError(f"The model's address cannot be read: {_HOW}") from None
    path = parts.path.rstrip("/").removesuffix("/infer").removesuffix("/ready")
    _, marker, tail = path.rpartition("/v2/models/")
    if not parts.hostname or not marker or not tail:
        raise SettingsError(f"The address names no model on a server: {_HOW}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    authority = host if port is None else f"{host}:{port}"
    user = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    values = [value for _, value in parse_qsl(parts.query) if len(value) > 3]
    secrets = (parts.query, parts.username, parts.password, *(user or ()), *values)
    return Address(
        shown=urlunsplit((parts.scheme, authority, path, "", "")),
        model=unquote(tail.split("/")[0]),
        output=unquote(parts.fragment),
        query=f"?{parts.query}" if parts.query else "",
        user=user,
        # Longest first, so that no secret is left half shown by a shorter one inside it.
        secrets=tuple(sorted({secret for secret in secrets if secret}, key=len, reverse=True)),
    )


_HOW = "write http://HOST:PORT/v2/models/NAME (Open Inference Protocol v2)."
