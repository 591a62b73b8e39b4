"""Nobody in who should not be, and nothing that brings the service down."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from anharmonic.errors import SettingsError
from anharmonic.serve.monitor.settings import Limits, Settings
from tests.serve.running import Running, running

INGEST, READ = "ingest-token-0123456789", "read-token-0123456789ab"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong tokens are slow; the tests of what they open need not be."""
    monkeypatch.setattr("anharmonic.serve.http.security.WRONG_SECONDS", 0.01)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = str(tmp_path_factory.mktemp("guarded") / "m.db")
    limits = Limits(body_bytes=10_000, held_bytes=15_000, body_seconds=0.3, streams=1)
    with running(store, ingest_token=INGEST, read_token=READ, limits=limits) as here:
        yield here


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.com", ""])
def test_an_address_others_reach_needs_tokens(host: str) -> None:
    with pytest.raises(SettingsError, match="TOKEN"):
        Settings(host=host)
    with pytest.raises(SettingsError, match="TOKEN"):
        Settings(host=host, ingest_token=INGEST)
    assert Settings(host=host, ingest_token=INGEST, read_token=READ).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.53"])
def test_this_machine_needs_none(host: str) -> None:
    assert Settings(host=host).local


def test_half_guarded_or_short_tokens_are_refused() -> None:
    for tokens in ((INGEST, None), (None, READ), ("short", READ), (INGEST, "sécurité" * 4)):
        with pytest.raises(SettingsError):
            Settings(ingest_token=tokens[0], read_token=tokens[1])
    assert INGEST not in repr(Settings(ingest_token=INGEST, read_token=READ))


def test_each_role_opens_its_own_doors_only(guarded: Running) -> None:
    point = {"points": [[1.0, 0, 0]]}

    def post(headers: dict[str, str]) -> int:
        return guarded.http.post("/v1/observe", json=point, headers=headers).status_code

    def get(path: str, headers: dict[str, str]) -> int:
        return guarded.http.get(path, headers=headers).status_code

    assert [post(each) for each in ({}, bearer(READ), bearer(INGEST))] == [401, 401, 200]
    for path in ("/", "/v1/status", "/v1/scores", "/metrics", "/openapi.json", "/v1/points/x"):
        assert get(path, {}) == 401
        assert get(path, bearer(INGEST)) == 401
        assert get(path, bearer(READ)) in (200, 404)
    assert get("/healthz", {}) == 200
    refused = guarded.http.get("/")
    assert refused.headers["www-authenticate"].startswith("Basic")
    assert guarded.http.get("/", auth=("anyone", READ)).status_code == 200
    assert post({"authorization": httpx.BasicAuth("a", INGEST)._auth_header}) == 401
    for odd in ("Basic", "Basic !!!", "Bearer", "Basic /////w==", "\xe9"):
        headers = {"authorization": odd.encode("latin-1")}
        assert guarded.http.get("/v1/status", headers=headers).status_code == 401


def test_pages_of_other_names_are_not_answered(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db")) as here:
        for host, code in (
            *(("evil.example", 421), ("evil.example:8000", 421), ("localhost.evil.com", 421)),
            *(("localhost:1234", 200), ("127.0.0.1", 200), ("[::1]:80", 200)),
        ):
            assert here.http.get("/v1/status", headers={"host": host}).status_code == code


def test_browsers_are_told_to_trust_nothing_else(guarded: Running) -> None:
    headers = guarded.http.get("/", headers=bearer(READ)).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers


def test_too_much_is_turned_away_before_it_is_read(guarded: Running) -> None:
    big = b"x" * 20_000
    headers = {**bearer(INGEST), "content-type": "application/json"}
    assert guarded.http.post("/v1/observe", content=big, headers=headers).status_code == 413
    parts = (big[:6000] for _ in range(3))
    assert guarded.http.post("/v1/observe", content=parts, headers=headers).status_code == 413
    assert guarded.service.app.held_bytes == 0


def test_a_body_that_never_comes_is_not_waited_for(guarded: Running) -> None:
    port = int(guarded.url.rpartition(":")[2])
    head = (
        f"POST /v1/observe HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {INGEST}\r\n"
        "content-type: application/json\r\ncontent-length: 9000\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", port), 10) as slow:
        slow.sendall(head.encode())
        # What it has only announced takes no room from others.
        deadline = time.monotonic() + 5
        while not guarded.service.app.held_bytes and time.monotonic() < deadline:
            time.sleep(0.005)
        assert guarded.service.app.held_bytes == 1
        other = guarded.http.post(
            "/v1/observe",
            content=b" " * 9000,
            headers={**bearer(INGEST), "content-type": "application/json"},
        )
        assert other.status_code == 422
        assert b" 408 " in slow.recv(1000)
    assert guarded.service.app.held_bytes == 0


def test_more_requests_than_may_be_under_way_are_told_when_to_come_back(tmp_path: Path) -> None:
    with (
        running(str(tmp_path / "m.db"), limits=Limits(requests=4)) as here,
        ThreadPoolExecutor(4) as pool,
    ):
        here.monitor.free.clear()
        sent = [pool.submit(here.observe, [[1.0, 0, 0]]) for _ in range(4)]
        deadline = time.monotonic() + 10
        while here.service.app.requests < 4:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        away = here.observe([[1.0, 0, 0]])
        assert (away.status_code, away.headers["retry-after"]) == (429, "1")
        assert here.http.get("/metrics").status_code == 200
        here.monitor.free.set()
        assert [each.result().status_code for each in sent] == [200] * 4
        assert here.observe([[1.0, 0, 0]]).status_code == 200
        assert here.service.app.requests == 0


def test_browsers_that_watch_are_counted(guarded: Running) -> None:
    with guarded.http.stream("GET", "/v1/stream", headers=bearer(READ)) as first:
        assert first.headers["content-type"].startswith("text/event-stream")
        lines = first.iter_lines()  # held: let go, it would close the stream
        assert next(lines).startswith("data: {")
        assert guarded.http.get("/v1/stream", headers=bearer(READ)).status_code == 429


@pytest.mark.parametrize("path", ["/assets/../store.py", "/assets/page.py", "/etc/passwd", "/v2/x"])
def test_no_path_of_a_request_reaches_a_file(guarded: Running, path: str) -> None:
    assert guarded.http.get(path, headers=bearer(READ)).status_code == 404
    raw = httpx.Request("GET", f"{guarded.url}{path.replace('..', '%2e%2e')}", headers=bearer(READ))
    assert guarded.http.send(raw).status_code == 404


def test_random_requests_find_no_server_error(tmp_path: Path) -> None:
    from benchmarks.service.fuzz import fuzzed

    with running(str(tmp_path / "m.db")) as here:
        count, errors = fuzzed(here.url, examples=15)
    assert count > 150
    assert errors == []
