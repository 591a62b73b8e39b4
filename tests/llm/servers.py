"""A chat completion server on loopback that does what a test tells it, good or bad."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server does: answers, or hangs, or drops the line in the middle of the body."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    after: float = 0.0
    drop: bool = False
    pieces: tuple[bytes, ...] = ()
    gate: threading.Event | None = None

    def body(self, asked: dict[str, Any]) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps({"error": {"message": self.text}}).encode()
        return completion(self.text, asked)


HANG = Reply(after=3600.0)
DROP = Reply("half of it", drop=True)


def completion(text: str, asked: dict[str, Any] | None = None) -> bytes:
    prompt = (asked or {}).get("messages", [{"content": ""}])[-1]["content"]
    return json.dumps(
        {
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())},
        }
    ).encode()


Behaviour = Callable[[dict[str, Any], int], Reply]
"""From a request's body, and how often that prompt has been asked, to a reply."""


class Server:
    """Serve in a thread; `asked` holds every request's body, `most` the most at once."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.asked: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.answered: list[str] = []
        self.most = self._now = 0
        self._counts: dict[str, int] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def rest(self) -> None:
        """Wait until every line is closed, so that nothing can be asked late."""
        while self._lines:
            time.sleep(0.005)

    @property
    def prompts(self) -> list[str]:
        return [each["messages"][-1]["content"] for each in self.asked]

    def __enter__(self) -> Server:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *problem: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._lines: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._line, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    async def _line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._lines.add(asyncio.current_task())
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self._lines.discard(asyncio.current_task())

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        asked = json.loads(await reader.readexactly(int(fields.get("content-length", 0))) or "{}")
        prompt = str(asked.get("messages", [{"content": ""}])[-1]["content"])
        self.asked.append(asked)
        self.headers.append(head)
        self._counts[prompt] = self._counts.get(prompt, 0) + 1
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            reply = self.behaviour(asked, self._counts[prompt])
            await asyncio.sleep(reply.after)
            if reply.pieces:
                await self._stream(reply, writer)
                return True
            body = reply.body(asked)
            lines = [f"HTTP/1.1 {reply.status} X", f"Content-Length: {len(body)}"]
            lines += ["Content-Type: application/json"]
            lines += [f"{name}: {value}" for name, value in reply.headers.items()]
            sent = body[: len(body) // 2] if reply.drop else body
            writer.write("\r\n".join([*lines, "", ""]).encode() + sent)
            await writer.drain()
            self.answered.append(prompt)
        finally:
            self._now -= 1
        return not reply.drop

    async def _stream(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        """Pieces in chunks; after the first, the test opens the gate."""
        head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n"
        writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for number, piece in enumerate(reply.pieces):
            if number == 1 and reply.gate is not None:
                await asyncio.to_thread(reply.gate.wait, 5)
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def words(texts):
    """A small embedder: how often each of some words and letters stands in a text."""
    import numpy as np

    marks = ("yes", "no", "paris", "rome", "a", "e", "o")
    return np.array([[1.0, *(text.lower().count(mark) for mark in marks)] for text in texts])
