"""The gateway as a plain ASGI application.

OpenAI's paths under /v1/ go to the server behind; chat completions are scored, a share of them in
the background, or one in line where its request says so.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from anharmonic.errors import MissingExtra
from anharmonic.llm.clients.endpoint import key_variable
from anharmonic.serve.http.body import Disconnected, Receive, check_announced, read_body
from anharmonic.serve.http.headers import end_to_end
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.llm.drift import ChatWatch
from anharmonic.serve.llm.gateway.allowance import Allowance
from anharmonic.serve.llm.gateway.chats import DONE, Exchange, answer_of, chat_of
from anharmonic.serve.llm.gateway.entrance import TOKEN, Entrance
from anharmonic.serve.llm.gateway.masking import Mask
from anharmonic.serve.llm.gateway.policy import Policy, withheld
from anharmonic.serve.llm.gateway.side import Place, Side
from anharmonic.serve.llm.scorer import Scorer

__all__ = ["Gateway"]

Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

LARGEST: Final = 32 * 2**20
"""Bytes of a request: chats may hold pictures."""
LONGEST: Final = 16 * 2**20
"""Bytes of an answer that is kept to be scored; a longer one is passed on unscored."""
SECONDS: Final = 60.0
"""For a request to arrive whole."""
NO_LIMIT: Final = 10**20
READABLE: Final = ("", "identity", "gzip", "deflate")
ASK: Final = b"x-anharmonic-score"


class Gateway:
    """Forwards to `url`; `scorer` measures what passes, and its status shows `watch`'s."""

    def __init__(
        self,
        url: str,
        scorer: Scorer,
        *,
        watch: ChatWatch | None = None,
        key: str | None = None,
        entrance: Entrance | None = None,
        allowance: Allowance | None = None,
        policy: Policy | None = None,
        timeout: float = 600.0,
        largest: int = LARGEST,
    ) -> None:
        """`key` names the environment variable that holds the server's key.

        `entrance` says who may come in, programs of this machine if not told; `allowance` what
        scoring may cost, and `policy` what becomes of an answer with a large gamma.
        """
        parts = urlsplit(url)
        self._url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._query, self._timeout, self._largest = parts.query.encode(), timeout, largest
        self._watch = watch
        self._variable = key_variable(url, key)
        self._entrance = Entrance() if entrance is None else entrance
        self._scorer, self._side = scorer, Side(scorer, allowance, policy)
        self.chats = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open the connections at the start, and end what is being scored at the end."""
        try:
            import httpx
        except ImportError as problem:
            raise MissingExtra("httpx", "llm") from problem
        await receive()
        limits = httpx.Limits(max_connections=1000, max_keepalive_connections=20)
        timeout = httpx.Timeout(self._timeout, connect=min(10.0, self._timeout))
        async with httpx.AsyncClient(timeout=timeout, limits=limits) as self._pool:
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._side.finish()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        method, path = scope["method"], scope["path"]
        try:
            self._entrance.admit(method, headers)
            if (method, path) == ("GET", "/anharmonic/status"):
                await _reply(send, 200, self.status())
            elif (method, path) == ("POST", "/anharmonic/reset") and self._watch:
                self._watch.reset()
                await _reply(send, 200, self.status())
            else:
                await self._forward(await self._asked(scope, headers, receive), receive, send)
        except BadRequest as refused:
            await _reply(send, refused.status, {"error": {"message": str(refused)}})
        except Disconnected:
            return  # nobody is there to be answered

    def status(self) -> dict[str, Any]:
        """How many chats passed, were scored, are being scored, were passed over; the watch."""
        return {
            "chats": self.chats,
            **self._side.status(),
            "watch": None if self._watch is None else self._watch.status(),
        }

    async def _asked(
        self, scope: dict[str, Any], headers: dict[bytes, bytes], receive: Receive
    ) -> Exchange:
        method, query = scope["method"], scope.get("query_string", b"")
        raw = scope.get("raw_path") or scope["path"].encode()
        path = self._entrance.route(method, raw.partition(b"?")[0], query)
        posted = method == "POST"
        if posted and b"json" not in headers.get(b"content-type", b""):
            # A page in a browser can post plain text anywhere; JSON it must ask leave for.
            raise BadRequest("send application/json", 415)
        announced = headers.get(b"content-length", b"0").decode("latin-1")
        # A client that waits to be told to go on need not send what will not be taken.
        check_announced(announced, self._largest if b"expect" in headers else NO_LIMIT)
        body = await read_body(receive, self._largest, SECONDS, drain=True)
        wish = headers.get(ASK, b"").decode("latin-1").strip().lower()
        chat = chat_of(path, body) if posted else None
        return Exchange(method, path, query, headers, body if posted else b"", chat, wish)

    async def _forward(self, asked: Exchange, receive: Receive, send: Send) -> None:
        """Exchange with the server behind, for as long as the client is there."""
        work = asyncio.create_task(self._exchanged(asked, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            work.cancel()
            leaving.cancel()
            await asyncio.gather(work, leaving, return_exceptions=True)

    async def _exchanged(self, asked: Exchange, send: Send) -> None:
        import httpx

        key = os.environ.get(self._variable, "").strip()
        query = b"&".join(part for part in (self._query, asked.query) if part).decode("ascii")
        url = self._url + asked.path.removeprefix("/v1") + (f"?{query}" if query else "")
        try:
            request = self._pool.build_request(
                asked.method, url, content=asked.body, headers=self._headers(asked, key)
            )
            response = await self._pool.send(request, stream=True)
        except httpx.TimeoutException:
            raise BadRequest("the server behind did not answer in time", 504) from None
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            about = f"the server behind did not answer: {type(problem).__name__}"
            raise BadRequest(about, 502) from None
        try:
            await self._pass_on(asked, response, Mask(key), send)
        finally:
            await response.aclose()

    async def _pass_on(self, asked: Exchange, response: Any, mask: Mask, send: Send) -> None:
        """The response as it comes, without the key; scored where it is a whole chat's."""
        number, status = self.chats, response.status_code
        self.chats += asked.chat is not None
        packed = response.headers.get("content-encoding", "").strip().lower()
        if not 200 <= status < 600 or packed not in READABLE:
            raise BadRequest("the server behind answered in a way that cannot be passed on", 502)
        headers = _kept(response.headers.raw, mask, unpacked=packed not in ("", "identity"))
        place = None
        if asked.chat is not None and status == 200:
            place = self._side.place(number, asked)
        pieces = mask.pieces(response.aiter_bytes())
        if place is not None and not asked.streamed:
            await self._whole(place, response, pieces, mask, headers, send)
            return
        await _start(send, status, headers)
        if place is not None:
            pieces = self._overheard(place, response, pieces, mask)
        async with aclosing(pieces):
            await _relayed(pieces, send)

    async def _whole(
        self,
        place: Place,
        response: Any,
        pieces: AsyncIterator[bytes],
        mask: Mask,
        headers: Headers,
        send: Send,
    ) -> None:
        """An answer in one piece: it may wait for its gamma, and is passed on in any case."""
        try:
            content, ended = await _gathered(pieces)
        except BaseException:
            self._side.begin(place, None)  # broken off, by the client or the server
            raise
        answer = answer_of(response, content, streamed=False) if ended else None
        found = await self._side.scored(place, None if answer is None else mask.text(answer))
        if place.inline:
            headers = [*headers, *self._side.marks(found)]
            if found is not None and self._side.verdict(found) == "withheld":
                content = withheld(content, found.gamma, self._side.policy)
                headers = [each for each in headers if each[0].lower() != b"content-length"]
        await _start(send, response.status_code, headers)
        await send({"type": "http.response.body", "body": content, "more_body": True})
        await _relayed(pieces, send)

    async def _overheard(
        self, place: Place, response: Any, pieces: AsyncIterator[bytes], mask: Mask
    ) -> AsyncGenerator[bytes]:
        """A stream's pieces; it is scored once it has said that it is done, or has ended."""
        kept: bytearray | None = bytearray()

        def score(said: bytes | None) -> None:
            answer = None if said is None else answer_of(response, said, streamed=True)
            self._side.begin(place, None if answer is None else mask.text(answer))

        try:
            async for piece in pieces:
                if kept is not None:
                    kept += piece
                    # Clients hang up at this word, before the server has closed its side.
                    done = DONE in kept[-len(piece) - len(DONE) :]
                    if done or len(kept) > LONGEST:
                        score(bytes(kept) if done else None)
                        kept = None
                yield piece
            if kept is not None:
                score(bytes(kept))
                kept = None
        finally:
            if kept is not None:  # broken off, by the client or the server
                score(None)

    def _headers(self, asked: Exchange, key: str) -> Headers:
        """The client's headers; with the operator's key, and never with this gateway's token."""
        given = asked.headers
        passed = dict(end_to_end(given.items(), (b"host", b"content-length", TOKEN, ASK)))
        if self._entrance.shown_as_bearer(given):
            passed.pop(b"authorization", None)
        if key and asked.method != "OPTIONS":
            passed[b"authorization"] = f"Bearer {key}".encode()
        # An answer that comes packed could be passed on, but not read.
        return list((passed | {b"accept-encoding": b"identity"}).items())


def _kept(raw: Headers, mask: Mask, unpacked: bool) -> Headers:
    """A response's headers without those of one connection, and without the key."""
    dropped = (b"content-encoding", b"content-length") if unpacked else ()
    return [
        (name, mask(value))
        for name, value in end_to_end(raw, dropped)
        if not name.lower().startswith(b"x-anharmonic-")
    ]


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _gathered(pieces: AsyncIterator[bytes]) -> tuple[bytes, bool]:
    """All pieces, and whether they are all; no more than are worth keeping."""
    import httpx

    content = bytearray()
    try:
        async for piece in pieces:
            content += piece
            if len(content) > LONGEST:
                return bytes(content), False
    except httpx.HTTPError as problem:
        about = f"the server behind broke off: {type(problem).__name__}"
        raise BadRequest(about, 502) from None
    return bytes(content), True


async def _relayed(pieces: AsyncIterator[bytes], send: Send) -> None:
    """Send every piece as it comes. Where the server breaks off, so does this."""
    import httpx

    try:
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except httpx.HTTPError:
        return  # without its end, the response is seen to be cut
    await send({"type": "http.response.body", "body": b""})


async def _start(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _reply(send: Send, status: int, about: dict[str, Any]) -> None:
    body = json.dumps(about).encode()
    await _start(send, status, [(b"content-type", b"application/json")])
    await send({"type": "http.response.body", "body": body})
