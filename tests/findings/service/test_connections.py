"""Connections that say nothing shut nobody out."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from anharmonic.serve.http import ConnectionLimiter
from anharmonic.serve.monitor.settings import Limits
from tests.serve.running import running


def idle(url: str, said: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 5)
    made.sendall(said)
    return made


def closed(one: socket.socket, seconds: float) -> bool:
    one.settimeout(seconds)
    try:
        return one.recv(1000) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.finding("security A7")
@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nhost: 127", b"\r\n\r\n"])
def test_a_head_that_does_not_come_is_not_waited_for(tmp_path: Path, said: bytes) -> None:
    with running(str(tmp_path / "m.db"), limits=Limits(head_seconds=0.3)) as here:
        with idle(here.url, said) as one:
            assert closed(one, 5)
        with idle(here.url, b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n") as again:
            again.settimeout(5)
            assert b" 200 " in again.recv(1000)
            # A second request on a kept connection has no more patience with it.
            again.sendall(b"GET /livez HT")
            assert closed(again, 4)


@pytest.mark.finding("security A7")
def test_a_head_without_end_is_cut(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db")) as here, idle(here.url) as one:
        one.settimeout(5)
        with suppress(ConnectionError):
            one.sendall(b"GET / HTTP/1.1\r\nx: " + b"a" * 2_000_000)
        with suppress(ConnectionError):
            assert b" 400 " in one.recv(1000)
        assert closed(one, 5)


@pytest.mark.finding("security A7")
def test_idle_connections_make_room(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with running(str(tmp_path / "m.db"), limits=Limits(connections=20)) as here:
        limiter = [idle(here.url) for _ in range(60)]
        for _ in range(3):
            assert httpx.get(f"{here.url}/livez").status_code == 200
            point = {"points": [[1.0, 0, 0]]}
            assert httpx.post(f"{here.url}/v1/observe", json=point).status_code == 200
        for each in limiter:
            each.close()
    assert "too many connections" in caplog.text


@pytest.mark.finding("security A7")
def test_room_is_made_by_the_address_that_has_most() -> None:
    class One:
        def __init__(self) -> None:
            self.transport, self.gone = self, False

        def abort(self) -> None:
            self.gone = True

    limiter = ConnectionLimiter(most=6, of_one=4)
    many, few = [One() for _ in range(4)], [One(), One()]
    assert all(limiter.enter(each, "many") for each in many)
    assert all(limiter.enter(each, "few") for each in few)
    assert limiter.enter(One(), "third")
    assert [each.gone for each in many] == [True, False, False, False]
    assert limiter.count == 6
    for each in many[1:]:
        limiter.mark_busy(each, "many")
    # Everybody of that address is busy, and others are not to suffer for it.
    assert not limiter.enter(One(), "many")
    assert not any(each.gone for each in [*many[1:], *few])
    assert limiter.count == 6


SCRIPT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from tests.serve.running import running
with running(sys.argv[1]) as here:
    print(here.url, flush=True)
    sys.stdin.readline()
"""


@pytest.mark.finding("security A7")
@pytest.mark.skipif(os.name != "posix", reason="there is no such limit")
def test_few_files_are_enough(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path / "m.db")]
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        limiter = [idle(url) for _ in range(300)]
        time.sleep(0.1)
        assert httpx.get(f"{url}/livez").status_code == 200
        point = {"points": [[1.0, 0, 0]]}
        assert httpx.post(f"{url}/v1/observe", json=point).status_code == 200
        for each in limiter:
            each.close()
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait(20) == 0


@pytest.mark.finding("security A7")
def test_bodies_that_are_only_announced_take_no_room(tmp_path: Path) -> None:
    limits = Limits(held_bytes=20_000, body_bytes=10_000, body_seconds=3)
    with running(str(tmp_path / "m.db"), limits=limits) as here:
        head = b"POST /v1/observe HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        chunked = [
            idle(here.url, head + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n") for _ in range(9)
        ]
        deadline = time.monotonic() + 5
        while here.service.app.held_bytes < 9 and time.monotonic() < deadline:  # type: ignore[attr-defined]
            time.sleep(0.005)
        assert here.observe([[1.0, 0, 0]]).status_code == 200
        for each in chunked:
            each.close()
