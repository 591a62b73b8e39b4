"""What is no feature: segments and metadata in every format; and rows with gaps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from tests.serve.running import Running, running
from tests.serve.test_api import CE

META = {"order": "17", "price": 2.5}
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
Sender = Callable[[Running, list[list[Any]]], httpx.Response]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(str(tmp_path_factory.mktemp("metadata") / "m.db")) as here:
        yield here


def in_json(here: Running, rows: list[list[Any]]) -> httpx.Response:
    count = len(rows)
    return here.observe(rows, segments=["shop"] * count, metadata=[META] * count)


def in_arrow(here: Running, rows: list[list[Any]]) -> httpx.Response:
    columns: dict[str, Any] = {str(i): [row[i] for row in rows] for i in range(3)}
    columns |= {"_segment": ["shop"] * len(rows), "_metadata": [json.dumps(META)] * len(rows)}
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return here.http.post("/v1/observe", content=sink.getvalue().to_pybytes(), headers=ARROW)


def tensor(rows: list[list[Any]]) -> dict[str, Any]:
    flat = [value for row in rows for value in row]
    return {"name": "x", "shape": [len(rows), 3], "datatype": "FP64", "data": flat}


def in_v2(here: Running, rows: list[list[Any]]) -> httpx.Response:
    parameters = {"segment": "shop", "metadata": META, "temperature": 1}
    body = {"inputs": [tensor(rows)], "parameters": parameters}
    return here.http.post("/v2/models/toy/infer", json=body)


def in_v2_lists(here: Running, rows: list[list[Any]]) -> httpx.Response:
    parameters = {"segments": ["shop"] * len(rows), "metadata": [META] * len(rows)}
    body = {"inputs": [tensor(rows)], "parameters": parameters}
    return here.http.post("/v2/models/toy/infer", json=body)


def in_cloudevent(here: Running, rows: list[list[Any]]) -> httpx.Response:
    in_cloudevent.count = getattr(in_cloudevent, "count", 0) + 1  # type: ignore[attr-defined]
    headers = {**CE, "ce-id": f"ce-{in_cloudevent.count}", "ce-segment": "shop"}  # type: ignore[attr-defined]
    body = {"instances": rows, "parameters": {"metadata": META}}
    return here.http.post("/v1/events", json=body, headers=headers)


FORMATS = [in_json, in_arrow, in_v2, in_v2_lists, in_cloudevent]


@pytest.mark.parametrize("sent", FORMATS)
def test_segments_and_metadata_are_kept_and_never_reach_the_model(
    service: Running, sent: Sender
) -> None:
    answer = sent(service, [[1.5, 0, 0], [2.5, 0, 0]])
    assert answer.status_code == 200, answer.text
    assert answer.json()["scores"] == [1.5, 2.5]
    for id in answer.json()["ids"]:
        point = service.http.get(f"/v1/points/{id}").json()
        assert point["segment"] == "shop"
        assert point["metadata"] == META
        assert set(point["point"]) == {"0", "1", "2"}


@pytest.mark.parametrize("sent", FORMATS)
def test_rows_with_gaps_are_taken_counted_and_shown(service: Running, sent: Sender) -> None:
    before = service.http.get("/v1/status").json()
    answer = sent(service, [[1.5, None, 0], [2.5, 0, 0]])
    assert answer.status_code == 200, answer.text
    assert answer.json()["scores"] == [None, 2.5]
    point = service.http.get(f"/v1/points/{answer.json()['ids'][0]}").json()
    assert (point["point"]["1"], point["score"]) == (None, None)
    after = service.http.get("/v1/status").json()
    assert (after["seen"] - before["seen"], after["scored"] - before["scored"]) == (2, 1)


@pytest.mark.parametrize(
    "metadata",
    [
        *([1], ["x"], [{"a": []}], [{"a": None}], [{"a": True}], [{"": 1}], [{"a": "\x00"}]),
        *([{"a": "x" * 1001}], [{str(i): 1 for i in range(33)}], [META, META], "x", {}),
        [{str(i): "x" * 900 for i in range(9)}],
        [{"a": 10**400}],
    ],
)
def test_metadata_is_small_and_plain(service: Running, metadata: Any) -> None:
    assert service.observe([[1.0, 0, 0]], metadata=metadata).status_code == 422


@pytest.mark.parametrize(
    "parameters", [{"segment": ["x"]}, {"segment": "x" * 201}, {"segment": ""}, {"metadata": 5}]
)
def test_parameters_that_name_no_segment_are_refused(
    service: Running, parameters: dict[str, Any]
) -> None:
    body = {"inputs": [tensor([[1.0, 0, 0]])], "parameters": parameters}
    assert service.http.post("/v2/models/toy/infer", json=body).status_code == 422


def test_a_segment_beside_the_columns_is_summed_up(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db")) as here:
        here.observe([[1.0, 0, 0], [3.0, 0, 0]], segments=["north", "south"])
        page = here.http.get("/").text
        assert "north" in page
        assert "south" in page
