"""Files whose reading may run code are read only when that was allowed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression

from anharmonic.errors import NotAModel, UntrustedFile
from anharmonic.models import as_model


@pytest.mark.finding("security A11")
@pytest.mark.parametrize(
    ("ending", "library"),
    [(".ubj", "XGBoost"), (".json", "XGBoost"), (".txt", "LightGBM"), (".cbm", "CatBoost")],
)
def test_native_readers_are_not_started_without_trust(
    ending: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"model{ending}"
    path.write_bytes(b"anything")
    monkeypatch.setitem(__import__("sys").modules, library.lower(), None)
    with pytest.raises(UntrustedFile, match=rf"{library}'s own code.*crash.*--trust.*\.onnx"):
        as_model(path)


@pytest.mark.finding("security B: MLflow data:")
@pytest.mark.parametrize("named", ["../elsewhere/model.onnx", "ABSOLUTE", "link.onnx"])
def test_mlflow_opens_nothing_outside_the_models_folder(named: str, tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    fitted = LogisticRegression().fit(points, points[:, 0] > 0)
    outside, inside = tmp_path / "elsewhere", tmp_path / "model"
    outside.mkdir()
    inside.mkdir()
    (outside / "model.onnx").write_bytes(to_onnx(fitted, points).SerializeToString())
    (inside / "link.onnx").symlink_to(outside / "model.onnx")
    named = str(outside / "model.onnx") if named == "ABSOLUTE" else named
    (inside / "MLmodel").write_text(
        f"flavors:\n  onnx:\n    data: {named}\n    onnx_version: '1.17'\n"
        "model_uuid: '0'\nrun_id: '0'\nutc_time_created: '2024-01-01'\n"
    )
    with pytest.raises(NotAModel, match="outside of it"):
        as_model(inside)
