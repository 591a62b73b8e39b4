"""A light load generator: raw sockets, ready-made requests, one at a time a connection."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil
import uvloop

from benchmarks.service.target import FEATURES

__all__ = ["Load", "closed", "opened", "requests"]

CONNECTIONS = 128


@dataclass
class Load:
    """What came back: seconds a request took, which events were acknowledged, what failed."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    failed: int = 0
    server_share: float = 0.0
    own_share: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def quantile(self, q: float) -> float:
        return float(np.quantile(self.times, q)) if self.times else float("inf")


def requests(count: int, prefix: str, path: str = "/v1/observe") -> list[tuple[str, bytes]]:
    """Requests of one point each, with their ids."""
    points = (
        np.random.default_rng(zlib.crc32(prefix.encode())).normal(size=(count, FEATURES)).round(6)
    )
    made = []
    for place, values in enumerate(points.tolist()):
        name = f"{prefix}-{place}"
        body = f'{{"points":[{values}],"ids":["{name}"]}}'.encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        made.append((name, head.encode() + body))
    return made


class Caller(asyncio.Protocol):
    """One connection: sends a request, waits for the whole answer, asks for the next."""

    def __init__(self, free: Callable[[Caller], None], load: Load) -> None:
        self.free, self.load = free, load
        self.buffer = b""
        self.name = ""
        self.due = 0.0
        self.lost = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.free(self)

    def send(self, name: str, request: bytes, due: float) -> None:
        self.name, self.due = name, due
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self.buffer = b""
        if head.startswith(b"HTTP/1.1 200"):
            self.load.times.append(time.perf_counter() - self.due)
            self.load.acknowledged.append(self.name)
        else:
            self.load.failed += 1
        self.free(self)

    def connection_lost(self, problem: Exception | None) -> None:
        self.lost = True


def closed(port: int, seconds: float, made: Any = None) -> Load:
    """As fast as answers come, on all connections."""
    waiting = deque(made or requests(60_000, f"closed{time.time()}"))
    load = Load()

    def free(caller: Caller) -> None:
        if waiting and time.perf_counter() < end:
            name, request = waiting.popleft()
            caller.send(name, request, time.perf_counter())

    end = time.perf_counter() + seconds
    _measured(port, load, free, seconds, None)
    return load


def opened(
    port: int, rate: int, seconds: float, connections: int = CONNECTIONS, made: Any = None
) -> Load:
    """At a steady rate, whatever comes back; a request's time runs from when it was due."""
    waiting = deque(made or requests(int(rate * seconds), f"opened{time.time()}"))
    idle: deque[Caller] = deque()
    due: deque[float] = deque()
    load = Load()

    def free(caller: Caller) -> None:
        idle.append(caller)
        give()

    def give() -> None:
        while idle and due and waiting:
            name, request = waiting.popleft()
            idle.popleft().send(name, request, due.popleft())

    async def pace() -> None:
        begun = time.perf_counter()
        for place in range(int(rate * seconds)):
            moment = begun + place / rate
            if (left := moment - time.perf_counter()) > 0:
                await asyncio.sleep(left)
            due.append(moment)
            give()

    _measured(port, load, free, seconds, pace, connections)
    load.failed += len(due)
    return load


def _measured(
    port: int, load: Load, free: Any, seconds: float, pace: Any, connections: int = CONNECTIONS
) -> None:
    own, server = psutil.Process(), _listener(port)
    before = _cpu(own), _cpu(server)
    begun = time.perf_counter()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        callers = [
            (await loop.create_connection(lambda: Caller(free, load), "127.0.0.1", port))[1]
            for _ in range(connections)
        ]
        if pace is not None:
            await pace()
        else:
            await asyncio.sleep(seconds)
        load.seconds = time.perf_counter() - begun
        load.server_share = (_cpu(server) - before[1]) / load.seconds
        load.own_share = (_cpu(own) - before[0]) / load.seconds
        await asyncio.sleep(0.5)
        for caller in callers:
            caller.transport.close()

    uvloop.run(run())


def _listener(port: int) -> Any:
    """The process that listens on a port, for its share of the processor."""
    for each in psutil.Process().children(recursive=True):
        for connection in each.net_connections("tcp"):
            if connection.status == "LISTEN" and connection.laddr.port == port:
                return each
    return None


def _cpu(process: Any) -> float:
    try:
        return float(sum(process.cpu_times()[:2])) if process else 0.0
    except psutil.Error:
        return 0.0
