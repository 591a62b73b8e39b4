"""The gateway as a plain ASGI application.

OpenAI's paths under /v1/ go to the server behind; chat completions are scored, a share of them in
the background, or one in line where its request says so.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from anharmonic.errors import MissingExtra
from anharmonic.llm.clients.endpoint import key_variable
from anharmonic.serve.http.body import Disconnected, Receive, check_announced, read_body
from anharmonic.serve.http.headers import end_to_end
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.llm.drift import ChatWatch
from anharmonic.serve.llm.gateway.allowance import Allowance
from anharmonic.serve.llm.gateway.chats import DONE, Exchange, Head, answer_of, chat_of
from anharmonic.serve.llm.gateway.entrance import TOKEN, Entrance
from anharmonic.serve.llm.gateway.masking import Mask
from anharmonic.serve.llm.gateway.policy import Policy, withheld
from anharmonic.serve.llm.gateway.side import Reservation, Side
from anharmonic.serve.llm.scorer import Scorer

if TYPE_CHECKING:
    from httpx import Response

__all__ = ["Gateway"]

Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

LARGEST: Final = 32 * 2**20
"""Bytes of a request: chats may hold pictures."""
LONGEST: Final = 16 * 2**20
"""Bytes of an answer that is kept to be scored; a longer one is forwarded unscored."""
SECONDS: Final = 60.0
"""For a request to arrive whole."""
NO_LIMIT: Final = 10**20
READABLE: Final = ("", "identity", "gzip", "deflate")
ASK: Final = b"x-anharmonic-score"


class Gateway:
    """An ASGI application that forwards chat completions to a server, and scores some of them.

    Parameters
    ----------
    url
        The server behind, such as https://host/v1.
    scorer
        What measures chats, and which share of them.
    watch
        A watch over their gammas, for the status to show.
    key
        The name of the environment variable that holds the server's key.
    entrance
        Which requests are accepted: those of programs on this machine if not given.
    allowance
        What scoring may cost.
    policy
        What becomes of an answer with a large gamma.
    timeout
        Seconds that the server behind may be silent.
    largest
        Bytes of a request.
    """

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
        parts = urlsplit(url)
        self._url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._query, self._timeout, self._largest = parts.query.encode(), timeout, largest
        self._watch = watch
        self._variable = key_variable(url, key)
        self._entrance = Entrance() if entrance is None else entrance
        self._scorer, self._side = scorer, Side(scorer, allowance, policy)
        self.chats = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
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
                await self._forward(await self._read(scope, headers, receive), receive, send)
        except BadRequest as refused:
            await _reply(send, refused.status, {"error": {"message": str(refused)}})
        except Disconnected:
            return  # nobody is there to be answered

    def status(self) -> dict[str, object]:
        """Counts of chats: forwarded, scored, being scored, skipped; and the watch."""
        return {
            "chats": self.chats,
            **self._side.status(),
            "watch": None if self._watch is None else self._watch.status(),
        }

    async def _read(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Exchange:
        method, query = scope["method"], scope.get("query_string", b"")
        raw = scope.get("raw_path") or scope["path"].encode()
        path = self._entrance.route(method, raw.partition(b"?")[0], query)
        posted = method == "POST"
        if posted and b"json" not in headers.get(b"content-type", b""):
            # A web page may post plain text to any origin, but JSON needs a CORS preflight.
            raise BadRequest("send application/json", 415)
        announced = headers.get(b"content-length", b"0").decode("latin-1")
        # A client that waits for 100 Continue need not send what will not be taken.
        check_announced(announced, self._largest if b"expect" in headers else NO_LIMIT)
        body = await read_body(receive, self._largest, SECONDS, drain=True)
        wish = headers.get(ASK, b"").decode("latin-1").strip().lower()
        chat = chat_of(path, body) if posted else None
        return Exchange(method, path, query, headers, body if posted else b"", chat, wish)

    async def _forward(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        """Exchange with the server behind, for as long as the client is there."""
        work = asyncio.create_task(self._exchange(exchange, send))
        leaving = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            work.cancel()
            leaving.cancel()
            await asyncio.gather(work, leaving, return_exceptions=True)

    async def _exchange(self, exchange: Exchange, send: Send) -> None:
        import httpx

        key = os.environ.get(self._variable, "").strip()
        query = b"&".join(part for part in (self._query, exchange.query) if part).decode("ascii")
        url = self._url + exchange.path.removeprefix("/v1") + (f"?{query}" if query else "")
        try:
            request = self._pool.build_request(
                exchange.method, url, content=exchange.body, headers=self._headers(exchange, key)
            )
            response = await self._pool.send(request, stream=True)
        except httpx.TimeoutException:
            raise BadRequest("the server behind did not answer in time", 504) from None
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            about = f"the server behind did not answer: {type(problem).__name__}"
            raise BadRequest(about, 502) from None
        try:
            await self._respond(exchange, response, Mask(key), send)
        finally:
            await response.aclose()

    async def _respond(
        self, exchange: Exchange, response: Response, mask: Mask, send: Send
    ) -> None:
        """The response as it comes, without the key; scored where it is a whole chat's."""
        number, status = self.chats, response.status_code
        self.chats += exchange.chat is not None
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if not 200 <= status < 600 or encoding not in READABLE:
            raise BadRequest("the server behind answered in a way that cannot be passed on", 502)
        decoded = encoding not in ("", "identity")
        headers = _response_headers(response.headers.raw, mask, decoded)
        reservation = None
        if exchange.chat is not None and status == 200:
            reservation = self._side.reserve(number, exchange)
        pieces = mask.pieces(response.aiter_bytes())
        if reservation is not None and not exchange.streamed:
            await self._whole(reservation, response, pieces, mask, headers, send)
            return
        await _start(send, status, headers)
        if reservation is not None:
            pieces = self._copied(reservation, response, pieces, mask)
        async with aclosing(pieces):
            await _relay(pieces, send)

    async def _whole(
        self,
        reservation: Reservation,
        response: Response,
        pieces: AsyncIterator[bytes],
        mask: Mask,
        headers: Headers,
        send: Send,
    ) -> None:
        """An answer in one piece: it may wait for its gamma, and is forwarded in any case."""
        try:
            content, ended = await _gather(pieces)
        except BaseException:
            self._side.begin(reservation, None)  # broken off, by the client or the server
            raise
        answer = answer_of(response, content, streamed=False) if ended else None
        score = await self._side.scored(reservation, None if answer is None else mask.text(answer))
        if reservation.inline:
            headers = [*headers, *self._side.marks(score)]
            if score is not None and self._side.verdict(score) == "withheld":
                content = withheld(content, score.gamma, self._side.policy)
                headers = [header for header in headers if header[0].lower() != b"content-length"]
        await _start(send, response.status_code, headers)
        await send({"type": "http.response.body", "body": content, "more_body": True})
        await _relay(pieces, send)

    async def _copied(
        self, reservation: Reservation, response: Head, pieces: AsyncIterator[bytes], mask: Mask
    ) -> AsyncGenerator[bytes]:
        """A stream's pieces; it is scored once it has said that it is done, or has ended."""
        copy: bytearray | None = bytearray()

        def score(content: bytes | None) -> None:
            answer = None if content is None else answer_of(response, content, streamed=True)
            self._side.begin(reservation, None if answer is None else mask.text(answer))

        try:
            async for piece in pieces:
                if copy is not None:
                    copy += piece
                    # Clients hang up at this word, before the server has closed its side.
                    done = DONE in copy[-len(piece) - len(DONE) :]
                    if done or len(copy) > LONGEST:
                        score(bytes(copy) if done else None)
                        copy = None
                yield piece
            if copy is not None:
                score(bytes(copy))
                copy = None
        finally:
            if copy is not None:  # broken off, by the client or the server
                score(None)

    def _headers(self, exchange: Exchange, key: str) -> Headers:
        """The client's headers; with the operator's key, and never with this gateway's token."""
        own = (b"host", b"content-length", TOKEN, ASK)
        headers = dict(end_to_end(exchange.headers.items(), own))
        if self._entrance.shown_as_bearer(exchange.headers):
            headers.pop(b"authorization", None)
        if key and exchange.method != "OPTIONS":
            headers[b"authorization"] = f"Bearer {key}".encode()
        # A compressed answer could be forwarded, but not read.
        return list((headers | {b"accept-encoding": b"identity"}).items())


def _response_headers(raw: Headers, mask: Mask, decoded: bool) -> Headers:
    """A response's headers without those of one connection, and without the key."""
    dropped = (b"content-encoding", b"content-length") if decoded else ()
    return [
        (name, mask(value))
        for name, value in end_to_end(raw, dropped)
        if not name.lower().startswith(b"x-anharmonic-")
    ]


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _gather(pieces: AsyncIterator[bytes]) -> tuple[bytes, bool]:
    """All pieces joined, and whether the answer is whole: not where it is longer than LONGEST."""
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


async def _relay(pieces: AsyncIterator[bytes], send: Send) -> None:
    """Send every piece as it comes; where the server breaks off, the response stays unfinished."""
    import httpx

    try:
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except httpx.HTTPError:
        return  # without its end, the response is seen to be cut
    await send({"type": "http.response.body", "body": b""})


async def _start(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _reply(send: Send, status: int, facts: Mapping[str, object]) -> None:
    body = json.dumps(facts).encode()
    await _start(send, status, [(b"content-type", b"application/json")])
    await send({"type": "http.response.body", "body": body})
