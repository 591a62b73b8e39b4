"""Nothing beside the data runs unless it was named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import skops.io
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression

from anharmonic.cli.importing import folder_last
from anharmonic.llm.clients import is_function
from anharmonic.models.files import load_attribute

COMMAND = Path(sys.executable).with_name("anharmonic")
SHADOWED = ("numpy", "pandas", "pyarrow", "onnxruntime", "skops", "sklearn", "joblib", "lz4")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    points = np.random.default_rng(0).normal(size=(40, 3))
    fitted = LogisticRegression().fit(points, points[:, 0] > 0)
    (folder / "model.onnx").write_bytes(
        to_onnx(fitted, points.astype(np.float32)).SerializeToString()
    )
    skops.io.dump(fitted, folder / "model.skops")
    np.save(folder / "points.npy", points)
    return folder


@pytest.mark.finding("security A1")
@pytest.mark.parametrize("kind", ["onnx", "skops"])
def test_a_file_beside_the_data_is_not_run(kind: str, models: Path, tmp_path: Path) -> None:
    for name in SHADOWED:
        (tmp_path / f"{name}.py").write_text(f"open('RUN-{name}', 'w')\n")
    for name in (f"model.{kind}", "points.npy"):
        (tmp_path / name).write_bytes((models / name).read_bytes())
    done = subprocess.run(
        [COMMAND, "gamma", "--model", f"model.{kind}", "--data", "points.npy", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [each.name for each in tmp_path.glob("RUN-*")] == []


@pytest.mark.finding("security A1")
def test_a_module_that_was_named_is_found_and_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    (tmp_path / "json.py").write_text("raise RuntimeError('I am not json')\n")
    (tmp_path / "beside.py").write_text("import json\nanswer = json.loads('41') + 1\n")
    before = list(sys.path)
    with folder_last():
        assert sys.path == [*before, os.getcwd()]
        load_attribute("colorsys:rgb_to_hsv")
    assert sys.path == before  # found elsewhere, so the folder has no business there
    with folder_last():
        assert load_attribute("beside:answer") == 42
    assert sys.path == [*before, os.getcwd()]  # its neighbours may be imported later


@pytest.mark.finding("security A1")
def test_names_of_hubs_and_servers_are_no_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert is_function("here:answer", None)
    for text, url in (("hf:gpt2", None), ("a:b.gguf", None), ("llama3:latest", "http://host/v1")):
        assert not is_function(text, url)
