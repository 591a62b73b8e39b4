"""What the proxy adds to a request: the same load straight to a model server and through."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.service.load import Load, opened
from benchmarks.service.target import FEATURES, Target, free_port

__all__ = ["added", "model_server", "proxied", "upstream"]

RATE, SECONDS, CONNECTIONS, BAR = 200, 8, 16, 0.005
PATH = "/v2/models/bench/infer"
ANSWER = json.dumps(
    {
        "model_name": "bench",
        "outputs": [{"name": "p", "shape": [1, 2], "datatype": "FP64", "data": [0.5, 0.5]}],
    }
).encode()


async def upstream(scope: Any, receive: Any, send: Any) -> None:
    """A model server that answers at once."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(ANSWER)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": ANSWER})


def _requests(count: int) -> list[tuple[str, bytes]]:
    points = np.random.default_rng(0).normal(size=(count, FEATURES))
    made = []
    for place, values in enumerate(points.tolist()):
        tensor = {"name": "x", "shape": [1, FEATURES], "datatype": "FP64", "data": values}
        body = json.dumps({"inputs": [tensor]}).encode()
        head = f"POST {PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        made.append((str(place), f"{head}content-length: {len(body)}\r\n\r\n".encode() + body))
    return made


def proxied(place: int) -> tuple[str, dict[str, str], bytes]:
    """A good request through the proxy."""
    tensor = {"name": "x", "shape": [1, FEATURES], "datatype": "FP64", "data": [0.5] * FEATURES}
    body = json.dumps({"inputs": [tensor], "id": str(place)}).encode()
    return PATH, {"content-type": "application/json"}, body


@contextmanager
def model_server() -> Iterator[int]:
    """`upstream` in a process of its own; its port."""
    port = free_port()
    code = (
        "import uvicorn; from benchmarks.service.proxied import upstream; "
        f"uvicorn.run(upstream, port={port}, log_level='error', lifespan='off')"
    )
    server = subprocess.Popen([sys.executable, "-c", code], env={**os.environ})
    try:
        _awaited(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def added(folder: Path) -> bool:
    """Whether the proxy adds less than the bar at p99, scoring every request beside."""
    with (
        model_server() as port,
        Target(folder / "proxy.db", folder, "--upstream", f"http://127.0.0.1:{port}") as proxy,
    ):
        _asked(proxy.port, 2)
        # In turns, so that what else the machine does falls on both.
        rounds = [(_asked(port, SECONDS / 4), _asked(proxy.port, SECONDS / 4)) for _ in "1234"]
    direct, through = ([t for pair in rounds for t in pair[way].times] for way in (0, 1))
    failed = sum(pair[1].failed for pair in rounds)
    return _told(direct, through, failed)


def _told(direct: list[float], through: list[float], failed: int) -> bool:
    quantiles = (0.5, 0.9, 0.99)
    extra = [float(np.quantile(through, q) - np.quantile(direct, q)) for q in quantiles]
    words = ", ".join(
        f"p{100 * q:g} {e * 1e3:.2f} ms" for q, e in zip(quantiles, extra, strict=True)
    )
    good = extra[-1] < BAR and not failed
    print(
        f"the proxy at {RATE} requests/s, all scored, adds: {words} "
        f"(direct p99 {np.quantile(direct, 0.99) * 1e3:.2f} ms); "
        f"bar: < {BAR * 1e3:.0f} ms at p99: {'met' if good else 'MISSED'}"
    )
    return good


def _asked(port: int, seconds: float) -> Load:
    made = _requests(int(RATE * seconds))
    return opened(port, RATE, seconds, CONNECTIONS, made)


def _awaited(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the model server did not start")
