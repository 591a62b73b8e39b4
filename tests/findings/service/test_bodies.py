"""Bodies that are small and stand for much, or that hold what cannot be kept."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pytest

from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.arrow import events_of_arrow
from anharmonic.serve.monitor.payloads import events_of_json
from anharmonic.serve.monitor.row_schema import RowSchema
from tests.serve.running import Running, running

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
JSON = {"content-type": "application/json"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "m.db")) as here:
        yield here


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def bombs() -> dict[str, tuple[dict[str, str], bytes]]:
    nothing = {str(place): pa.nulls(700_000_000) for place in range(3)}
    zeros = {str(place): np.zeros(10_000) for place in range(3)}
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000), pa.array(["x" * 9_000]))
    words = {"0": word, "1": word, "2": word}
    return {
        "rows without bytes": (ARROW, stream(pa.table(nothing))),
        "compressed": (ARROW, stream(pa.table(zeros), "zstd")),
        "one long word ten thousand times": (ARROW, stream(pa.table(words))),
        "a struct": (ARROW, stream(pa.table({"0": pa.array([{"a": 1}])}))),
        "objects for numbers": (JSON, b'{"points":[[%s]]}' % b",".join([b"{}"] * 260_000)),
        "names nobody knows": (
            JSON,
            b'{"points":[[1,2,3]],%s}' % b",".join(b'"%d":0' % i for i in range(200_000)),
        ),
        "objects for ids": (
            JSON,
            b'{"points":[[1,2,3]],"ids":[%s]}' % b",".join([b"{}"] * 260_000),
        ),
    }


@pytest.mark.finding("security A2")
def test_small_bodies_that_stand_for_much_are_refused_at_once(service: Running) -> None:
    memory = psutil.Process().memory_info
    for name, (headers, body) in bombs().items():
        before, begun = memory().rss, time.monotonic()
        answer = service.http.post("/v1/observe", content=body, headers=headers)
        assert answer.status_code in (413, 422), name
        assert time.monotonic() - begun < 5, name
        assert memory().rss - before < 200e6, name
    assert service.observe([[1.0, 0, 0]]).status_code == 200


@pytest.mark.finding("security A2")
def test_a_long_body_does_not_keep_others_from_being_answered(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(body: bytes, row_schema: RowSchema) -> Any:
        if len(body) > 100_000:
            begun.set()
            assert go_on.wait(20)
        return events_of_json(body, row_schema)

    monkeypatch.setattr("anharmonic.serve.monitor.ingest.events_of_json", slow)
    with ThreadPoolExecutor(1) as pool:
        body = json.dumps({"points": [[1.0, 2, 3]]}).encode() + b" " * 200_000
        long = pool.submit(service.http.post, "/v1/observe", content=body, headers=JSON)
        assert begun.wait(20)
        assert service.http.get("/livez").status_code == 200
        assert service.observe([[1.0, 0, 0]]).status_code == 200
        go_on.set()
        assert long.result().status_code == 200


@pytest.mark.finding("security A2")
def test_streams_as_programs_write_them_are_read() -> None:
    frame = pd.DataFrame({"size": [1, 2], "colour": ["red", None], "kind": ["a", "b"]})
    row_schema = RowSchema.of(frame.fillna("none"))
    table = pa.Table.from_pandas(frame.astype({"kind": "category"}))
    several = pa.concat_tables([table, table])
    values = [event.values for event in events_of_arrow(stream(several), row_schema)]
    assert values == [[1.0, "red", "a"], [2.0, None, "b"]] * 2


ODD = [
    {"instances": [[10**400, 0, 0]]},
    {"inputs": [{"name": "x", "shape": [1] * 70, "datatype": "FP64", "data": [1]}]},
    {"inputs": [{"name": "x", "shape": [0, *[999_999_999] * 8], "datatype": "FP64", "data": []}]},
    {
        "inputs": [
            {"name": "x", "shape": [1, 0, *[999_999_999] * 3], "datatype": "FP64", "data": []}
        ]
    },
]


@pytest.mark.finding("security A15: 500 instead of 422", "newcomer B13")
def test_what_cannot_be_read_is_a_422_and_is_counted(service: Running) -> None:
    for body in ODD:
        answer = service.http.post("/v2/models/toy/infer", json=body)
        assert answer.status_code == 422, body
    event = {"id": "a", "source": "s", "type": "t", "specversion": "1.0", "data": "\ud800"}
    headers = {"content-type": "application/cloudevents+json"}
    body = json.dumps(event).encode()
    assert service.http.post("/v1/events", content=body, headers=headers).status_code == 422
    long = service.http.post("/v1/observe", content=b"x" * 9_000_000, headers=JSON)
    assert long.status_code == 413
    page = service.http.get("/metrics").text
    assert 'gamma_skipped_total{model="toy",reason="invalid",version="1"} 5.0' in page
    assert 'gamma_skipped_total{model="toy",reason="size",version="1"} 1.0' in page


@pytest.mark.finding("newcomer 4: null in one row")
def test_a_row_with_a_missing_number_is_kept_unscored_and_spoils_no_others(
    service: Running,
) -> None:
    answer = service.observe([[1.0, 2, 3], [2.0, None, 3], [4.0, 5, 6]], ids=["a", "b", "c"])
    assert answer.status_code == 200, answer.text
    assert answer.json()["scores"] == [1.0, None, 4.0]
    assert service.http.get("/v1/points/b").json()["point"]["1"] is None
    assert service.monitor.total == 5.0
    page = service.http.get("/metrics").text
    assert 'gamma_skipped_total{model="toy",reason="missing",version="1"} 1.0' in page
    raw = np.array([[np.nan, 0, 0], [3, 0, 0]], dtype="<f8").tobytes()
    tensor = {"name": "x", "shape": [2, 3], "datatype": "FP64"}
    head = json.dumps({"inputs": [{**tensor, "parameters": {"binary_data_size": len(raw)}}]})
    headers = {
        "content-type": "application/octet-stream",
        "inference-header-content-length": str(len(head)),
    }
    told = service.http.post("/v2/models/toy/infer", content=head.encode() + raw, headers=headers)
    assert told.json()["scores"] == [None, 3.0]


@pytest.mark.finding("newcomer 4: null in one row")
def test_a_model_with_an_imputer_is_watched(tmp_path: Path) -> None:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    import anharmonic as ah

    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(300, 2)), columns=["a", "b"])
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(frame, frame["a"] > 0)
    monitor = ah.Monitor(model, frame)
    with running(str(tmp_path / "m.db"), monitor=monitor, reference=frame) as here:
        told = here.observe([{"a": 0.1, "b": None}, {"a": 0.2, "b": 0.3}]).json()["scores"]
    assert told[0] is None
    assert told[1] is not None
    assert monitor.skipped["not finite"] == 1


@pytest.mark.finding("security A4")
@pytest.mark.parametrize("word", ["x\x00y", "\ud800", "x" * 10_001])
def test_text_that_no_database_keeps_is_refused_at_the_door(word: Any) -> None:
    row_schema = RowSchema.of(pd.DataFrame({"a": [1.0], "shop": ["x"]}), segment="shop")
    with pytest.raises(BadRequest, match="shop"):
        row_schema.row([1.0, word])
    with pytest.raises(BadRequest, match="point 1: column shop takes at most 200"):
        row_schema.rows([[1.0, "s"], [1.0, "s" * 201]])


@pytest.mark.finding("security A2")
def test_the_first_bad_row_is_named() -> None:
    row_schema = RowSchema.of(np.zeros((3, 2)))
    with pytest.raises(BadRequest, match="point 2: column 1 holds numbers and got 'x'"):
        events_of_json(b'{"points":[[1,2],[1,2],[1,"x"],[{},{}]]}', row_schema)
