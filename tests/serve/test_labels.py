"""Labels that come late, or early: taken once, joined by id, and safe where events are."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest
from sqlalchemy import text

from anharmonic.serve.http.problems import StoreUnavailable
from anharmonic.serve.monitor.export import export
from anharmonic.serve.monitor.retention import Retention
from anharmonic.serve.monitor.settings import Limits
from tests.serve.running import Running, running
from tests.serve.standin import Labelled
from tests.serve.test_security import INGEST, READ, bearer


def send(here: Running, labels: Any, **more: Any) -> httpx.Response:
    return here.http.post("/v1/labels", json={"labels": labels, **more})


def label(id: str, value: Any) -> dict[str, Any]:
    return {"id": id, "label": value}


def counts(answer: httpx.Response) -> tuple[int, int, int, int]:
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return body["accepted"], body["replaced"], body["duplicates"], body["unknown"]


def test_labels_reach_the_monitor_once(address: str) -> None:
    with running(address, Labelled()) as here:
        here.observe([[1.0, 0, 0], [2.0, 0, 0]], ids=["a", "b"])
        assert counts(send(here, [label("a", 1), label("b", 10)])) == (2, 0, 0, 0)
        assert here.monitor.labels == [11, 2]
        # Sent again because an answer was lost: nothing happens twice.
        assert counts(send(here, [label("a", 1), label("b", 10)])) == (0, 0, 2, 0)
        assert here.monitor.labels == [11, 2]
        assert counts(send(here, [100], ids=["a"], times=[5.0])) == (1, 1, 0, 0)
        assert here.monitor.labels == [111, 3]
        state = here.monitor.state()
        point = here.http.get("/v1/points/a").json()
        assert point["label"] == {"value": 100, "time": 5.0, "received": point["label"]["received"]}
    with running(address, Labelled()) as again:
        assert again.monitor.state() == state


def test_a_label_may_come_before_its_event(address: str) -> None:
    with running(address, Labelled()) as here:
        assert counts(send(here, [label("late", 7), label("never", 9)])) == (2, 0, 0, 2)
        assert here.monitor.labels == [0, 0]
        assert here.http.get("/v1/status").json()["labels_waiting"] == 2
    with running(address, Labelled()) as again:
        again.observe([[1.0, 0, 0]], ids=["late"])
        assert again.monitor.labels == [7, 1]
        assert again.http.get("/v1/status").json()["labels_waiting"] == 1
        assert counts(send(again, [label("late", 7)])) == (0, 0, 1, 0)


def test_a_label_the_monitor_cannot_take_harms_nobody(address: str) -> None:
    with running(address, Labelled()) as here:
        here.observe([[1.0, 0, 0], [2.0, 0, 0]], ids=["a", "b"])
        refused = send(here, [label("a", "refused")])
        assert refused.status_code == 422
        assert "ValueError" not in refused.text
        assert send(here, [label("waits", "refused")]).status_code == 200
        with ThreadPoolExecutor(8) as pool:
            # Of another event: of two labels of one that come together the later counts.
            bad = pool.submit(send, here, [label("b", "refused")])
            good = [pool.submit(send, here, [label("a", number)]) for number in range(6)]
            assert {each.result().status_code for each in good} == {200}
            assert bad.result().status_code == 422
        # Its event is taken all the same.
        assert here.observe([[5.0, 0, 0]], ids=["waits"]).json()["accepted"] == 1
        assert here.monitor.total == 8.0


def test_a_monitor_without_labels_keeps_them(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db")) as here:
        here.observe([[1.0, 0, 0]], ids=["a"])
        assert counts(send(here, [label("a", "yes")])) == (1, 0, 0, 0)
        assert here.http.get("/v1/points/a").json()["label"]["value"] == "yes"


def test_what_fails_to_be_written_is_not_in_the_monitor(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), Labelled()) as here:
        here.observe([[1.0, 0, 0]], ids=["a"])
        stored = here.service.stored_monitor
        whole, stored.store.append = stored.store.append, _failing  # type: ignore[method-assign]
        assert send(here, [label("a", 3)]).status_code == 503
        stored.store.append = whole  # type: ignore[method-assign]
        assert here.monitor.labels == [0, 0]
        assert counts(send(here, [label("a", 3)])) == (1, 0, 0, 0)
        assert here.monitor.labels == [3, 1]


def _failing(batch: object) -> None:
    raise StoreUnavailable("the disk is full")


def test_two_services_lose_no_label(address: str) -> None:
    with running(address, Labelled()) as one, running(address, Labelled()) as other:
        # Events numbered the same, labels of both: the state must hold all.
        for step in range(4):
            one.observe([[1.0, 0, 0]], ids=[f"{step}"])
            other.monitor.ids = one.monitor.ids
            assert counts(send(one, [label(f"{step}", 1)])) == (1, 0, 0, 0)
            assert counts(send(other, [label(f"{step}", 2)])) == (1, 1, 0, 0)
        assert other.monitor.labels == [12, 8]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"labels": []}',
        b'{"labels": [1]}',
        b'{"labels": [{"id": "a"}]}',
        b'{"labels": [{"id": "", "label": 1}]}',
        b'{"labels": [{"id": "\\u0000", "label": 1}]}',
        b'{"labels": [{"id": "\\ud800", "label": 1}]}',
        b'{"labels": [{"id": "a", "label": "\\u0000"}]}',
        b'{"labels": [{"id": "a", "label": null}]}',
        b'{"labels": [{"id": "a", "label": []}]}',
        b'{"labels": [{"id": "a", "label": 1e999}]}',
        b'{"labels": [{"id": "a", "label": NaN}]}',
        b'{"labels": [{"id": "a", "label": 1, "time": "now"}]}',
        b'{"labels": [{"id": "a", "label": 1, "more": 1}]}',
        b'{"labels": [1, 2], "ids": ["a"]}',
        b'{"labels": [1], "ids": "a"}',
        b'{"labels": [1], "times": [1]}',
        b'{"labels": [1], "ids": null}',
        b'{"labels": [1], "ids": null, "times": [1]}',
        b'{"labels": [1], "ids": ["a"], "more": 1}',
        b"\xff\xfe",
        b"[" * 10_000,
        b'{"labels": [{"id": "a", "label": ' + b"9" * 400 + b"}]}",
    ],
)
def test_bodies_that_are_no_labels_are_refused(plain: Running, body: bytes) -> None:
    kind = {"content-type": "application/json"}
    answer = plain.http.post("/v1/labels", content=body, headers=kind)
    assert answer.status_code == 422
    assert answer.json()["detail"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(str(tmp_path_factory.mktemp("labels") / "m.db")) as here:
        yield here


def test_lists_that_are_null_are_left_out(plain: Running) -> None:
    labels = [{"id": "nobody yet", "label": 1}]
    answer = plain.http.post("/v1/labels", json={"labels": labels, "ids": None, "times": None})
    assert answer.status_code == 200
    assert answer.json()["unknown"] == 1
    both = {"labels": [1], "ids": ["nobody yet"], "times": None}
    assert plain.http.post("/v1/labels", json=both).json()["duplicates"] == 1


def test_labels_have_the_protection_of_points(tmp_path: Path, plain: Running) -> None:
    body = json.dumps({"labels": [label("a", 1)]})
    form = {"content-type": "text/plain"}
    assert plain.http.post("/v1/labels", content=body, headers=form).status_code == 415
    foreign = {"content-type": "application/json", "origin": "http://evil.test"}
    assert plain.http.post("/v1/labels", content=body, headers=foreign).status_code == 403
    many = {"labels": [label("a", 1)] * 10_001}
    assert plain.http.post("/v1/labels", json=many).status_code == 413
    limits = Limits(body_bytes=500)
    store = str(tmp_path / "m.db")
    with running(store, ingest_token=INGEST, read_token=READ, limits=limits) as here:
        for headers, code in (({}, 401), (bearer(READ), 401), (bearer(INGEST), 200)):
            answer = here.http.post("/v1/labels", json=json.loads(body), headers=headers)
            assert answer.status_code == code
        big = {"labels": [label("a" * 90, 1)] * 10}
        answer = here.http.post("/v1/labels", json=big, headers=bearer(INGEST))
        assert answer.status_code == 413


def test_labels_go_with_their_events_and_are_exported(address: str, tmp_path: Path) -> None:
    with running(address) as here:
        store = here.service.stored_monitor.store
        here.observe([[float(row), 0, 0] for row in range(4)], ids=["a", "b", "c", "d"])
        send(here, [label("a", 1), label("b", 2.5), label("waits", 3)])
        send(here, [label("c", "text")])
        path = f"{tmp_path}/out.parquet"
        assert export(store, path) == 4
        query = f"SELECT id, label FROM '{path}' ORDER BY id"
        expected = [("a", "1"), ("b", "2.5"), ("c", "text"), ("d", None)]
        assert duckdb.sql(query).fetchall() == expected
        with store.writing() as connection:
            connection.execute(text("UPDATE events SET received = 10 WHERE id IN ('a', 'b')"))
            connection.execute(text("UPDATE labels SET received = 5 WHERE id = 'waits'"))
        assert Retention(seconds=60).apply(store, "toy@1", now=100.0) == 2
        with store.reading() as connection:
            left = connection.execute(text("SELECT id FROM labels")).scalars().all()
        assert left == ["c"]
