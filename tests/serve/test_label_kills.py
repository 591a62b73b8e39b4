"""Killed while labels come, the service loses none it has acknowledged, and uses none twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from anharmonic.serve.monitor.store import Store
from tests.serve.conftest import free_port

SCRIPT = """
import sys
from anharmonic.serve.monitor import Service, Settings, Store, StoredMonitor, run
from tests.serve.running import REFERENCE
from tests.serve.standin import Labelled
monitor = Labelled()
monitor.ids = [str(number) for number in range(100_000)]
stored = StoredMonitor(monitor, REFERENCE, Store(sys.argv[1]), "toy", "1")
run(Service(stored, Settings(port=int(sys.argv[2]))))
"""


@pytest.mark.slow
def test_acknowledged_labels_survive_kills(tmp_path: Path) -> None:
    path, sent = str(tmp_path / "m.db"), 0
    acknowledged: set[str] = set()
    for _ in range(3):
        port = free_port()
        command = [sys.executable, "-c", SCRIPT, path, str(port)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
            _wait_for(client)
            threading.Timer(0.5, process.kill).start()
            with suppress(httpx.TransportError):
                while True:
                    # A label before its point, and one after it.
                    early, late = str(sent), str(sent + 1)
                    sent += 2
                    _send_label(client, early)
                    acknowledged.add(early)
                    points = {"points": [[0.0, 0, 0]] * 2, "ids": [early, late]}
                    client.post("/v1/observe", json=points).raise_for_status()
                    _send_label(client, late)
                    acknowledged.add(late)
        process.wait(20)
    store = Store(path)
    state = store.read_state("toy@1").state or b""
    stored = store.find_labels("toy@1", [str(number) for number in range(sent)])
    store.close()
    assert len(acknowledged) > 20
    assert acknowledged <= set(stored)
    # The mark before the state is sixteen bytes; every label whose point came is in it once.
    _, (total, count) = json.loads(state[16:])
    assert total == count == sum(not label.waiting for label in stored.values())


def _send_label(client: httpx.Client, id: str) -> None:
    labels = [{"id": id, "label": 1}]
    client.post("/v1/labels", json={"labels": labels}).raise_for_status()


def _wait_for(client: httpx.Client) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            client.get("/livez")
            return
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
