"""`anharmonic serve` and `export` as typed, and what `demo --serve` shows."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import httpx
import numpy as np
import pytest

from anharmonic.cli import app
from anharmonic.demos.stream import CALM, RATE, demo_service
from anharmonic.errors import AnharmonicError
from anharmonic.serve.monitor.server import uvicorn_config
from anharmonic.serve.monitor.settings import Settings
from tests.serve.conftest import free_port
from tests.serve.running import served

MODEL = "import numpy as np\ndef wave(x):\n    return np.sin(3 * x[:, 0]) * (x[:, 0] > 0)\n"
SCRIPT = "from anharmonic.cli import main; main()"


def typed(*words: str, folder: Path, **more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **more}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(port: int, process: subprocess.Popen[str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    client.get("/healthz")
                    break
                except httpx.TransportError:
                    assert process.poll() is None, process.communicate()
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            yield client
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)


def test_serve_watches_a_model_and_export_writes_what_it_kept(tmp_path: Path) -> None:
    random, port = np.random.default_rng(0), free_port()
    (tmp_path / "wavy.py").write_text(MODEL)
    np.save(tmp_path / "reference.npy", random.normal(size=(1500, 2)) - 1)
    words = (
        *("serve", "--model", "wavy:wave", "--reference", "reference.npy", "--radius", "0.3"),
        *("--port", str(port), "--name", "wave", "--store", "kept.db"),
    )
    with serving(port, typed(*words, folder=tmp_path)) as client:
        quiet = (random.normal(size=(1000, 2)) - 1).tolist()
        assert client.post("/v1/observe", json={"points": quiet}).json()["alarm"] is False
        moved = random.normal(size=(600, 2)).tolist()
        assert client.post("/v1/observe", json={"points": moved}).json()["alarm"] is True
        (alarm, *_) = client.get("/v1/alarms").json()["alarms"]
        assert 900 < alarm["since"] <= alarm["sequence"] <= 1600
    exported = typed("export", "kept.db", "out.parquet", "--columns", "a,b", folder=tmp_path)
    assert exported.wait(60) == 0, exported.communicate()
    exported.communicate()
    query = f"SELECT count(*), count(score), max(evidence), min(a) FROM '{tmp_path}/out.parquet'"
    (row,) = duckdb.sql(query).fetchall()
    assert row[:2] == (1600, 1600)
    assert row[2] > np.log(100_000)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--host", "0.0.0.0"), "ANHARMONIC_INGEST_TOKEN"),
        (("--upstream", "ftp://x"), "http"),
        (("--store", "mysql://x/y"), "PostgreSQL"),
    ],
)
def test_serve_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wavy.py").write_text(MODEL)
    np.save(tmp_path / "r.npy", np.zeros((50, 2)))
    asked = ["serve", "--model", "wavy:wave", "--reference", "r.npy", *more]
    with pytest.raises(AnharmonicError, match=words):
        app(asked, standalone_mode=False)


def test_a_port_that_is_taken_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for asked in (
            ["serve", "--model", "none:here", "--reference", str(tmp_path), "--port", port],
            ["demo", "--serve", "--port", port],
            ["llm", "serve", "http://127.0.0.1:9/v1", "--port", port],
        ):
            with pytest.raises(AnharmonicError, match=f"{port} cannot be listened on"):
                app(asked, standalone_mode=False)


def test_the_demo_raises_an_alarm_within_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fed as fast as it goes, and timed by its bottles.
    monkeypatch.setattr("anharmonic.demos.stream.RATE", 1e6)
    monkeypatch.setattr("anharmonic.demos.stream.BATCH", 60)
    settings = Settings(port=free_port())
    service = demo_service(str(tmp_path / "demo.db"), settings)
    with served(uvicorn_config(service)) as url, httpx.Client(base_url=url, timeout=20) as client:
        deadline = time.monotonic() + 60
        while len(alarms := client.get("/v1/alarms").json()["alarms"]) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert all(CALM < each["sequence"] < 40 * RATE for each in alarms)
    # All traffic, or the segment that changes; never the other.
    assert {each["segment"] for each in alarms} <= {None, "south"}
    assert {each["watched"] for each in alarms} <= {"gamma", "inputs", "prediction", "confidence"}
