"""MLflow models from a real store: native where that tells more, and only trusted code runs."""

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from skl2onnx import to_onnx
from sklearn.linear_model import LinearRegression, LogisticRegression

import anharmonic as ah
from anharmonic.errors import MissingExtra, ModelError, NotAModel, PointsError, UntrustedFile
from anharmonic.models import as_model
from tests.command import run
from tests.stores import mlflow_store


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    with mlflow_store(tmp_path_factory.mktemp("mlflow")) as module:
        yield module


@pytest.fixture(scope="module")
def frame(points) -> pd.DataFrame:
    return pd.DataFrame(points, columns=["a", "b", "c", "d"])


@pytest.fixture(scope="module")
def fitted(frame, names) -> LogisticRegression:
    return LogisticRegression(max_iter=500).fit(frame, names)


@pytest.fixture(scope="module")
def logged(mlflow, frame, fitted):
    """Addresses of the same classifier, kept in several ways."""
    found = {}
    with mlflow.start_run() as run:
        for kind in ("cloudpickle", "skops"):
            about = mlflow.sklearn.log_model(
                fitted,
                name=kind,
                registered_model_name="wine" if kind == "cloudpickle" else None,
                serialization_format=kind,
                pip_requirements=[],
            )
            found[kind] = about.model_uri
        graph = to_onnx(fitted, frame.to_numpy()[:1].astype(np.float32), options={"zipmap": False})
        found["onnx"] = mlflow.onnx.log_model(graph, name="onnx", pip_requirements=[]).model_uri
        found["run"] = f"runs:/{run.info.run_id}/cloudpickle"
    found["registered"] = "models:/wine/1"
    return found


def saved(mlflow, folder, answer, example):
    """A folder with a model of nobody's framework."""
    with warnings.catch_warnings():  # MLflow would like type hints and an example
        warnings.simplefilter("ignore")

        class Answering(mlflow.pyfunc.PythonModel):
            def predict(self, context, model_input, params=None):
                return answer(model_input)

        signature = mlflow.models.infer_signature(example)
        mlflow.pyfunc.save_model(
            folder, python_model=Answering(), signature=signature, pip_requirements=[]
        )
    return folder


@pytest.mark.parametrize("way", ["cloudpickle", "run", "registered"])
def test_a_pickled_model_is_loaded_natively_and_only_with_trust(
    way, logged, frame, fitted, mlflow
) -> None:
    with pytest.raises(UntrustedFile, match=r"runs whatever.*--trust"):
        as_model(logged[way])
    model = as_model(logged[way], trust=True)
    assert (model.kind, model.name) == ("probability", logged[way])
    assert model.classes == ("setosa", "versicolor", "virginica")
    np.testing.assert_array_equal(model(frame), fitted.predict_proba(frame))
    np.testing.assert_array_equal(model(frame.to_numpy()), fitted.predict_proba(frame))


@pytest.mark.parametrize("way", ["skops", "onnx"])
def test_data_need_no_trust(way, logged, frame, fitted) -> None:
    model = as_model(logged[way])
    assert model.kind == "probability"
    asked = frame.to_numpy()
    np.testing.assert_allclose(model(asked), fitted.predict_proba(frame), rtol=0, atol=1e-6)


def test_an_untrusted_model_is_not_opened(mlflow, fitted, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    mlflow.sklearn.save_model(fitted, "model", serialization_format="pickle", pip_requirements=[])
    Path("model/model.pkl").write_bytes(pickle.dumps(Bomb()))
    for source in ("model", "mlflow:./model", f"mlflow:{tmp_path}/model", tmp_path / "model"):
        with pytest.raises(UntrustedFile):
            as_model(source)
    assert not Path("exploded").exists()


class Bomb:
    def __reduce__(self):
        return Path.mkdir, (Path("exploded"),)


def test_a_folder_is_a_model_too(mlflow, fitted, frame, tmp_path) -> None:
    mlflow.sklearn.save_model(
        fitted, tmp_path / "model", serialization_format="pickle", pip_requirements=[]
    )
    for source in (tmp_path / "model", str(tmp_path / "model"), f"mlflow:{tmp_path}/model"):
        model = as_model(source, trust=True)
        np.testing.assert_array_equal(model(frame), fitted.predict_proba(frame))


def test_pyfunc_gets_the_names_and_types_of_its_signature(mlflow, tmp_path) -> None:
    seen = []

    def answer(table):
        seen.append(table)
        return np.sin(table["length"].to_numpy()) + table["count"].to_numpy()

    example = pd.DataFrame(
        {"length": [1.5], "weight": np.array([1.0], np.float32), "count": [3], "colour": ["red"]}
    )
    saved(mlflow, tmp_path / "own", answer, example)
    model = as_model(tmp_path / "own", trust=True)
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "length": random.normal(size=20),
            "weight": random.normal(size=20),
            "count": random.integers(0, 5, 20),
            "colour": random.choice(["red", "blue"], 20),
        }
    )
    still = ah.regions.points(table, moving=["length", "weight"])
    scores = ah.gamma(model, still, radius=0.3)
    assert scores.mean > 0
    direct = ah.gamma(lambda t: answer(t), still, radius=0.3)
    np.testing.assert_allclose(scores.values, direct.values, atol=1e-12)
    # Counts step on their grid, so that the signature's types fit; moved by a ball they do not.
    assert ah.gamma(model, table, radius=0.3).complete
    with pytest.raises(ModelError, match="hold it still"):
        ah.gamma(model, table, radius=0.3, kinds={"count": "number"})
    with pytest.raises(PointsError, match="signature 4"):
        model(np.zeros((2, 3)))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy(table), model(table))


def test_bare_arrays_get_the_signatures_names(mlflow, frame, tmp_path) -> None:
    saved(mlflow, tmp_path / "own", lambda table: table["b"] - table["d"], frame)
    points = frame.to_numpy()
    model = as_model(tmp_path / "own", trust=True)
    np.testing.assert_array_equal(model(points), points[:, 1] - points[:, 3])
    loaded = as_model(mlflow.pyfunc.load_model(str(tmp_path / "own")))
    np.testing.assert_array_equal(loaded(points), points[:, 1] - points[:, 3])


def test_tensor_signatures_get_their_precision(mlflow, tmp_path) -> None:
    example = np.zeros((2, 3, 3), dtype=np.float32)

    def answer(array):
        assert array.dtype == np.float32
        return array.sum(axis=(1, 2))

    saved(mlflow, tmp_path / "own", answer, example)
    assert as_model(tmp_path / "own", trust=True)(np.ones((5, 3, 3))).tolist() == [9.0] * 5


def test_a_regressor_answers_values(mlflow, frame, tmp_path) -> None:
    fitted = LinearRegression().fit(frame[["a", "b"]], frame["c"])
    mlflow.sklearn.save_model(
        fitted, tmp_path / "line", serialization_format="cloudpickle", pip_requirements=[]
    )
    model = as_model(tmp_path / "line", trust=True)
    assert model.kind == "value"
    assert ah.gamma(model, frame[["a", "b"]]).mean < 1e-12


def test_what_is_not_there_is_named(mlflow, tmp_path) -> None:
    for source in ("models:/nothing/1", "runs:/0123/none", f"mlflow:{tmp_path}/none"):
        with pytest.raises(NotAModel, match=r"cannot be found.*MLFLOW_TRACKING_URI"):
            as_model(source, trust=True)
    (tmp_path / "MLmodel").write_text("flavors: {python_function: {loader_module: nowhere_at_all}}")
    with pytest.raises(NotAModel, match=r"nowhere_at_all.*install"):
        as_model(tmp_path, trust=True)
    with pytest.raises(NotAModel, match="no loaded MLflow model"):
        as_model(mlflow.models.Model())


def test_from_a_shell(logged, mlflow, frame, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow.get_tracking_uri())
    frame.to_parquet(tmp_path / "points.parquet")
    arguments = ["--data", "points.parquet", "--max-gamma", "1"]
    assert "--trust" in run(tmp_path, "check", "models:/wine/1", *arguments, code=1).stderr
    run(tmp_path, "check", "models:/wine/1", "--trust", *arguments)


def test_nothing_is_imported_unless_asked() -> None:
    code = "import sys, anharmonic, anharmonic.cli; assert 'mlflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_mlflow_missing_is_named(monkeypatch) -> None:
    for name in ("mlflow", "mlflow.artifacts"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"anharmonic\[mlflow\]"):
        as_model("models:/wine/1")
