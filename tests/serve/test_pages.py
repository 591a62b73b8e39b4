"""Pages beside the dashboard, and the dashboard along other axes: over HTTP, without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anharmonic.serve.monitor.history import read_curves
from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import StoredMonitor
from tests.serve.full import Full
from tests.serve.running import REFERENCE, Running, running
from tests.serve.standin import StandIn
from tests.serve.test_security import INGEST, READ, bearer

ROWS = [[1.0, 0.5, 0.0]] * 60


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "m.db"), Full()) as here:
        yield here


def first_alarm(here: Running) -> dict[str, Any]:
    alarm: dict[str, Any] = here.http.get("/v1/alarms").json()["alarms"][-1]
    return alarm


def test_an_alarm_has_a_page_with_its_rows(service: Running) -> None:
    ids = [f"<i>{number}" for number in range(60)]
    service.observe(ROWS, ids=ids, segments=["north"] * 60)
    service.observe([[70.0, 0.5, 0]], ids=["the/worst one"], metadata=[{"who": "<me>"}])
    service.http.post("/v1/labels", json={"labels": [{"id": "the/worst one", "label": "yes"}]})
    alarm = first_alarm(service)
    told = service.http.get(f"/v1/alarms/{alarm['id']}").json()
    assert told["alarm"]["words"].startswith("gamma rose: seen at row 61, since about 41")
    assert told["alarm"]["carriers"] == alarm["carriers"] == ["by about 1 sd", "most in town"]
    assert abs(told["began"] - told["alarm"]["time"]) < 60
    assert told["rows"][0]["id"] == "the/worst one"
    assert (told["rows"][0]["value"], told["rows"][0]["label"]) == (70.0, "yes")
    assert all(41 <= row["sequence"] <= 61 for row in told["rows"])
    assert told["segments"][0]["segment"] is None
    page = service.http.get(f"/alarms/{alarm['id']}").text
    assert "gamma rose: seen at row 61" in page
    assert "look at &lt;b&gt;it&lt;/b&gt;" in page
    assert 'href="/points/the/worst%20one"' in page
    point = service.http.get("/points/the/worst%20one").text
    for words in ("&lt;me&gt;", "yes", "70", "unusual", "confidence"):
        assert words in point
    for path in ("/alarms/nobody", "/v1/alarms/nobody", "/points/nobody", "/alarms/a%00b"):
        assert service.http.get(path).status_code in (404, 422)


def test_an_alarm_is_acknowledged_and_still_stands(address: str) -> None:
    with running(address, Full()) as here:
        here.observe([[200.0, 0, 0]])
        id = first_alarm(here)["id"]
        path = f"/v1/alarms/{id}/acknowledge"
        answer = here.http.post(path, json={"by": " Ada ", "note": "a <b>\nnote"})
        assert answer.json()["acknowledged_by"] == "Ada"
        alarm = first_alarm(here)
        assert (alarm["acknowledged_by"], alarm["note"]) == ("Ada", "a <b>\nnote")
        assert alarm["stands"] is True
        assert here.http.get("/v1/status").json()["alarm"] is True
        page = here.http.get(f"/alarms/{id}").text
        assert "a &lt;b&gt;\nnote" in page
        assert b"gamma_alarms_acknowledged_total" in here.http.get("/metrics").content
        for body in ({}, {"by": ""}, {"by": "x", "more": 1}, [], {"by": "a\x00"}, {"by": "a\nb"}):
            assert here.http.post(path, json=body).status_code == 422
        assert here.http.post(path, json={"by": "x" * 101}).status_code == 413
        assert here.http.post(path, json={"by": "x", "note": "y" * 2001}).status_code == 413
        assert here.http.post("/v1/alarms/no/acknowledge", json={"by": "x"}).status_code == 404
        here.http.post("/v1/reset", json={})
        assert first_alarm(here)["stands"] is False
        assert first_alarm(here)["cleared"] is not None
    with running(address, Full()) as again:
        assert first_alarm(again)["acknowledged_by"] == "Ada"


def test_a_reader_and_a_foreign_page_cannot_acknowledge_or_reset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anharmonic.serve.http.security.WRONG_SECONDS", 0.01)
    tokens = {"ingest_token": INGEST, "read_token": READ}
    with running(str(tmp_path / "m.db"), Full(), **tokens) as here:
        here.http.post("/v1/observe", json={"points": [[200.0, 0, 0]]}, headers=bearer(INGEST))
        alarms = here.http.get("/v1/alarms", headers=bearer(READ)).json()["alarms"]
        body = {"by": "Eve"}
        for path in ("/v1/reset", f"/v1/alarms/{alarms[0]['id']}/acknowledge"):
            for headers in ({}, bearer(READ)):
                assert here.http.post(path, json=body, headers=headers).status_code == 401
            assert here.http.post(path, json=body, auth=("any", READ)).status_code == 401
            assert here.http.post(path, json=body, auth=("any", INGEST)).status_code == 401
            foreign = {**bearer(INGEST), "sec-fetch-site": "cross-site"}
            assert here.http.post(path, json=body, headers=foreign).status_code == 403
            form = {**bearer(INGEST), "content-type": "text/plain"}
            assert here.http.post(path, content="{}", headers=form).status_code == 415
        page = here.http.get("/", headers=bearer(READ)).text
        assert INGEST not in page
        assert 'id="dialog-token"' in page
        for path in ("/models", "/v1/models", "/alarms/x", "/points/x", "/v1/columns"):
            assert here.http.get(path).status_code == 401
            assert here.http.get(path, headers=bearer(INGEST)).status_code == 401


def test_channels_have_their_own_curves(service: Running) -> None:
    service.observe([[0.1, 2.0, 0.0]] * 60)
    page = service.http.get("/").text
    # What alarmed is on top, what has evidence only comes last.
    assert re.findall(r'data-watched="(\w+)"', page) == ["confidence", "gamma", "inputs"]
    queries = Queries(service.service.stored_monitor.store, "toy@1")
    names = ["gamma", "confidence", "inputs"]
    curves = read_curves(queries, names[:2], names, (1, 60), 10)
    series = curves["series"]
    assert series["gamma"]["means"][0] == pytest.approx(0.1)
    assert series["confidence"]["evidence"][-1] == pytest.approx(120.0)
    assert [log for log in series["gamma"]["evidence"] if log is not None][-1] == pytest.approx(6)
    assert series["inputs"]["means"] == [None] * len(curves["buckets"])


def test_late_events_stand_where_they_belong(address: str) -> None:
    with running(address) as here:
        base = 1.7e9
        times = [base + 10.0 * row for row in range(400)]
        here.observe([[1.0, 0, 0]] * 400, times=times)
        # Five late ones with large values belong to the beginning; one clock is years ahead.
        here.observe([[9.0, 0, 0]] * 5, times=[base + 5.0] * 5)
        here.observe([[1.0, 0, 0]], times=[base + 1e9])
        here.observe([[1.0, 0, 0]], times=[1.0])
        queries = Queries(here.service.stored_monitor.store, "toy@1")
        curves = read_curves(queries, ["gamma"], ["gamma"], (1, 407), 20, "time", alone=True)
        means, buckets = curves["series"]["gamma"]["means"], curves["buckets"]
        assert curves["outside"] == 2
        assert means[0] is not None
        assert means[0] > 1.5
        assert means[1:] == [1.0] * (len(means) - 1)
        assert base <= buckets[0]["x"] <= buckets[-1]["x"] <= base + 4000
        xs = [step["x"] for step in curves["steps"]]
        assert xs == sorted(xs)
        evidence = [log for log in curves["series"]["gamma"]["evidence"] if log is not None]
        assert evidence == sorted(evidence)
        arrival = read_curves(queries, ["gamma"], ["gamma"], (1, 407), 20, "received", alone=True)
        assert abs(arrival["buckets"][-1]["x"] - here.http.get("/").elapsed.total_seconds()) > 1e9
        for axis in ("time", "received", "number", "nonsense"):
            assert here.http.get("/", params={"axis": axis}).status_code == 200
        assert here.http.get("/v1/stream?axis=nonsense").status_code == 422


def test_columns_and_performance_are_told_where_the_monitor_has_them(service: Running) -> None:
    columns = service.http.get("/v1/columns").json()
    assert [column["name"] for column in columns["columns"]] == ["moved <i>", "town", "calm"]
    performance = service.http.get("/v1/performance").json()
    assert performance["available"] is True
    assert performance["performance"]["metrics"]["accuracy"] == pytest.approx([0.824, 0.814, 0.834])
    unknown = [window for window in performance["curve"] if not window["known"]]
    assert len(unknown) == 4
    assert unknown[0]["reason"] == "the traffic is outside the reference"
    metrics = service.http.get("/metrics").text
    assert 'gamma_performance_low{metric="accuracy",model="toy",version="1"} 0.81' in metrics
    page = service.http.get("/").text
    assert "moved &lt;i&gt;" in page
    assert "rose by 0.5 sd" in page


def test_a_monitor_that_fails_to_say_is_no_failure(service: Running, tmp_path: Path) -> None:
    service.monitor.columns = None
    with running(str(tmp_path / "other.db")) as plain:
        assert plain.http.get("/v1/columns").json() == {"available": False, "columns": []}
        assert "Columns" not in plain.http.get("/").text
    broken = Full()
    broken.columns = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    with running(str(tmp_path / "broken.db"), broken) as here:
        assert here.http.get("/v1/columns").json()["columns"] == []
        assert here.http.get("/").status_code == 200


def test_all_models_of_a_store_are_listed_and_shown(address: str) -> None:
    store = Store(address)
    other = StoredMonitor(StandIn(), REFERENCE, store, "fra&ud", "2/b")  # type: ignore[arg-type]
    events = [Event(f"e{i}", [30.0, 0.0, 0.0], 1.7e9 + i, "north") for i in range(5)]
    other.commit(events, other.measure(events))
    store.close()
    with running(address) as here:
        here.observe([[1.0, 0, 0]])
        rows = here.http.get("/v1/models").json()["models"]
        assert [(row["name"], row["alarms_standing"], row["here"]) for row in rows] == [
            ("fra&ud@2/b", 1, False),
            ("toy@1", 0, True),
        ]
        listed = here.http.get("/models").text
        assert "fra&amp;ud" in listed
        (path,) = re.findall(r'href="(/\?model=[^"]+)"', listed)
        page = here.http.get(path).text
        assert "Another process feeds this model" in page
        assert 'id="reset"' not in page
        (alarm,) = re.findall(r'href="(/alarms/[^"]+)"', page)
        assert "rose" in here.http.get(alarm).text
        model = {"model": "fra&ud@2/b"}
        assert here.http.get("/v1/points/e1", params=model).json()["score"] == 30.0
        assert here.http.get("/points/e1", params=model).status_code == 200
        # Without the model's name nothing of another is told, and nothing of it can be changed.
        assert here.http.get("/v1/points/e1").status_code == 404
        assert here.http.get("/v1/alarms").json()["alarms"] == []
        id = alarm.split("/")[2].partition("?")[0]
        assert here.http.get(f"/v1/alarms/{id}").status_code == 404
        answer = here.http.post(f"/v1/alarms/{id}/acknowledge", json={"by": "x"})
        assert answer.status_code == 404


def test_an_alarm_of_0_1_0_that_was_reset_is_not_said_to_stand(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    with running(path) as here:
        here.observe([[200.0, 0, 0]])
        here.http.post("/v1/reset", json={})
        with here.service.stored_monitor.store.writing() as connection:
            connection.exec_driver_sql("UPDATE alarms SET cleared = NULL")
    with running(path) as again:
        assert first_alarm(again)["stands"] is False


def test_usual_values_are_those_of_the_reference(tmp_path: Path) -> None:
    import pandas as pd

    random = np.random.default_rng(0)
    reference = pd.DataFrame(
        {"size": random.normal(size=400), "colour": random.choice(["red", "blue"], 400)}
    )
    with running(str(tmp_path / "m.db"), reference=reference) as here:
        here.monitor.measure = lambda points: {"gamma": points["size"].to_numpy()}
        rows = [{"size": 9, "colour": "green"}, {"size": 0, "colour": "red"}]
        here.observe(rows, ids=["odd", "even"])
        odd = here.http.get("/points/odd").text
        assert odd.count(">unusual<") == 2
        assert "never in the reference" in odd
        assert ">unusual<" not in here.http.get("/points/even").text
