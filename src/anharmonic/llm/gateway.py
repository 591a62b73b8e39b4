"""A gateway on loopback: OpenAI's protocol in and out, unchanged, and gamma on the side.

A plain ASGI application. Everything under /v1/ goes to the server behind; chat completions are
scored, a share of them in the background, or one in line where its request says so.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from anharmonic.errors import MissingExtra
from anharmonic.llm.clients.endpoint import key_variable
from anharmonic.llm.clients.exchange import meaning
from anharmonic.llm.drift import ChatWatch
from anharmonic.llm.scorer import ChatScore, Scorer, last_prompt
from anharmonic.llm.shapes import Answer

__all__ = ["Gateway"]

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

LOOPBACK: Final = {"127.0.0.1", "localhost", "::1", "[::1]"}
WAITING: Final = 64
"""Chats that may wait to be scored; more are passed over, and counted."""
HOP: Final = {b"connection", b"keep-alive", b"transfer-encoding", b"host", b"content-length"}
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
        timeout: float = 600.0,
    ) -> None:
        """`key` names the environment variable that holds the server's key."""
        self._url, self._scorer, self._timeout = url.rstrip("/"), scorer, timeout
        self._watch = watch
        self._variable = key_variable(url, key)
        self._scoring: set[asyncio.Task[Any]] = set()
        self._one_at_a_time = asyncio.Semaphore(1)
        self.chats = self.passed_over = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open the connections at the start, and finish what is being scored at the end."""
        try:
            import httpx
        except ImportError as problem:
            raise MissingExtra("httpx", "llm") from problem
        await receive()
        async with httpx.AsyncClient(timeout=self._timeout) as self._pool:
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await asyncio.gather(*self._scoring, return_exceptions=True)
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"http://localhost").rpartition(b"//")[2]
        if not (_local(headers.get(b"host", b"")) and _local(origin)):
            await _reply(send, 403, {"error": {"message": "this gateway serves loopback only"}})
        elif scope["path"] == "/anharmonic/status":
            await _reply(send, 200, self.status())
        elif (scope["method"], scope["path"]) == ("POST", "/anharmonic/reset") and self._watch:
            self._watch.reset()
            await _reply(send, 200, self.status())
        elif not scope["path"].startswith("/v1/"):
            await _reply(send, 404, {"error": {"message": "ask for /v1/… or /anharmonic/status"}})
        else:
            await self._forward(scope, headers, await _body(receive), send)

    def status(self) -> dict[str, Any]:
        """How many chats passed, were scored, are being scored, were passed over; the watch."""
        return {
            "chats": self.chats,
            "scored": self._scorer.scored,
            "waiting": len(self._scoring),
            "passed_over": self.passed_over,
            "watch": None if self._watch is None else self._watch.status(),
        }

    async def _forward(
        self, scope: dict[str, Any], headers: dict[bytes, bytes], body: bytes, send: Send
    ) -> None:
        import httpx

        chat = _chat(scope["path"], body)
        if body and b"json" not in headers.get(b"content-type", b""):
            # A page in a browser can post plain text anywhere; JSON it must ask leave for.
            await _reply(send, 415, {"error": {"message": "send application/json"}})
            return
        url = self._url + scope["path"].removeprefix("/v1")
        query = scope.get("query_string", b"").decode()
        request = self._pool.build_request(
            scope["method"],
            f"{url}?{query}" if query else url,
            content=body,
            headers=self._headers(headers),
        )
        try:
            response = await self._pool.send(request, stream=True)
        except httpx.HTTPError as problem:
            about = f"the server behind did not answer: {type(problem).__name__}"
            await _reply(send, 502, {"error": {"message": about}})
            return
        try:
            await self._pass_on(chat, headers.get(ASK, b"").decode(), response, send)
        finally:
            await response.aclose()

    async def _pass_on(
        self, chat: dict[str, Any] | None, wish: str, response: Any, send: Send
    ) -> None:
        """The response as it comes; scored on the side where it is a whole chat's."""
        number = self.chats
        self.chats += chat is not None
        kept: Headers = [
            (name, value)
            for name, value in response.headers.raw
            if name.lower() not in HOP or name.lower() == b"content-length"
        ]
        wanted = chat is not None and response.status_code == 200 and self._wanted(number, wish)
        if wanted and wish == "inline" and not (chat or {}).get("stream"):
            content = b"".join([piece async for piece in response.aiter_raw()])
            found = await self._inline(number, chat or {}, response, content)
            await _start(send, response.status_code, [*kept, *_marks(found)])
            await send({"type": "http.response.body", "body": content})
            return
        await _start(send, response.status_code, kept)
        pieces = [piece async for piece in _relayed(response, send, keep=wanted)]
        if wanted:
            self._in_background(number, chat or {}, response, b"".join(pieces))

    def _wanted(self, number: int, wish: str) -> bool:
        return wish in ("inline", "yes") or (wish != "no" and self._scorer.chosen(number))

    async def _inline(
        self, number: int, chat: dict[str, Any], response: Any, content: bytes
    ) -> ChatScore | None:
        answer = _answer(response, content, bool(chat.get("stream")))
        return None if answer is None else await self._scored(number, chat, answer)

    def _in_background(
        self, number: int, chat: dict[str, Any], response: Any, content: bytes
    ) -> None:
        answer = _answer(response, content, bool(chat.get("stream")))
        if answer is None or len(self._scoring) >= WAITING:
            self.passed_over += 1
            return
        task = asyncio.create_task(self._scored(number, chat, answer))
        self._scoring.add(task)
        task.add_done_callback(self._scoring.discard)

    async def _scored(self, number: int, chat: dict[str, Any], answer: str) -> ChatScore:
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._scorer.score, number, chat, answer)

    def _headers(self, given: dict[bytes, bytes]) -> Headers:
        key = os.environ.get(self._variable, "").strip()
        mine = {b"authorization": f"Bearer {key}".encode()} if key else {}
        passed = {name: value for name, value in given.items() if name not in HOP and name != ASK}
        # An answer that comes packed could be passed on, but not read.
        return list((passed | mine | {b"accept-encoding": b"identity"}).items())


async def _relayed(response: Any, send: Send, keep: bool) -> AsyncIterator[bytes]:
    """Send every piece as it comes; yields them where they are kept."""
    async for piece in response.aiter_raw():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        if keep:
            yield piece
    await send({"type": "http.response.body", "body": b""})


def _answer(response: Any, content: bytes, streamed: bool) -> str | None:
    """The text of a response, whole or from its stream of events; None where it has none."""
    if not streamed:
        found = meaning(response.status_code, response.headers, content, "")
        return found.text if isinstance(found, Answer) and found.usable else None
    parts = []
    for line in content.split(b"\n"):
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or data == b"[DONE]":
            continue
        try:
            parts.append(json.loads(data)["choices"][0]["delta"].get("content") or "")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            continue
    return "".join(parts) or None


def _chat(path: str, body: bytes) -> dict[str, Any] | None:
    """A chat that could be perturbed; anything else is passed on unread."""
    if path != "/v1/chat/completions":
        return None
    try:
        chat = json.loads(body)
    except ValueError:
        return None
    return chat if isinstance(chat, dict) and last_prompt(chat) is not None else None


def _marks(found: ChatScore | None) -> Headers:
    if found is None:
        return []
    marks = {"gamma": found.gamma, "gamma0": found.gamma0}
    return [
        (f"x-anharmonic-{name}{part}".encode(), f"{number:.6g}".encode())
        for name, estimate in marks.items()
        for part, number in (("", estimate.value), ("-error", estimate.error))
    ]


def _local(host: bytes) -> bool:
    """Whether a request was meant for this machine: a name that leads here is not enough."""
    name = host.decode("latin-1")
    bare = name if name.endswith("]") else name.rsplit(":", 1)[0] if ":" in name else name
    return bare in LOOPBACK


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _start(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _reply(send: Send, status: int, about: dict[str, Any]) -> None:
    body = json.dumps(about).encode()
    await _start(send, status, [(b"content-type", b"application/json")])
    await send({"type": "http.response.body", "body": body})
