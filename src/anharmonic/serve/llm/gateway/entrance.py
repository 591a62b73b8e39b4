"""Which requests a gateway accepts: Host and Origin headers, tokens, paths."""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from anharmonic.errors import SettingsError
from anharmonic.serve.http.origins import is_one_of
from anharmonic.serve.http.problems import BadRequest

__all__ = ["LOOPBACK", "Entrance"]

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
POSTED: Final = (
    *("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"),
    "/v1/moderations",
)
MODELS: Final = "/v1/models"
TOKEN: Final = b"x-anharmonic-token"
PLAIN: Final = re.compile(r"(/[\w.~:@+=,-]+)+", re.ASCII)
"""A path that no server can read in two ways: nothing escaped, no backslash, no empty part."""
QUERY: Final = re.compile(rb"[!-\"$-~]*")


@dataclass(frozen=True)
class Entrance:
    """Accepts a request, or raises `BadRequest`.

    Parameters
    ----------
    token
        What clients must show, as a bearer token or in the header x-anharmonic-token.
    hosts
        Host headers that are accepted; None is any, and needs a token.
    paths
        Further paths to which clients may post, besides OpenAI's.
    """

    token: str | None = None
    hosts: Collection[str] | None = LOOPBACK
    paths: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.hosts is None and not self.token:
            raise SettingsError("a gateway that others can reach needs a token: set one")
        for path in self.paths:
            if not (path.startswith("/v1/") and _plain(path)):
                raise SettingsError(f"a path such as /v1/rerank, not {path!r}")

    def admit(self, method: str, headers: dict[bytes, bytes]) -> None:
        """Reject foreign Host and Origin headers (DNS rebinding), and clients without the token."""
        if self.hosts is not None and not (
            self._own_host(headers.get(b"host", b"")) and self._own_page(headers)
        ):
            raise BadRequest("this gateway serves programs on its own machine only", 403)
        if self.token and method != "OPTIONS" and not self.knows_token(headers):
            raise BadRequest("show this gateway's token: Authorization: Bearer …", 401)

    def knows_token(self, headers: dict[bytes, bytes]) -> bool:
        """Whether a client has shown the token, in either way."""
        shown = headers.get(TOKEN, b"")
        token = (self.token or "").encode()
        # In constant time, so that answers' times give nothing away.
        return hmac.compare_digest(shown, token) or self.shown_as_bearer(headers)

    def shown_as_bearer(self, headers: dict[bytes, bytes]) -> bool:
        """Whether what looks like a client's own key is this gateway's token."""
        scheme, _, value = headers.get(b"authorization", b"").partition(b" ")
        shown = value.strip() if scheme.lower() == b"bearer" else b""
        return bool(self.token) and hmac.compare_digest(shown, (self.token or "").encode())

    def route(self, method: str, raw: bytes, query: bytes) -> str:
        """The path to ask for at the server behind, if clients may ask for it."""
        path = raw.decode("latin-1")
        if not (_plain(path) and QUERY.fullmatch(query)):
            raise BadRequest("write the path plainly: letters, digits and - . _ ~ : @ + = ,", 400)
        posted = path in POSTED or path in self.paths
        if not (posted or path == MODELS or path.startswith(MODELS + "/")):
            raise BadRequest(f"ask for {POSTED[0]}, {MODELS} or /anharmonic/status", 404)
        if method not in ("POST" if posted else "GET", "OPTIONS"):
            raise BadRequest(f"{path} is asked with {'POST' if posted else 'GET'}", 405)
        return path

    def _own_page(self, headers: dict[bytes, bytes]) -> bool:
        """Pages send an Origin; an image or a link sends none, but says where it stands."""
        origin = headers.get(b"origin")
        if origin is not None:
            try:
                return self._own_host(urlsplit(origin.decode("latin-1")).netloc.encode("latin-1"))
            except ValueError:
                return False
        return headers.get(b"sec-fetch-site", b"none") in (b"none", b"same-origin")

    def _own_host(self, host: bytes) -> bool:
        """Whether a Host is one of `hosts`: a foreign name that resolves to this machine is not."""
        return is_one_of(host.decode("latin-1"), self.hosts or ())


def _plain(path: str) -> bool:
    folded = any(part.strip(".") == "" for part in path.split("/")[1:])
    return PLAIN.fullmatch(path) is not None and not folded
