"""Models behind HTTP, asked of the real MLServer."""

import json
import os
import pickle
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from scipy.special import softmax

from anharmonic.errors import RemoteError
from anharmonic.models import as_model

WEIGHTS = np.random.default_rng(5).normal(size=(4, 3))

MODEL = """
import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec, PandasCodec
from mlserver.types import InferenceResponse

WEIGHTS = np.array({weights})


class Linear(MLModel):
    async def load(self):
        return True

    async def predict(self, payload):
        if payload.parameters and payload.parameters.content_type == "pd":
            frame = self.decode_request(payload, default_codec=PandasCodec)
            scores = np.column_stack([frame["length"] + frame["count"], frame["colour"] == "red"])
            return self.answer(scores.astype(float))
        points = self.decode(payload.inputs[0], default_codec=NumpyCodec)
        scores = points @ WEIGHTS
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return self.answer(powers / powers.sum(axis=1, keepdims=True))

    def answer(self, scores):
        outputs = [
            NumpyCodec.encode_output("label", scores.argmax(axis=1)),
            NumpyCodec.encode_output("scores", scores),
        ]
        return InferenceResponse(model_name=self.name, outputs=outputs)
"""


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def wait_until_ready(url: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(url, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise RuntimeError("MLServer did not start:\n" + (folder / "log.txt").read_text()[-3000:])


def write_models(folder: Path, ports: list[int]) -> None:
    """A server folder with the same model twice: with its input declared, and without."""
    http, grpc, metrics = ports
    settings = {
        "debug": False,
        "host": "127.0.0.1",
        "http_port": http,
        "grpc_port": grpc,
        "metrics_port": metrics,
        "metrics_endpoint": None,
        "parallel_workers": 0,
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    declared = {"name": "points", "datatype": "FP64", "shape": [-1, 4]}
    for name, inputs in {"linear": [declared], "table": []}.items():
        described = {"name": name, "implementation": "model.Linear", "inputs": inputs}
        (folder / name).mkdir()
        (folder / name / "model-settings.json").write_text(json.dumps(described))
        source = MODEL.replace("{weights}", str(WEIGHTS.tolist()))
        (folder / name / "model.py").write_text(source)


def executable() -> Path:
    """MLServer lives in its own environment, for it pins an old fastapi."""
    beside = Path(__file__).resolve().parents[2] / ".venv-mlserver" / "bin" / "mlserver"
    found = Path(os.environ.get("ANHARMONIC_MLSERVER", beside))
    if found.exists():
        return found
    message = f"MLServer is not at {found}: run `make mlserver`, or set ANHARMONIC_MLSERVER."
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """MLServer with a linear softmax model, as the address of its models."""
    command = executable()
    folder, ports = tmp_path_factory.mktemp("mlserver"), free_ports(3)
    write_models(folder, ports)
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [str(command), "start", str(folder)], stdout=log, stderr=log, cwd=folder
        )
        try:
            wait_until_ready(f"http://127.0.0.1:{ports[0]}/v2/health/ready", process, folder)
            yield f"http://127.0.0.1:{ports[0]}/v2/models"
        finally:
            process.terminate()
            process.wait(30)


def test_an_array(server: str, points) -> None:
    model = as_model(f"{server}/linear")
    expected = softmax(points @ WEIGHTS, axis=1)
    np.testing.assert_allclose(model(points), expected, rtol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(points), model(points))
    without_metadata = as_model(f"{server}/table")
    np.testing.assert_array_equal(without_metadata(points), model(points))


def test_labels(server: str, points) -> None:
    position = (points @ WEIGHTS).argmax(axis=1)
    labels = as_model(f"{server}/linear/infer", output="label")
    np.testing.assert_array_equal(labels(points), position)
    named = as_model(f"{server}/linear#label", output="onehot", classes=range(3))
    np.testing.assert_array_equal(named(points), np.eye(3)[position])


def test_a_table(server: str, table) -> None:
    outputs = as_model(f"{server}/table")(table)
    np.testing.assert_allclose(outputs[:, 0], table["length"] + table["count"], rtol=1e-12)
    np.testing.assert_array_equal(outputs[:, 1], table["colour"] == "red")


def test_what_it_refuses(server: str, points) -> None:
    with pytest.raises(RemoteError, match=r"answered 404.*check the model's name"):
        as_model(f"{server}/missing")(points)
    with pytest.raises(RemoteError, match=r"answered 500 .*see its log"):
        as_model(f"{server}/linear")(points[:, :3])
