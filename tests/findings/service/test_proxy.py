"""The proxy: only its own model is scored, only what is below /v2/ is reached."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Request, Response

from anharmonic.serve.monitor.upstream import Upstream, UpstreamUnavailable
from tests.serve.conftest import free_port
from tests.serve.running import running, served

BODY = json.dumps(
    {"inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP64", "data": [2, 0, 0]}]}
).encode()
TOKENS = {"ingest_token": "ingest-0123456789", "read_token": "read-0123456789ab"}


class Server:
    """A model server that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.app = FastAPI()
        self.app.api_route("/{path:path}", methods=["GET", "POST"])(self.take)

    async def take(self, request: Request) -> Response:
        raw = request.scope["raw_path"].decode()
        self.asked.append((raw, dict(request.headers)))
        return Response(b"ok", headers={"connection": "x-inner", "x-inner": "1"})

    @property
    def config(self) -> uvicorn.Config:
        return uvicorn.Config(self.app, port=free_port(), log_level="error")


@pytest.mark.finding("security A13")
def test_only_the_watched_models_requests_are_scored(tmp_path: Path) -> None:
    server = Server()
    with (
        served(server.config) as url,
        running(str(tmp_path / "m.db"), upstream=url, upstream_model="fraud") as here,
    ):
        for name in ("fraud", "churn", "churn", "churn", "toy", "fraud/versions/3"):
            path = f"/v2/models/{name}/infer"
            assert here.http.post(path, content=BODY).status_code == 200
        deadline = time.monotonic() + 10
        while here.monitor.seen < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.4)
        assert here.monitor.seen == 2
    assert len(server.asked) == 6


@pytest.mark.finding("security A13")
def test_paths_that_mean_another_place_and_strangers_are_refused(tmp_path: Path) -> None:
    server = Server()
    with served(server.config) as url, running(str(tmp_path / "m.db"), upstream=url) as here:
        port = int(here.url.rpartition(":")[2])
        for path in ("/v2/../admin", "/v2/%2e%2e/admin", "/v2/..%2fadmin", "/v2//admin", "/v2/%00"):
            with socket.create_connection(("127.0.0.1", port), 5) as raw:
                raw.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
                assert b" 400 " in raw.recv(2000), path
        get = here.http.get
        assert get("/v2/health/ready", headers={"host": "evil.test"}).status_code == 421
        post = here.http.post
        unload = "/v2/repository/models/x/unload"
        assert post(unload, headers={"origin": "http://evil.test"}).status_code == 403
        assert post(unload).status_code == 403
    assert server.asked == []


@pytest.mark.finding("security A13")
def test_our_tokens_and_headers_of_one_connection_stay_here(tmp_path: Path) -> None:
    server = Server()
    with (
        served(server.config) as url,
        running(str(tmp_path / "m.db"), upstream=url, **TOKENS) as here,
    ):
        for token in ("theirs", *TOKENS.values()):
            headers = {
                "authorization": f"Bearer {token}",
                "connection": "keep-alive, x-hop",
                "x-hop": "1",
                "x-end": token,
            }
            answer = here.http.post("/v2/models/toy/infer", content=BODY, headers=headers)
            assert "x-inner" not in answer.headers
        told = [headers for _, headers in server.asked]
    assert [each.get("authorization") for each in told] == ["Bearer theirs", None, None]
    assert not any(token in json.dumps(told) for token in TOKENS.values())
    assert not any("x-hop" in each for each in told)


@contextmanager
def saying(*answers: bytes) -> Iterator[str]:
    """A server that says something to each request, whatever it is."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)

        def answer(connection: socket.socket, said: bytes) -> None:
            with connection:
                connection.recv(65_536)
                connection.sendall(said)
                connection.settimeout(3)
                try:
                    connection.recv(1)
                except OSError:
                    return

        def run() -> None:
            for said in answers:
                try:
                    connection = listening.accept()[0]
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection, said), daemon=True).start()

        threading.Thread(target=run, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def reply(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body


@pytest.mark.finding("security A13")
def test_two_answers_to_one_question_are_not_merged() -> None:
    async def asked(url: str) -> list[bytes]:
        upstream = Upstream(url, 5)
        bodies = [(await upstream.request("GET", "/v2/x", [], b"")).body for _ in range(2)]
        upstream.close()
        return bodies

    with saying(reply(b"OK") + reply(b"POISON"), reply(b"second")) as url:
        assert asyncio.run(asked(url)) == [b"OK", b"second"]


@pytest.mark.finding("security A13")
def test_answers_in_memory_have_one_limit() -> None:
    async def asked(url: str) -> list[Any]:
        upstream = Upstream(url, 5)
        upstream.budget.most = 2_500_000
        held = [await upstream.request("GET", "/v2/x", [], b"") for _ in range(2)]
        with pytest.raises(UpstreamUnavailable):
            await upstream.request("GET", "/v2/x", [], b"")
        for each in held:
            upstream.release(each)
        assert upstream.budget.used == 0
        last = await upstream.request("GET", "/v2/x", [], b"")
        upstream.close()
        return [len(each.body) for each in (*held, last)]

    with saying(*[reply(b"x" * 1_000_000)] * 4) as url:
        assert asyncio.run(asked(url)) == [1_000_000] * 3


@pytest.mark.finding("security A13")
def test_the_watched_model_is_the_one_in_the_models_address() -> None:
    from anharmonic.cli.serve import _model_there

    assert _model_there("http://host:8080/v2/models/wine") == "wine"
    assert _model_there("http://u:p@host/v2/models/wi%20ne/versions/3/infer?k=1") == (
        "wi ne/versions/3"
    )
    assert _model_there("model.onnx") is None


@pytest.mark.finding("security A13")
def test_one_version_is_watched_where_one_is_named(tmp_path: Path) -> None:
    server = Server()
    with (
        served(server.config) as url,
        running(str(tmp_path / "m.db"), upstream=url, upstream_model="m/versions/3") as here,
    ):
        proxy = here.service.proxy
        assert proxy is not None
        asked = ("/v2/models/m/versions/3/infer", "/v2/models/m/versions/4/infer")
        assert [proxy._is_watched(path) for path in (*asked, "/v2/models/m/infer")] == [
            *(True, False, False),
        ]
        assert not any(proxy._is_watched(path) for path in ("/v2/health", "/v2/models/m/ready"))
