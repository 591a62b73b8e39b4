"""A served monitor of a labelled reference: late labels by id sharpen what it says."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import numpy as np

import anharmonic as ah
from anharmonic.serve.monitor import Service, Settings, Store, StoredMonitor
from anharmonic.serve.monitor.server import uvicorn_config
from tests.serve.running import free_port, served

RANDOM = np.random.default_rng(0)


def chances(points: np.ndarray) -> np.ndarray:
    up = 1 / (1 + np.exp(-2 * np.asarray(points)[:, 0]))
    return np.stack([1 - up, up], axis=1)


def labelled(count: int) -> tuple[np.ndarray, np.ndarray]:
    points = RANDOM.normal(size=(count, 2))
    return points, (RANDOM.random(count) < chances(points)[:, 1]).astype(int)


def stored(path: Path, points: np.ndarray, labels: np.ndarray) -> StoredMonitor:
    monitor = ah.Monitor(
        chances, points, labels=labels, output="probability", window=100, watch=["confidence"]
    )
    return StoredMonitor(monitor, points, Store(str(path)), "m", "1")


def test_windows_are_numbered_as_events_are(tmp_path: Path) -> None:
    reference, known = labelled(1000)
    rows, _ = labelled(100)
    path = tmp_path / "m.db"
    for fresh, first in ((False, 1), (True, 101)):
        made = ah.Monitor(
            chances, reference, labels=known, output="probability", window=50, watch=["confidence"]
        )
        watch = StoredMonitor(made, reference, Store(str(path)), "m", "1", fresh=fresh)
        service = Service(watch, Settings(port=free_port()))
        with (
            served(uvicorn_config(service)) as url,
            httpx.Client(base_url=url, timeout=20) as client,
        ):
            assert client.post("/v1/observe", json={"points": rows.tolist()}).status_code == 200
            told = client.get("/v1/performance").json()
            scores = client.get("/v1/scores", params={"after": first - 1}).json()["scores"]
            assert [score["sequence"] for score in scores[:1]] == [first]
        assert [window["first"] for window in told["curve"]] == [first, first + 50]
        assert told["performance"]["last"] == first + 99


def test_labels_reach_the_estimate_and_a_restart_keeps_them(tmp_path: Path) -> None:
    reference, known = labelled(1000)
    rows, labels = labelled(250)
    watch = stored(tmp_path / "m.db", reference, known)
    service = Service(watch, Settings(port=free_port()))
    with served(uvicorn_config(service)) as url, httpx.Client(base_url=url, timeout=20) as client:
        ids = [f"order {number}" for number in range(250)]
        answer = client.post("/v1/observe", json={"points": rows.tolist(), "ids": ids})
        assert answer.status_code == 200
        values = [{"id": id, "label": int(label)} for id, label in zip(ids, labels, strict=True)]
        answer = client.post(
            "/v1/labels", json={"labels": [*values[150:180], {"id": "?", "label": 1}]}
        )
        assert answer.json()["accepted"] == 31
        deadline = time.monotonic() + 20
        while True:
            told = client.get("/v1/performance").json()
            if told["available"] and told["curve"] and told["curve"][-1]["labelled"]:
                break
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert [window["labelled"] for window in told["curve"]] == [0, 30]
        value, low, high = told["curve"][0]["metrics"]["accuracy"]
        assert low < value < high
        assert "gamma_performance_estimate" in client.get("/metrics").text
        page = client.get("/").text
        assert "Performance" in page
        state = watch.monitor.state()
    again = stored(tmp_path / "m.db", reference, known)
    assert again.monitor.state() == state
    again.store.close()
