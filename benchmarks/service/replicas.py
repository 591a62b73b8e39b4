"""Three services on one PostgreSQL, behind a load balancer, killed while they work.

Clients behave as clients should: what was not acknowledged is sent again with the same id, to
whichever replica the balancer picks. Bars: nothing acknowledged lost or doubled; the detectors
exactly where one monitor comes to that sees the stored rows in their order; each alarm raised and
posted once; on traffic that does not change, no more alarms than promised.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from scipy import stats
from sqlalchemy import select

import anharmonic as ah
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.schema import alarms
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import StoredMonitor
from benchmarks.service.kills import kept_exactly
from benchmarks.service.postgres import Postgres
from benchmarks.service.target import FEATURES, Target

__all__ = ["false_alarms_of_replicas", "replicas_survive"]

REPLICAS, CLIENTS, POINTS = 3, 12, 5
SHIFT = 1.5
"""What drifted inputs are multiplied with."""


class Balancer:
    """Sends requests to any of the replicas until each is acknowledged."""

    def __init__(self, ports: list[int], seed: int) -> None:
        self.ports, self.dice = ports, random.Random(seed)
        self.waiting: deque[tuple[str, bytes]] = deque()
        self.acknowledged: set[str] = set()
        self.failed = 0
        self._made = 0

    def add(self, requests: int, scale: float) -> None:
        """Queue requests of a few points each."""
        # Not the seed of the rows that the model has learnt from.
        random_rows = np.random.default_rng((REPLICAS, self._made))
        for _ in range(requests):
            points = (scale * random_rows.normal(size=(POINTS, FEATURES))).round(6).tolist()
            name = f"r{self._made}"
            ids = [f"{name}-{number}" for number in range(POINTS)]
            self.waiting.append((name, json.dumps({"points": points, "ids": ids}).encode()))
            self._made += 1

    def work(self, until: float) -> None:
        """Send what waits, on several connections, until the time or the requests are over."""
        threads = [threading.Thread(target=self._client, args=(until,)) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, until: float) -> None:
        connections: dict[int, http.client.HTTPConnection] = {}
        headers = {"content-type": "application/json"}
        while time.monotonic() < until:
            try:
                name, body = self.waiting.popleft()
            except IndexError:
                break
            port = self.dice.choice(self.ports)
            try:
                connection = connections.get(port) or http.client.HTTPConnection(
                    "127.0.0.1", port, timeout=30
                )
                connections[port] = connection
                connection.request("POST", "/v1/observe", body, headers)
                answer = connection.getresponse()
                answer.read()
                good = answer.status == 200
            except (OSError, http.client.HTTPException):
                connections.pop(port).close()
                good = False
            if good:
                self.acknowledged.update(f"{name}-{number}" for number in range(POINTS))
            else:
                self.failed += 1
                self.waiting.append((name, body))
                time.sleep(0.02)
        for connection in connections.values():
            connection.close()


@contextmanager
def receiver() -> Iterator[tuple[str, Counter[str]]]:
    """An address that takes webhooks, and how often each alarm came."""
    came: Counter[str] = Counter()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            came[self.headers["webhook-id"]] += 1
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", came
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def replicas_survive(folder: Path, address: str, kills: int, seconds: float = 3.0) -> bool:
    """Quiet traffic with kills, then traffic that drifts with as many; whether all bars hold."""
    with receiver() as (url, came):
        replicas = [Target(address, folder, "--webhook", url) for _ in range(REPLICAS)]
        try:
            _start_together(replicas)
            balancer = Balancer([replica.port for replica in replicas], seed=kills)
            quiet = _under_kills(balancer, replicas, kills, seconds, scale=1.0)
            before = _alarms(address)
            drifted = _under_kills(balancer, replicas, kills, seconds, scale=SHIFT)
            balancer.work(time.monotonic() + 60)
            raised = _alarms(address)
            _wait_for(lambda: len(came) >= len(raised), 30)
            time.sleep(1.0)
        finally:
            for replica in replicas:
                replica.stop()
    exact, rows, expected = kept_exactly(address, folder, balancer.acknowledged)
    doubled = [id for id, times in came.items() if times > 1]
    once = sorted(raised.values()) == sorted(expected) and set(came) == set(raised) and not doubled
    good = exact and once and bool(raised) and not balancer.waiting
    print(
        f"{REPLICAS} replicas, {2 * kills} kills: {len(balancer.acknowledged):,} acknowledged, "
        f"{rows:,} kept ({quiet:,} requests quiet, {drifted:,} drifting, {balancer.failed:,} sent "
        f"again), detectors {'exactly' if exact else 'NOT'} where one monitor comes to; "
        f"{len(before)} alarms before the drift, {len(raised)} in all, one monitor raises "
        f"{len(expected)}; posted {sum(came.values())} times, {len(doubled)} of them twice: "
        f"{'met' if good else 'MISSED'}"
    )
    return good


def _start_together(replicas: list[Target]) -> None:
    replicas[0].prepare()
    with ThreadPoolExecutor(len(replicas)) as pool:
        list(pool.map(Target.start, replicas))


def _under_kills(
    balancer: Balancer, replicas: list[Target], kills: int, seconds: float, scale: float
) -> int:
    """Send for a while, kill somebody on the way and start it again; requests acknowledged."""
    before = len(balancer.acknowledged)
    for _ in range(kills):
        balancer.add(200, scale)
        victim = balancer.dice.choice(replicas)
        blow = threading.Timer(balancer.dice.uniform(0.2, 0.8) * seconds, victim.kill)
        blow.start()
        balancer.work(time.monotonic() + seconds)
        blow.join()
        # The others go on while it comes back.
        rest = threading.Thread(target=balancer.work, args=(time.monotonic() + seconds,))
        rest.start()
        victim.start()
        rest.join()
    return (len(balancer.acknowledged) - before) // POINTS


def _alarms(address: str) -> dict[str, tuple[str, str, int]]:
    """What the store has raised, by id: what was watched, in which direction, at which row."""
    store = Store(address)
    with store.reading() as connection:
        rows = connection.execute(select(alarms)).all()
    store.close()
    return {row.id: (row.watched, row.direction, row.sequence) for row in rows}


def _wait_for(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)


def false_alarms_of_replicas(server: Postgres, runs: int, rows: int, per: int) -> bool:
    """Many quiet streams, each shared out among three replicas: alarms against the promise."""
    raised = 0
    address = server.database(f"quiet_{os.urandom(4).hex()}")
    stores = [Store(address) for _ in range(REPLICAS)]
    try:
        for run in range(runs):
            raised += _quiet_stream(stores, run, rows, per)
    finally:
        for store in stores:
            store.close()
    promised = runs * rows / per
    most = int(stats.poisson.ppf(0.999, promised))
    good = raised <= most
    print(
        f"quiet traffic: {raised} alarms in {runs * rows:,} rows over {REPLICAS} replicas; at most "
        f"1 per {per:,} rows is promised, {promised:.0f} (with luck's share {most}): "
        f"{'met' if good else 'MISSED'}"
    )
    return good


def _quiet_stream(stores: list[Store], run: int, rows: int, per: int) -> int:
    """Alarms of one stream; after each the monitor is reset, at any replica."""
    dice = np.random.default_rng(run)
    reference = dice.normal(size=(300, 3))
    replicas = [
        StoredMonitor(
            ah.Monitor(_model, reference, radius=0.5, false_alarms=f"1 per {per}", watch="gamma"),
            reference,
            store,
            f"run {run}",
        )
        for store in stores
    ]
    raised = sent = 0
    while sent < rows:
        count = min(int(dice.integers(1, 60)), rows - sent)
        points = dice.normal(size=(count, 3)).tolist()
        batch = [Event(f"{sent + row}", values, 0.0) for row, values in enumerate(points)]
        replica = replicas[dice.integers(len(replicas))]
        outcome = replica.commit(batch, replica.measure(batch))
        raised += len(outcome.alarms)
        if outcome.alarm:
            replicas[dice.integers(len(replicas))].reset()
        sent += count
    return raised


def _model(rows: object) -> object:
    x = np.asarray(rows, dtype=float)
    return np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
