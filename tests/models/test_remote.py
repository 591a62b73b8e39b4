"""Models behind HTTP, asked of a small v2 server that can misbehave."""

import asyncio
import json
import pickle
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
import uvicorn
from fastapi import FastAPI, Request, Response
from scipy.special import softmax

from anharmonic.errors import PointsError, RemoteError, SettingsError
from anharmonic.models import as_model

WEIGHTS = np.random.default_rng(5).normal(size=(4, 3))


@dataclass
class Small:
    """A v2 server with one model a misbehaviour; it remembers what it was asked."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def model(self, name: str) -> str:
        return f"{self.url}/v2/models/{name}"


def tensor(name: str, values: np.ndarray, datatype: str) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(values.shape),
        "datatype": datatype,
        "data": values.ravel().tolist(),
    }


def points_of(body: dict[str, Any]) -> np.ndarray:
    first = body["inputs"][0]
    return np.asarray(first["data"]).reshape(first["shape"])


def answer(name: str, body: dict[str, Any]) -> Any:
    rows = len(points_of(body))
    if "pd" in name:
        lengths = np.asarray(body["inputs"][0]["data"])
        return {"outputs": [tensor("length", lengths, "FP64")]}
    scores = points_of(body) @ WEIGHTS
    label = scores.argmax(axis=1)
    known = {
        "linear": [tensor("scores", scores, "FP64")],
        "small": [tensor("scores", scores.astype(np.float32), "FP32")],
        "both": [tensor("label", label, "INT64"), tensor("scores", scores, "FP64")],
        "labels": [tensor("label", label, "INT64")],
        "text": [tensor("label", np.array(["a", "b", "c"])[label], "BYTES")],
        "rows": [tensor("scores", scores[:-1], "FP64")],
        "shape": [{**tensor("scores", scores, "FP64"), "shape": [rows, 7]}],
        "dataless": [{"name": "scores", "shape": [rows, 3], "datatype": "FP64"}],
        "words": [{**tensor("scores", scores, "FP64"), "data": "nonsense"}],
        "nothing": [],
    }
    return {"model_name": name, "outputs": known.get(name, known["linear"])}


METADATA = {
    "linear": [{"name": "points", "datatype": "FP64", "shape": [-1, 4]}],
    "small": [{"name": "points", "datatype": "FP32", "shape": [-1, 4]}],
    "several": [{"name": name, "datatype": "FP64", "shape": [-1, 1]} for name in "ab"],
}


def application(small: Small) -> FastAPI:
    app = FastAPI()
    busy: dict[str, int] = {}

    @app.get("/v2/models/{name}")
    def metadata(name: str) -> Any:
        if name == "unsure":
            return Response("not json")
        if name not in METADATA:
            return Response(status_code=404)
        return {"name": name, "platform": "test", "inputs": METADATA[name], "outputs": []}

    @app.post("/v2/models/{name}/infer")
    @app.post("/v2/models/{name}/versions/{version}/infer")
    async def infer(name: str, request: Request, version: str = "") -> Any:
        body = await request.json()
        small.requests.append(body)
        small.headers.append(dict(request.headers))
        if name == "slow":
            await asyncio.sleep(0.6)
        if name in ("busy", "always-busy"):
            busy[name] = busy.get(name, 0) + 1
            if busy[name] < 3 or name == "always-busy":
                return Response('{"error": "busy"}', 503, {"Retry-After": "0"})
        if name == "garbage":
            return Response("<html>hello</html>")
        if name == "array":
            return [1, 2]
        if name == "missing":
            return Response('{"error": "no such model"}', 404)
        if name == "moved":
            return Response(status_code=307, headers={"Location": "/elsewhere"})
        if name == "broken":
            return Response(json.dumps({"error": "boom " * 200}), 500)
        if name == "locked":
            told = f"no access for {request.url} with {request.headers.get('authorization')}"
            return Response(json.dumps({"error": told}), 403)
        return answer(name, body)

    return app


@pytest.fixture(scope="module")
def server() -> Iterator[Small]:
    """The small server on a free port of the loopback, stopped at the end."""
    small = Small()
    listening = socket.create_server(("127.0.0.1", 0))
    small.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    settings = uvicorn.Config(application(small), log_level="critical", ws="none", lifespan="off")
    running = uvicorn.Server(settings)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not running.started:
            time.sleep(0.01)
        yield small
    finally:
        running.should_exit = True
        thread.join(10)
        listening.close()


def raw(points: np.ndarray) -> np.ndarray:
    return points @ WEIGHTS


def gap(outputs: np.ndarray) -> np.ndarray:
    return outputs[:, 0] - outputs[:, 1]


def test_every_output(server, points) -> None:
    scores = raw(points)
    expected = {
        None: ("value", scores),
        "logit": ("logit", scores),
        "probability": ("probability", softmax(scores, axis=1)),
        "label": ("label", scores.argmax(axis=1)),
        "onehot": ("onehot", np.eye(3)[scores.argmax(axis=1)]),
        2: ("value", scores[:, 2]),
        gap: ("value", gap(scores)),
    }
    for output, (kind, outputs) in expected.items():
        model = as_model(server.model("linear"), output=output)
        assert (model.name, model.kind, model.batch_size) == ("linear", kind, 1024)
        np.testing.assert_allclose(model(points), outputs, rtol=1e-14)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(points), model(points))


@pytest.mark.parametrize("tail", ["", "/", "/infer", "/versions/2", "/versions/2/infer"])
def test_every_form_of_the_address(server, points, tail: str) -> None:
    model = as_model(server.model("linear") + tail)
    assert model.name == "linear"
    np.testing.assert_array_equal(model(points), raw(points))


def test_the_request(server, points) -> None:
    as_model(server.model("linear"))(points[:2])
    assert server.requests[-1] == {
        "inputs": [
            {
                "name": "points",
                "shape": [2, 4],
                "datatype": "FP64",
                "data": points[:2].ravel().tolist(),
            }
        ]
    }
    as_model(server.model("unheard-of"))(points[:2])
    assert server.requests[-1]["inputs"][0]["name"] == "input-0"
    as_model(server.model("unsure"))(points[:2])
    assert server.requests[-1]["inputs"][0]["datatype"] == "FP64"
    images = np.zeros((2, 3, 4, 4))
    with pytest.raises(RemoteError):
        as_model(server.model("shape"))(images)
    assert server.requests[-1]["inputs"][0]["shape"] == [2, 3, 4, 4]


def test_precision_is_the_servers(server, points) -> None:
    outputs = as_model(server.model("small"))(torch.as_tensor(points))
    assert outputs.dtype == np.float32
    np.testing.assert_array_equal(outputs, raw(points.astype(np.float32)).astype(np.float32))


def test_scores_before_labels(server, points) -> None:
    np.testing.assert_array_equal(as_model(server.model("both"))(points), raw(points))
    assert "outputs" not in server.requests[-1]
    chosen = as_model(server.model("both") + "#label", output="label")
    np.testing.assert_array_equal(chosen(points), raw(points).argmax(axis=1))
    assert server.requests[-1]["outputs"] == [{"name": "label"}]
    with pytest.raises(RemoteError, match="no output 'margin' in the answer: it has label, scores"):
        as_model(server.model("both") + "#margin")(points)


@pytest.mark.parametrize(("name", "classes"), [("labels", (0, 1, 2)), ("text", ("a", "b", "c"))])
def test_labels_alone(server, points, name: str, classes: tuple[object, ...]) -> None:
    position = raw(points).argmax(axis=1)
    onehot = as_model(server.model(name), output="onehot", classes=classes)
    np.testing.assert_array_equal(onehot(points), np.eye(3)[position])
    label = as_model(server.model(name), output="label", classes=classes)
    np.testing.assert_array_equal(label(points), position)
    for output in (None, "logit", "probability"):
        with pytest.raises(SettingsError, match="output='onehot' with classes="):
            as_model(server.model(name), output=output)(points)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_table_is_sent_by_columns(server, make) -> None:
    columns = {"length": [0.5, 1.5], "count": [1, 2], "sold": [True, False], "colour": ["r", None]}
    np.testing.assert_array_equal(as_model(server.model("pd"))(make(columns)), [0.5, 1.5])
    request = server.requests[-1]
    assert request["parameters"] == {"content_type": "pd"}
    sent = {each["name"]: (each["datatype"], each["data"]) for each in request["inputs"]}
    assert sent == {
        "length": ("FP64", [0.5, 1.5]),
        "count": ("INT64", [1, 2]),
        "sold": ("BOOL", [True, False]),
        "colour": ("BYTES", ["r", None]),
    }
    assert {tuple(each["shape"]) for each in request["inputs"]} == {(2, 1)}


def test_a_table_for_one_declared_input_is_a_matrix(server, points) -> None:
    frame = pd.DataFrame(points, columns=list("abcd"))
    np.testing.assert_array_equal(as_model(server.model("linear"))(frame), raw(points))


def test_points_that_cannot_be_sent(server, points) -> None:
    with pytest.raises(PointsError, match=r"NaN or infinite.*fill or drop"):
        as_model(server.model("linear"))(np.full((1, 4), np.nan))
    with pytest.raises(PointsError, match="pass numbers"):
        as_model(server.model("linear"))(np.array([["a", "b", "c", "d"]]))
    with pytest.raises(PointsError, match=r"2 inputs \(a, b\).*DataFrame"):
        as_model(server.model("several"))(points)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", r"answered 500 \(boom boom.{250,300}…\): see its log"),
        ("garbage", "not JSON.*v2 inference endpoint"),
        ("array", "no outputs"),
        ("nothing", "no outputs"),
        ("rows", r"shape \[149, 3\] for 150 points.*one row for each"),
        ("shape", "does not hold the data it declares: fix"),
        ("dataless", "does not hold the data it declares: fix"),
        ("words", "does not hold the data it declares: fix"),
        ("missing", "answered 404.*check the model's name"),
        ("moved", "redirects.*use the address"),
        ("always-busy", r"answered 503 \(busy\)"),
    ],
)
def test_a_server_that_misbehaves(server, points, name: str, message: str) -> None:
    with pytest.raises(RemoteError, match=message) as caught:
        as_model(server.model(name))(points)
    assert str(caught.value).startswith(server.model(name))


def test_a_server_that_is_slow(server, points) -> None:
    begun = time.monotonic()
    with pytest.raises(RemoteError, match=r"no answer within 0\.2 s: raise timeout="):
        as_model(server.model("slow"), timeout=0.2)(points)
    assert time.monotonic() - begun < 5


def test_a_busy_server_is_asked_again(server, points) -> None:
    before = len(server.requests)
    np.testing.assert_array_equal(as_model(server.model("busy"))(points), raw(points))
    assert len(server.requests) - before == 3


def test_no_server(points) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with pytest.raises(RemoteError, match="check that the server is running"):
        as_model(f"http://127.0.0.1:{port}/v2/models/m")(points)


def test_credentials_are_sent_and_never_shown(
    server, points, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANHARMONIC_TOKEN", "tok-en-1")
    model = as_model(server.model("locked") + "?key=hidden-key")
    with pytest.raises(RemoteError, match="ANHARMONIC_TOKEN") as caught:
        model(points)
    assert server.headers[-1]["authorization"] == "Bearer tok-en-1"
    host = server.url.removeprefix("http://")
    with_user = as_model(f"http://jane:pa%40ss@{host}/v2/models/locked")
    monkeypatch.delenv("ANHARMONIC_TOKEN")
    with pytest.raises(RemoteError) as again:
        with_user(points)
    assert server.headers[-1]["authorization"].startswith("Basic ")
    shown = [str(caught.value), str(again.value), repr(model), repr(with_user), with_user.name]
    for secret in ("tok-en-1", "hidden-key", "jane", "pa%40ss", "pa@ss"):
        assert not [text for text in shown if secret in text]
    assert "no access" in str(caught.value)


@pytest.mark.parametrize("url", ["http://host/other", "https://", "http://host:x/v2/models/m"])
def test_addresses_of_no_model(url: str) -> None:
    with pytest.raises(SettingsError, match="write http://HOST:PORT/v2/models/NAME"):
        as_model(url)


def test_no_time_to_answer() -> None:
    with pytest.raises(SettingsError, match="seconds above 0"):
        as_model("http://host/v2/models/m", timeout=0)
