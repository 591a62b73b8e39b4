"""The service over HTTP: what goes in comes out, once; what cannot is refused with a reason."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from anharmonic.errors import SettingsError
from anharmonic.serve.monitor.retention import Retention
from anharmonic.serve.monitor.settings import Limits
from tests.serve.running import REFERENCE, Running, running


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "monitor.db")) as here:
        yield here


def test_points_are_scored_kept_and_found(service: Running) -> None:
    answer = service.observe([[1.0, 2, 3], [4.0, 5, 6]], ids=["a", "b/c d"], segments=["n", None])
    assert answer.status_code == 200, answer.text
    assert answer.json()["scores"] == [1.0, 4.0]
    point = service.http.get("/v1/points/b%2Fc%20d").json()
    assert point["point"] == {"0": 4.0, "1": 5.0, "2": 6.0}
    scores = service.http.get("/v1/scores").json()["scores"]
    assert [(row["id"], row["score"], row["evidence"]) for row in scores] == [
        ("a", 1.0, 1.0),
        ("b/c d", 4.0, 5.0),
    ]
    assert [row["id"] for row in service.http.get("/v1/scores?segment=n").json()["scores"]] == ["a"]
    assert service.http.get("/v1/points/nobody").status_code == 404
    status = service.http.get("/v1/status").json()
    assert (status["seen"], status["scored"], status["events"]) == (2, 2, 2)
    assert service.http.get("/healthz").json() == {"well": True}


def test_an_event_counts_once_however_often_it_is_sent(service: Running) -> None:
    first = service.observe([[1.0, 0, 0]], ids=["x"]).json()
    again = service.observe([[7.0, 0, 0], [2.0, 0, 0]], ids=["x", "y"]).json()
    assert (first["accepted"], first["duplicates"]) == (1, 0)
    assert (again["accepted"], again["duplicates"]) == (1, 1)
    assert again["scores"] == [1.0, 2.0]
    assert service.monitor.total == 3.0
    assert b'gamma_skipped_total{model="toy",reason="duplicate",version="1"} 1.0' in (
        service.http.get("/metrics").content
    )


def test_an_alarm_is_kept_with_where_it_began(service: Running) -> None:
    service.observe([[40.0, 0, 0]] * 4)
    (alarm,) = service.http.get("/v1/alarms").json()["alarms"]
    assert (alarm["sequence"], alarm["since"], alarm["direction"]) == (3, 1, "up")
    assert service.http.get("/v1/status").json()["alarm"] is True
    assert b'gamma_alarms_total{model="toy",segment="(all)",version="1"} 1.0' in (
        service.http.get("/metrics").content
    )


def test_a_service_goes_on_where_it_stopped(tmp_path: Path, address: str) -> None:
    with running(address) as first:
        first.observe([[30.0, 0, 0]], ids=["a"])
        state = first.monitor.state()
    with running(address) as second:
        assert second.monitor.state() == state
        assert second.observe([[30.0, 0, 0]], ids=["a"]).json()["duplicates"] == 1
        second.observe([[80.0, 0, 0]])
        assert second.http.get("/v1/alarms").json()["alarms"][0]["sequence"] == 2


def test_a_reset_clears_alarms_and_is_remembered(address: str) -> None:
    with running(address) as here:
        here.observe([[200.0, 0, 0]])
        assert here.http.get("/v1/status").json()["alarm"] is True
        assert here.http.post("/v1/reset", json={}).json() == {"alarm": False}
        assert here.http.get("/v1/status").json()["log_evidence"] == 0.0
        assert b'gamma_alarm{model="toy",version="1"} 0.0' in here.http.get("/metrics").content
        here.observe([[3.0, 0, 0]])
    with running(address) as again:
        assert again.monitor.total == 3.0
        assert len(again.http.get("/v1/alarms").json()["alarms"]) == 1
        again.observe([[200.0, 0, 0]])
        assert len(again.http.get("/v1/alarms").json()["alarms"]) == 2


def test_another_reference_under_the_same_name_is_refused(tmp_path: Path) -> None:
    store = str(tmp_path / "m.db")
    with running(store) as here:
        here.observe([[1.0, 0, 0]])
    with pytest.raises(SettingsError, match="--version"), running(store, reference=REFERENCE + 1):
        pass


def test_two_services_share_a_store_without_harm(address: str) -> None:
    with running(address) as one, running(address) as other:
        for step in range(5):
            for each in (one, other):
                assert each.observe([[1.0, 0, 0]], ids=[f"{step}"]).status_code == 200
                assert each.observe([[1.0, 0, 0]]).status_code == 200
        assert other.monitor.total == 15.0
        assert len(one.http.get("/v1/scores").json()["scores"]) == 15


def test_requests_that_wait_share_a_model_call(service: Running) -> None:
    service.monitor.free.clear()
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(service.observe, [[1.0, 0, 0]]) for _ in range(20)]
        deadline = time.monotonic() + 10
        # The model has the first in hand, few or many, and the others wait for it.
        while service.service.pipeline.points + service.monitor.asking < 20:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        service.monitor.free.set()
        assert all(each.result().status_code == 200 for each in waiting)
    assert len(service.monitor.asked) <= 3


def test_arrow_streams_are_read(service: Running) -> None:
    table = pa.table({"0": [1.0, 2.0], "1": [0.0, 0.0], "2": [0.0, 0.0], "_id": ["p", "q"]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    kind = {"content-type": "application/vnd.apache.arrow.stream"}
    body = sink.getvalue().to_pybytes()
    answer = service.http.post("/v1/observe", content=body, headers=kind)
    assert answer.json()["scores"] == [1.0, 2.0]
    assert service.http.get("/v1/points/q").json()["score"] == 2.0
    for bad in (body[:40], b"", b"x" * 100, body[:-20]):
        assert service.http.post("/v1/observe", content=bad, headers=kind).status_code == 422


V2 = {"inputs": [{"name": "x", "shape": [2, 3], "datatype": "FP64", "data": [1, 0, 0, 2, 0, 0]}]}
CE = {
    "ce-id": "k-1",
    "ce-source": "http://localhost:9081/",
    "ce-specversion": "1.0",
    "ce-type": "org.kubeflow.serving.inference.request",
    "ce-time": "2026-01-02T03:04:05.5Z",
    "ce-inferenceservicename": "toy",
    "content-type": "application/json",
}


@pytest.mark.parametrize("path", ["/", "/v1/events", "/v1/observe"])
@pytest.mark.parametrize("body", [V2, {"instances": [[1, 0, 0], [2, 0, 0]]}])
def test_kserve_loggers_events_are_read(service: Running, path: str, body: object) -> None:
    headers = CE if path != "/v1/observe" else {**CE, "content-type": "application/x-json"}
    answer = service.http.post(path, json=body, headers=headers)
    assert answer.json()["ids"] == ["k-1.0", "k-1.1"], answer.text
    assert service.http.get("/v1/points/k-1.1").json()["time"] == 1767323045.5
    assert service.http.post(path, json=body, headers=headers).json()["duplicates"] == 2
    response = {**headers, "ce-type": "org.kubeflow.serving.inference.response"}
    assert service.http.post(path, json={"outputs": []}, headers=response).json()["accepted"] == 0


def test_structured_cloudevents_and_batches_are_read(service: Running) -> None:
    event = {name[3:]: value for name, value in CE.items() if name.startswith("ce-")}
    whole = {**event, "data": {"instances": [[1, 0, 0]]}}
    kind = "application/cloudevents+json"
    answer = service.http.post("/", content=json.dumps(whole), headers={"content-type": kind})
    assert answer.json()["ids"] == ["k-1"]
    several = json.dumps([{**whole, "id": "k-2"}, {**whole, "id": "k-3"}])
    kind = "application/cloudevents-batch+json"
    answer = service.http.post("/", content=several, headers={"content-type": kind})
    assert answer.json()["ids"] == ["k-2", "k-3"]


def test_v2_requests_are_read_in_json_and_bytes(service: Running) -> None:
    path = "/v2/models/toy/infer"
    assert service.http.post(path, json={**V2, "id": "r"}).json()["ids"] == ["r.0", "r.1"]
    raw = np.array([[3, 0, 0]], dtype="<f4").tobytes()
    tensor = {"name": "x", "shape": [1, 3], "datatype": "FP32"}
    head = json.dumps({"inputs": [{**tensor, "parameters": {"binary_data_size": len(raw)}}]})
    headers = {
        "content-type": "application/octet-stream",
        "inference-header-content-length": str(len(head)),
    }
    answer = service.http.post(path, content=head.encode() + raw, headers=headers)
    assert answer.json()["scores"] == [3.0]


def test_a_tables_columns_have_names_and_text(tmp_path: Path) -> None:
    reference = pd.DataFrame({"size": [1.0, 2.0], "count": [1, 2], "colour": ["red", "blue"]})
    with running(str(tmp_path / "m.db"), reference=reference) as here:
        # The stand-in reads the first column of what it is given.
        here.monitor.measure = lambda points: {"gamma": points["size"].to_numpy()}
        rows = [{"colour": "red", "size": 2, "count": 3}]
        assert here.observe(rows, ids=["n"]).json()["scores"] == [2.0]
        expected = {"size": 2.0, "count": 3.0, "colour": "red"}
        assert here.http.get("/v1/points/n").json()["point"] == expected
        v2 = [
            {"name": "size", "shape": [1, 1], "datatype": "FP32", "data": [5]},
            {"name": "count", "shape": [1], "datatype": "INT64", "data": [5]},
            {"name": "colour", "shape": [1], "datatype": "BYTES", "data": ["blue"]},
        ]
        answer = here.http.post("/v2/models/m/versions/2/infer", json={"inputs": v2})
        assert answer.json()["scores"] == [5.0]
        for bad in ([{"size": 1}], [["red", 1, 2]], [{**rows[0], "more": 1}], [[1, 2, 3]]):
            assert here.observe(bad).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"points": []}',
        b'{"points": [[1, 2]]}',
        b'{"points": [[1, 2, "three"]]}',
        b'{"points": [[1, 2, NaN]]}',
        b'{"points": [[1, 2, 1e999]]}',
        b'{"points": [[1, 2, 3]], "ids": ["a", "b"]}',
        b'{"points": [[1, 2, 3]], "ids": [""]}',
        b'{"points": [[1, 2, 3]], "ids": ["\\u0000"]}',
        b'{"points": [[1, 2, 3]], "segments": ["\\u0000"]}',
        b'{"points": [[1, 2, 3]], "more": 1}',
        b"\xff\xfe",
        b"[" * 10_000,
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(service: Running, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = service.http.post("/v1/observe", content=body, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:anharmonic:invalid"
    assert answer.json()["detail"]
    for path in ("/v2/models/m/infer", "/v1/events"):
        more = {**headers, **(CE if path == "/v1/events" else {})}
        assert service.http.post(path, content=body, headers=more).status_code == 422


def test_a_point_the_model_cannot_take_spoils_no_others(service: Running) -> None:
    service.monitor.free.clear()
    with ThreadPoolExecutor(9) as pool:
        good = [pool.submit(service.observe, [[1.0, 0, 0]]) for _ in range(8)]
        bad = pool.submit(service.observe, [[-666.0, 0, 0]])
        time.sleep(0.1)
        service.monitor.free.set()
        assert [each.result().status_code for each in good] == [200] * 8
        # The model takes the others, so trying this one again would not help.
        assert bad.result().status_code == 422
        assert bad.result().json()["title"] == "invalid"


def test_a_model_that_hangs_is_said_and_comes_back(tmp_path: Path) -> None:
    limits = Limits(model_seconds=0.2)
    with running(str(tmp_path / "m.db"), limits=limits) as here:
        here.monitor.free.clear()
        answer = here.observe([[1.0, 0, 0]], ids=["a"])
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert here.observe([[1.0, 0, 0]]).json()["title"] == "model"
        assert here.http.get("/healthz").status_code == 503
        here.monitor.free.set()
        deadline = time.monotonic() + 10
        while here.observe([[1.0, 0, 0]], ids=["a"]).status_code != 200:
            assert time.monotonic() < deadline
        assert here.monitor.total == 1.0
        assert b'reason="model"' in here.http.get("/metrics").content


def test_a_model_that_hangs_does_not_keep_the_service_from_ending(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), limits=Limits(model_seconds=0.1)) as here:
        here.monitor.free.clear()
        assert here.observe([[1.0, 0, 0]]).status_code == 503
    # The context would have failed if the server's thread had not ended.
    here.monitor.free.set()


def test_a_flood_is_turned_away_and_counted(tmp_path: Path) -> None:
    limits = Limits(waiting_points=50, batch_points=10)
    with running(str(tmp_path / "m.db"), limits=limits) as here:
        here.monitor.free.clear()
        with ThreadPoolExecutor(100) as pool:
            sent = [pool.submit(here.observe, [[1.0, 0, 0]]) for _ in range(100)]
            deadline = time.monotonic() + 10
            while sum(each.done() for each in sent) < 35 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert here.service.pipeline.points <= 50
            here.monitor.free.set()
            codes = [each.result().status_code for each in sent]
            away = [each.result() for each in sent if each.result().status_code == 429]
        assert set(codes) == {200, 429}
        assert all(each.headers["retry-after"] for each in away)
        assert here.monitor.total == codes.count(200)
        counted = f'reason="overload",version="1"}} {len(away)}.0'
        assert counted.encode() in here.http.get("/metrics").content
        assert here.observe([[1.0, 0, 0]]).status_code == 200


def test_a_database_that_goes_away_comes_back(postgres: object) -> None:
    with running(postgres.database("away")) as here:  # type: ignore[attr-defined]
        assert here.observe([[1.0, 0, 0]], ids=["a"]).status_code == 200
        postgres.stop()  # type: ignore[attr-defined]
        try:
            answer = here.observe([[1.0, 0, 0]], ids=["b"])
            assert (answer.status_code, answer.json()["title"]) == (503, "storage")
            assert here.http.get("/v1/scores").status_code == 503
            assert here.http.get("/healthz").status_code == 503
        finally:
            postgres.start()  # type: ignore[attr-defined]
        assert here.observe([[1.0, 0, 0]], ids=["b"]).status_code == 200
        assert here.http.get("/healthz").status_code == 200
        assert here.monitor.total == 2.0


def test_old_events_go_while_the_service_runs(tmp_path: Path) -> None:
    limits, retention = Limits(housekeeping_seconds=0.02), Retention(seconds=0.0)
    with running(str(tmp_path / "m.db"), retention=retention, limits=limits) as here:
        assert here.observe([[1.0, 0, 0]]).status_code == 200
        deadline = time.monotonic() + 10
        while here.http.get("/v1/scores").json()["scores"]:
            assert time.monotonic() < deadline
        assert here.monitor.total == 1.0
        assert here.http.get("/v1/status").json()["seen"] == 1
