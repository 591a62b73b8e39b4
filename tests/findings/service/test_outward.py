"""What the service says: to receivers, to Prometheus, on its page."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import uvicorn
import yaml
from fastapi import FastAPI, Request, Response
from sqlalchemy import text
from starlette.responses import StreamingResponse

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.serve.monitor import Settings, Store
from anharmonic.serve.monitor.history import read_curves
from anharmonic.serve.monitor.past import read_past
from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.records import Batch, Event
from tests.serve.conftest import free_port
from tests.serve.running import running, served

DEPLOY = Path(__file__).parents[3] / "deploy"


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 15
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.finding("security A15: webhook")
def test_addresses_nothing_can_be_sent_to_are_refused_before_the_start() -> None:
    for url in ("http://☃.test/hook", "http://", "ftp://x"):
        with pytest.raises(SettingsError, match="--webhook"):
            Settings(webhook=url)
    with pytest.raises(SettingsError, match="base64"):
        Settings(webhook="http://a.test", webhook_secret="whsec_not base64")


@pytest.mark.finding("security A15: webhook")
def test_standard_webhooks_secrets_sign_and_long_answers_are_not_read(tmp_path: Path) -> None:
    got: list[tuple[dict[str, str], bytes]] = []
    app = FastAPI()

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(300):
            yield b"x" * 1_000_000

    @app.post("/hook")
    async def take(request: Request) -> Response:
        got.append((dict(request.headers), await request.body()))
        return StreamingResponse(endless())

    key = b"0123456789abcdef0123456789abcdef"
    secret = f"whsec_{base64.b64encode(key).decode()}"
    config = uvicorn.Config(app, port=free_port(), log_level="critical")
    with (
        served(config) as url,
        running(str(tmp_path / "m.db"), webhook=f"{url}/hook", webhook_secret=secret) as here,
    ):
        before = psutil.Process().memory_info().rss
        here.observe([[200.0, 0, 0]])
        until(lambda: here.http.get("/v1/alarms").json()["alarms"][0]["delivered"])
        assert psutil.Process().memory_info().rss - before < 150e6
    headers, body = got[0]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"


@pytest.mark.finding("security A15: webhook")
def test_whatever_delivery_meets_it_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anharmonic.serve.monitor.webhook.FIRST_PAUSE", 0.02)
    tried = []

    async def post(self: Any, client: Any, alarm: Any) -> bool:
        tried.append(alarm["id"])
        if len(tried) < 3:
            raise RuntimeError("what nobody thought of")
        return True

    monkeypatch.setattr("anharmonic.serve.monitor.webhook.Webhook._post", post)
    with running(str(tmp_path / "m.db"), webhook="http://127.0.0.1:9/") as here:
        here.observe([[200.0, 0, 0]])
        until(lambda: here.http.get("/v1/alarms").json()["alarms"][0]["delivered"])
    assert len(tried) == 3


@pytest.mark.finding("security A15: tokens")
def test_one_token_for_both_roles_is_refused() -> None:
    with pytest.raises(SettingsError, match="the same"):
        Settings(ingest_token="0123456789abcdef", read_token="0123456789abcdef")


@pytest.mark.finding("newcomer B14")
def test_all_traffic_is_not_the_points_without_a_segment(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db")) as here:
        here.observe([[5.0, 0, 0]] * 3 + [[1.0, 0, 0]], segments=["n", "n", "s", None])
        page = here.http.get("/metrics").text
        assert 'gamma_drift_log_evidence{model="toy",segment="(all)",version="1"} 16.0' in page
        assert 'gamma_drift_log_evidence{model="toy",segment=""' not in page
        assert 'gamma_points_total{model="toy",segment="",version="1"} 1.0' in page
        rows = read_past(here.service.snapshots.live, "number")["segments"]
    told = {row["name"]: (row["points"], row["log_evidence"]) for row in rows}
    assert told == {"all": (4, 16.0), "n": (2, None), "s": (1, None), "no segment": (1, None)}
    assert rows[0]["mean"] == 4.0


def confident(points: Any) -> Any:
    """A smooth classifier: its gamma says little, its confidence all."""
    likely = 1 / (1 + np.exp(-2 * points[:, 0]))
    return np.stack([1 - likely, likely], axis=1)


@pytest.mark.finding("newcomer 4: page after a confidence alarm", "code 0.6")
@pytest.mark.parametrize("watch", ["confidence", ("gamma", "confidence")])
def test_the_page_shows_what_alarmed_from_where_it_went(
    tmp_path: Path, address: str, watch: Any
) -> None:
    random = np.random.default_rng(0)
    reference = random.normal(size=(600, 2)) * 2
    settings = {"watch": watch, "radius": 0.01, "false_alarms": "1 per 1000"}
    monitor = ah.Monitor(confident, reference, **settings)
    with running(address, monitor=monitor, reference=reference) as here:
        page = here.http.get("/").text
        shown = "Confidence" if watch == "confidence" else "Gamma"
        assert f"{shown} over time" in page
        assert f"Points with the {'smallest confidence' if shown == 'Confidence' else 'l'}" in page
        unsure = random.normal(size=(400, 2)) * 0.1
        here.observe(unsure.tolist())
        alarms = here.http.get("/v1/alarms").json()["alarms"]
        first = min(alarms, key=lambda each: each["sequence"])
        assert (first["watched"], first["direction"]) == ("confidence", "down")
        # The page follows within a second, on a busy machine some seconds later.
        until(lambda: "mean confidence" in here.http.get("/").text)
        page = here.http.get("/").text
        past = read_past(here.service.snapshots.live, "number")
    assert "Confidence over time" in page
    assert "Points with the smallest confidence" in page
    values = [row["value"] for row in past["worst"]]
    assert values == sorted(values)
    assert values[0] < 0.51
    channel = past["channels"][0]
    assert channel["watched"] == "confidence"
    assert 0.5 < channel["means"][0] < 0.6
    assert channel["reference"]["mean"] > channel["means"][0] + 0.05
    assert past["worst_since"] == first["since"]


def kept(address: str, count: int) -> Store:
    store = Store(address)
    events = [
        Event(f"e{place}", [1.0], 1.0, "rare" if place % 100 == 0 else None)
        for place in range(count)
    ]
    scores = [float(place) for place in range(count)]
    store.append(Batch("m", 0, 1.0, b"", events, scores, scores))
    return store


@pytest.mark.finding("code 0.7")
def test_history_ends_where_it_says(address: str) -> None:
    store = kept(address, 100)
    curves = read_curves(Queries(store, "m"), ["gamma"], ["gamma"], (21, 50), 10, alone=True)
    history = curves["steps"]
    store.close()
    assert sum(row["points"] for row in history) == 30
    assert history[-1]["sequence"] == 50


@pytest.mark.finding("security A15: segment scan")
def test_a_segments_scores_are_found_by_an_index(tmp_path: Path) -> None:
    store = kept(str(tmp_path / "m.db"), 1000)
    assert len(Queries(store, "m").scores(0, 100, "rare")) == 10
    with store.reading() as connection:
        plan = connection.execute(
            text(
                "EXPLAIN QUERY PLAN SELECT id FROM events WHERE monitor = 'm' AND "
                "sequence > 0 AND segment = 'none' ORDER BY sequence LIMIT 100"
            )
        ).all()
    store.close()
    assert "events_by_segment" in str(plan)
    assert "TEMP B-TREE" not in str(plan)


@pytest.mark.finding("security A15: segment length")
def test_a_segments_name_is_short_whatever_rule_gave_it(tmp_path: Path) -> None:
    from tests.serve.standin import StandIn

    monitor = StandIn()
    monitor.segment = lambda points: np.array(["s" * 10_000] * len(points))  # type: ignore[assignment]
    with running(str(tmp_path / "m.db"), monitor=monitor) as here:
        assert here.observe([[1.0, 0, 0]]).status_code == 200
        assert len(here.http.get("/metrics").content) < 20_000


@pytest.mark.finding("security A15: deploy")
def test_what_is_deployed_has_passwords_and_health_checks() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yml").read_text())
    grafana = compose["services"]["grafana"]
    secret = grafana["environment"]["GF_SECURITY_ADMIN_PASSWORD__FILE"]
    assert Path(secret).name in grafana["secrets"]
    assert Path(secret).name in compose["secrets"]
    assert "/livez" in (DEPLOY / "Dockerfile").read_text()
    assert "HEALTHCHECK" in (DEPLOY / "Dockerfile").read_text()
    assert "/readyz" in json.dumps(compose["services"]["anharmonic"]["healthcheck"])
