"""What the service says to others: alarms to a webhook, requests to a model server."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Request, Response

from tests.serve.conftest import free_port
from tests.serve.running import running, served

SECRET = "a shared secret"


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 15
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Receiver:
    """Takes webhooks; refuses the first few."""

    def __init__(self, refusals: int) -> None:
        self.refusals, self.got = refusals, []
        self.got: list[tuple[dict[str, str], bytes]]
        self.app = FastAPI()
        self.app.post("/hook")(self.take)

    async def take(self, request: Request) -> Response:
        self.got.append((dict(request.headers), await request.body()))
        return Response(status_code=500 if len(self.got) <= self.refusals else 204)


def plain(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(app, port=free_port(), log_level="error")


def test_an_alarm_is_signed_and_tried_until_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anharmonic.serve.monitor.webhook.FIRST_PAUSE", 0.05)
    receiver = Receiver(refusals=2)
    with served(plain(receiver.app)) as url:
        store = str(tmp_path / "m.db")
        hook: dict[str, Any] = {"webhook": f"{url}/hook", "webhook_secret": SECRET}
        with running(store, **hook) as here:
            here.observe([[200.0, 0, 0]])
            until(lambda: len(receiver.got) == 3)
            (alarm,) = here.http.get("/v1/alarms").json()["alarms"]
            until(lambda: here.http.get("/v1/alarms").json()["alarms"][0]["delivered"])
        assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
        headers, body = receiver.got[-1]
        assert headers["webhook-id"] == alarm["id"]
        signed = f"{alarm['id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
        told = json.loads(body)
        assert (told["type"], told["data"]["sequence"]) == ("anharmonic.alarm", 1)
        with running(store, **hook):
            pass
        assert len(receiver.got) == 3


def test_an_alarm_nobody_took_is_delivered_after_a_restart(tmp_path: Path) -> None:
    store, receiver = str(tmp_path / "m.db"), Receiver(refusals=0)
    with running(store, webhook=f"http://127.0.0.1:{free_port()}/hook") as here:
        here.observe([[200.0, 0, 0]])
    with served(plain(receiver.app)) as url, running(store, webhook=f"{url}/hook"):
        until(lambda: receiver.got)


@pytest.fixture
def model_server() -> FastAPI:
    app = FastAPI()

    @app.post("/v2/models/toy/infer")
    async def infer(request: Request) -> Response:
        body = await request.body()
        headers = {"x-model": "toy", "x-authorization": request.headers.get("authorization", "")}
        return Response(b"echo " + body, 200, headers, media_type="application/octet-stream")

    @app.get("/v2/health/ready")
    async def ready(request: Request) -> Response:
        return Response(str(request.url.query), 202)

    @app.post("/v2/models/broken/infer")
    async def broken() -> Response:
        return Response(b"no", 418)

    return app


def test_the_proxy_forwards_untouched_and_scores_beside(
    tmp_path: Path, model_server: FastAPI
) -> None:
    body = {"inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP64", "data": [2, 0, 0]}]}
    with (
        served(plain(model_server)) as upstream,
        running(str(tmp_path / "m.db"), upstream=upstream) as here,
    ):
        sent = json.dumps(body).encode()
        headers = {"content-type": "application/json", "authorization": "Bearer theirs"}
        for _ in range(2):
            answer = here.http.post("/v2/models/toy/infer", content=sent, headers=headers)
            assert answer.content == b"echo " + sent
            assert answer.headers["x-model"] == "toy"
            assert answer.headers["x-authorization"] == "Bearer theirs"
        until(lambda: here.monitor.total == 4.0)
        answer = here.http.get("/v2/health/ready?a=1&b=%20")
        assert (answer.status_code, answer.text) == (202, "a=1&b=%20")
        assert here.http.post("/v2/models/broken/infer", content=sent).status_code == 418
        odd = here.http.post("/v2/models/toy/infer", content=b"not ours to judge")
        assert odd.content == b"echo not ours to judge"
        assert b'reason="invalid"' in here.http.get("/metrics").content
        here.monitor.free.clear()
        assert here.http.post("/v2/models/toy/infer", content=sent).status_code == 200
        here.monitor.free.set()
        until(lambda: here.monitor.total == 6.0)


def test_a_model_server_that_hangs_up_between_requests_is_asked_again(
    tmp_path: Path, model_server: FastAPI
) -> None:
    sent = b'{"inputs": []}'
    config = plain(model_server)
    config.timeout_keep_alive = 0
    with served(config) as upstream, running(str(tmp_path / "m.db"), upstream=upstream) as here:
        for _ in range(5):
            assert here.http.post("/v2/models/toy/infer", content=sent).content == b"echo " + sent
            time.sleep(0.02)
    with running(str(tmp_path / "m.db"), upstream=upstream) as here:
        assert here.http.post("/v2/models/toy/infer", content=sent).status_code == 502


def test_a_model_server_that_is_away_is_said(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), upstream=f"http://127.0.0.1:{free_port()}") as here:
        answer = here.http.post("/v2/models/toy/infer", content=b"{}")
        assert (answer.status_code, answer.json()["title"]) == (502, "upstream")
