"""The gateway before random requests and a server that is random too.

Requests are chats with methods, paths, headers, bodies and framing changed, torn or turned into
noise; the server behind answers, echoes the key, breaks off, or talks nonsense. Bars: no server
error but 502 and 504, which tell of the server behind; nothing takes longer than 5 s; the
operator's key is in no response, whole. `python -m benchmarks.gateway`
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from anharmonic.llm.clients import Endpoint
from anharmonic.llm.recipe import Recipe
from anharmonic.serve.llm.gateway import Gateway
from anharmonic.serve.llm.scorer import Scorer

REQUESTS, LONGEST, AT_ONCE = 10_000, 5.0, 8
KEY, VARIABLE = "sk-of-the-operator-0123456789", "ANHARMONIC_FUZZ_KEY"
METHODS = ("POST", "POST", "POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "BREW")
PATHS = (
    *("/v1/chat/completions",) * 6,
    *("/v1/models", "/v1/models/a", "/v1/embeddings", "/anharmonic/status", "/anharmonic/reset"),
    *("/v1/../admin", "/v1/%2e%2e/x", "/v1/models/%00", "/v1\\x", "//", "/v1/chat/completions?a=%"),
    *("*", "http://evil.test/v1/models", "/v1/models?x=\x7f", "/" + "a" * 70_000),
)
HEADERS = (
    *("x-anharmonic-score: inline", "x-anharmonic-score: yes", "x-anharmonic-score: \xff"),
    *(
        "Origin: null",
        "Origin: http://[",
        "Sec-Fetch-Site: cross-site",
        "Connection: upgrade, host",
    ),
    *("Content-Length: 5", "Content-Length: -1", "Transfer-Encoding: gzip", "Expect: 100-continue"),
    *("Authorization: Bearer x", "Authorization: Bearer", "x: " + "y" * 9000, "Host: evil.test"),
    *("Accept-Encoding: gzip", "Upgrade: websocket", "Cookie: \x01", "bad header", ": empty"),
)
ODD: tuple[Any, ...] = (
    *(None, True, -1, 10**400, 1e308, float("nan"), "", "\ud800", "\x00", [], {}, [[]], [{}]),
    *({"role": "user"}, [{"role": "user", "content": "hi"}], "x" * 5000),
)
ANSWERS: tuple[bytes, ...] = (
    b'{"choices": [{"message": {"content": "yes"}}]}',
    json.dumps(
        {"choices": [{"message": {"content": "no"}}], "usage": {"prompt_tokens": "x"}}
    ).encode(),
    json.dumps({"choices": [], "usage": [1]}).encode(),
    json.dumps({"error": {"message": f"bad key {KEY}"}}).encode(),
    *(b"[" * 30_000, b"\xff\xfe", b"", b"null", b'{"choices": [{"message": null}]}'),
)


def request(rng: random.Random) -> bytes:
    """One request, more or less; half of them chats that only the values make odd."""
    chat: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello?"}]}
    for name in rng.sample(["model", "messages", "temperature", "stream", "n", "seed"], 2):
        if rng.random() < 0.4:
            chat[name] = rng.choice(ODD)
    body = json.dumps(chat).encode()
    lines = ["Host: localhost", "Connection: close", "Content-Type: application/json"]
    if rng.random() < 0.5:
        lines += [HEADERS[0]] * (rng.random() < 0.5) + [f"Content-Length: {len(body)}"]
        start = f"POST {PATHS[0]} HTTP/1.1"
        return "\r\n".join([start, *lines, "", ""]).encode() + body
    if rng.random() < 0.3:
        body = rng.choice((b"[" * 20_000, rng.randbytes(50), body[: len(body) // 2], b""))
    lines = [each for each in lines if rng.random() < 0.97]
    lines += rng.sample(HEADERS, rng.choice((0, 0, 0, 1, 1, 2)))
    framed = rng.random()
    if framed < 0.75:
        lines.append(f"Content-Length: {len(body)}")
    elif framed < 0.9:
        lines.append("Transfer-Encoding: chunked")
        body = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    start = f"{rng.choice(METHODS)} {rng.choice(PATHS)} HTTP/1.1"
    whole = "\r\n".join([start, *lines, "", ""]).encode("latin-1") + body
    if rng.random() < 0.2:
        at = rng.randrange(len(whole))
        whole = whole[:at] + rng.choice((b"", rng.randbytes(3), b"\r\n")) + whole[at + 1 :]
    return whole[: rng.randrange(len(whole))] if rng.random() < 0.05 else whole


def asked(port: int, seed: int) -> tuple[bytes, float]:
    """What comes back for one request, and after how many seconds its last byte.

    A line that stays open after an answer is kept alive for the next, and no hang.
    """
    began, found = time.monotonic(), b""
    last = None
    with socket.create_connection(("127.0.0.1", port), timeout=2 * LONGEST) as line:
        try:
            line.sendall(request(random.Random(seed)))
            line.settimeout(0.3)
            try:
                found, last = line.recv(65536), time.monotonic()
            except TimeoutError:  # it may wait for more, so say that there is none
                line.shutdown(socket.SHUT_WR)
            line.settimeout(0.5 if found else 2 * LONGEST)
            while piece := line.recv(65536):
                found, last = found + piece, time.monotonic()
        except OSError:
            pass
    return found, (last or time.monotonic()) - began


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    rng = random.Random(id(writer))
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = head.partition(b"content-length: ")[2].split(b"\r\n")[0]
            await reader.readexactly(int(size or 0))
            body, kind = rng.choice(ANSWERS), rng.random()
            status = rng.choice((200, 200, 200, 200, 400, 401, 429, 500, 302, 777, 204))
            told = b"HTTP/1.1 %d X\r\nX-Seen: %s\r\n" % (status, KEY.encode())
            if kind < 0.8:
                told += b"Content-Length: %d\r\n\r\n" % len(body) + body
            elif kind < 0.9:
                told += b"Content-Length: %d\r\n\r\n" % (len(body) + 9) + body
            else:
                told = rng.choice(
                    (b"", b"nonsense\r\n\r\n", told + b"Content-Encoding: gzip\r\n\r\nx")
                )
            writer.write(told)
            await writer.drain()
            if kind >= 0.8:
                break
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
        pass
    finally:
        writer.close()


@contextmanager
def gateway() -> Iterator[int]:
    """A gateway with such a server behind it; gives its port."""
    import uvicorn

    os.environ[VARIABLE] = KEY
    ready, ports, loops = threading.Event(), [], []
    stop = asyncio.Event()

    async def serve() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        loops.append(asyncio.get_running_loop())
        ready.set()
        await stop.wait()
        server.close()

    behind = threading.Thread(target=lambda: asyncio.run(serve()))
    behind.start()
    ready.wait()
    url = f"http://127.0.0.1:{ports[0]}/v1"
    with Endpoint(url, "m", key=VARIABLE, timeout=1.0, retries=0) as client:
        scorer = Scorer(client, lambda texts: np.ones((len(texts), 2)), Recipe("control", 2, 0))
        app = Gateway(url, scorer, key=VARIABLE)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", ws="none"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True
        thread.join()
    loops[0].call_soon_threadsafe(stop.set)
    behind.join()
    del os.environ[VARIABLE]


def fuzzed(requests: int, first: int = 0) -> tuple[Counter[str], list[str]]:
    """How often each status came, and what was wrong."""
    statuses: Counter[str] = Counter()
    wrong: list[str] = []
    with gateway() as port, ThreadPoolExecutor(AT_ONCE) as threads:
        seeds = range(first, first + requests)
        for seed, (found, seconds) in zip(
            seeds, threads.map(lambda each: asked(port, each), seeds), strict=True
        ):
            status = found[9:12].decode("latin-1") or "none"
            statuses[status] += 1
            own = b"x-seen:" not in found.lower()
            if own and status.startswith("5") and status not in ("502", "504"):
                wrong.append(f"request {seed}: {status}")
            if KEY.encode() in found:
                wrong.append(f"request {seed}: the key")
            if seconds > LONGEST:
                wrong.append(f"request {seed}: {seconds:.1f} s")
        good, _ = asked(port, -1)
        if not good:
            wrong.append("it does not answer any more")
    return statuses, wrong


def main() -> bool:
    began = time.monotonic()
    statuses, wrong = fuzzed(REQUESTS)
    took = time.monotonic() - began
    print(f"{REQUESTS:,} requests in {took:.0f} s: {dict(sorted(statuses.items()))}")
    print(f"bar: no server error of its own, no key, nothing above {LONGEST:g} s: ", end="")
    print("met" if not wrong else f"MISSED {wrong[:10]} ({len(wrong)})")
    return not wrong


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
