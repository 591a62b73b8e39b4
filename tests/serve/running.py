"""A service in a thread of this process, on loopback, for the tests of one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
import uvicorn

from anharmonic.serve.monitor.api import Service
from anharmonic.serve.monitor.server import uvicorn_config
from anharmonic.serve.monitor.settings import Settings
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import StoredMonitor
from tests.serve.conftest import free_port
from tests.serve.standin import StandIn

REFERENCE = np.random.default_rng(0).normal(size=(50, 3))


@contextmanager
def served(config: uvicorn.Config) -> Iterator[str]:
    """A server in a thread."""
    config.timeout_graceful_shutdown = 2
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while not server.started:
            assert time.monotonic() < deadline, "the server did not start"
            assert thread.is_alive(), "the server ended"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{config.port}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


class Running:
    """A service that runs, and a client for it."""

    def __init__(self, service: Service, url: str, monitor: Any) -> None:
        self.service, self.url, self.monitor = service, url, monitor
        self.http = httpx.Client(base_url=url, timeout=20)

    def observe(self, points: Any, **more: Any) -> httpx.Response:
        return self.http.post("/v1/observe", json={"points": points, **more})


@contextmanager
def running(
    address: str, monitor: Any = None, reference: Any = REFERENCE, **settings: Any
) -> Iterator[Running]:
    """A service over a store."""
    port = free_port()
    watched = StandIn() if monitor is None else monitor
    store = Store(address)
    try:
        watch = StoredMonitor(watched, reference, store, "toy", "1")
    except BaseException:
        store.close()
        raise
    service = Service(watch, Settings(port=port, **settings))
    with served(uvicorn_config(service)) as url:
        here = Running(service, url, watched)
        try:
            yield here
        finally:
            here.http.close()
