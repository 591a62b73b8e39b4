"""Frameworks are recognised, never imported for the user; a missing one is named."""

import subprocess
import sys
import textwrap

import pytest

import anharmonic.models
from anharmonic.errors import MissingExtra
from anharmonic.models import as_model

FRAMEWORKS = (
    "torch",
    "sklearn",
    "pandas",
    "xgboost",
    "lightgbm",
    "catboost",
    "onnxruntime",
    "httpx",
    "joblib",
    "skops",
    "polars",
    "mlflow",
    "huggingface_hub",
    "yaml",
)


def test_public_names() -> None:
    assert anharmonic.models.__all__ == ["Predictor", "as_model"]


def test_no_framework_is_imported() -> None:
    program = textwrap.dedent(f"""
        import sys
        import numpy as np
        from anharmonic.models import as_model

        class Estimator:
            classes_ = ["a", "b"]
            def predict(self, points):
                return np.where(points[:, 0] > 0, "a", "b")

        for source in (np.tanh, Estimator()):
            as_model(source)(np.zeros((2, 2)))
        for output in ("probability", "label", 0):
            as_model(np.tanh, output=output)(np.zeros((2, 2)))
        loaded = sorted(set({FRAMEWORKS!r}) & set(sys.modules))
        assert not loaded, loaded
    """)
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


@pytest.mark.parametrize(
    ("library", "extra"),
    [
        ("torch", "torch"),
        ("sklearn", "sklearn"),
        ("xgboost", "xgboost"),
        ("lightgbm", "lightgbm"),
        ("catboost", "catboost"),
    ],
)
def test_a_missing_library_is_named(
    library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    if library == "sklearn":
        monkeypatch.setitem(sys.modules, "sklearn.base", None)
    stranger = type("Stranger", (), {"__module__": f"{library}.somewhere", "predict": print})
    with pytest.raises(MissingExtra, match=rf"anharmonic\[{extra}\]"):
        as_model(stranger())


def test_a_missing_library_for_a_file_or_an_address(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("onnxruntime", "httpx", "skops", "skops.io", "joblib"):
        monkeypatch.setitem(sys.modules, library, None)
    for name, extra in (("m.onnx", "onnx"), ("m.skops", "sklearn"), ("m.joblib", "sklearn")):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(MissingExtra, match=rf"anharmonic\[{extra}\]"):
            as_model(tmp_path / name, trust=True)
    with pytest.raises(MissingExtra, match=r"anharmonic\[remote\]"):
        as_model("http://localhost/v2/models/m")
