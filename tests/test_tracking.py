"""Scores in a real MLflow store: what is logged can be read back."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import anharmonic as ah
from anharmonic.errors import MissingExtra
from anharmonic.report.tracking import ROWS, gamma_metric, log_scores
from tests.stores import mlflow_store

FRAME, TARGET = load_iris(return_X_y=True, as_frame=True)
MODEL = LogisticRegression(max_iter=500).fit(FRAME, TARGET)


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    with mlflow_store(tmp_path_factory.mktemp("mlflow")) as module:
        yield module


@pytest.fixture(scope="module")
def scores():
    return ah.gamma(MODEL, FRAME)


def test_everything_is_logged_to_the_active_run(mlflow, scores, tmp_path):
    (tmp_path / "report.html").write_text("<h1>gamma</h1>")
    with mlflow.start_run() as active:
        run = log_scores(scores, report=tmp_path / "report.html")
    assert run == active.info.run_id
    data = mlflow.get_run(run).data
    assert data.metrics["gamma/mean"] == scores.mean
    assert data.metrics["gamma/error"] == scores.error
    assert data.metrics["gamma/rms"] == scores.rms.value
    assert data.metrics["gamma/queries"] == scores.queries
    assert data.metrics["gamma/worst"] == scores.intervals()[0].max()
    assert float(data.params["gamma/radius"]) == scores.settings.radius
    assert data.params["gamma/fingerprint"] == scores.settings.fingerprint
    folder = mlflow.artifacts.download_artifacts(run_id=run, artifact_path="gamma")
    loaded = ah.Scores.load(f"{folder}/points.parquet")
    np.testing.assert_array_equal(loaded.values, scores.values)
    assert ah.gate.no_worse(loaded, scores).passed
    with open(f"{folder}/report.html") as file:
        assert file.read() == "<h1>gamma</h1>"
    table = mlflow.load_table("gamma/worst.json", run_ids=[run])
    assert table["row"].tolist() == scores.worst(150).tolist()
    np.testing.assert_allclose(table["gamma"], scores.values[scores.worst(150)], atol=1e-9)


def test_another_run_and_another_name(mlflow, scores):
    with mlflow.start_run() as run:
        pass
    assert log_scores(scores, name="test set", run_id=run.info.run_id) == run.info.run_id
    assert mlflow.active_run() is None
    assert "test set/mean" in mlflow.get_run(run.info.run_id).data.metrics


def test_wide_and_long_scores_stay_small(mlflow):
    points = np.random.default_rng(0).normal(size=(ROWS + 100, 200))
    wide = ah.gamma(lambda x: np.sin(x[:, :3]), points, rotations=2, directions=4)
    with mlflow.start_run():
        run = log_scores(wide)
    assert len(mlflow.load_table("gamma/worst.json", run_ids=[run])) == ROWS
    assert max(map(len, mlflow.get_run(run).data.params.values())) <= 500


def test_a_single_point_has_no_error_to_log(mlflow):
    one = ah.gamma(MODEL, FRAME[:1], scale=None, radius=0.1)
    with mlflow.start_run():
        run = log_scores(one)
    metrics = mlflow.get_run(run).data.metrics
    assert "gamma/mean" in metrics
    assert "gamma/error" not in metrics


@pytest.mark.filterwarnings("ignore")  # MLflow has not caught up with pandas
def test_a_metric_of_evaluate(mlflow, scores):
    data = pd.DataFrame({"prediction": MODEL.predict(FRAME), "target": TARGET})
    few = gamma_metric(MODEL, FRAME[:50], name="few", radius=0.3)
    with mlflow.start_run() as run:
        result = mlflow.models.evaluate(
            data=data,
            predictions="prediction",
            targets="target",
            extra_metrics=[gamma_metric(MODEL, FRAME), few],
        )
    assert result.metrics["gamma/mean"] == scores.mean
    assert result.metrics["gamma/queries"] == scores.queries
    direct = ah.gamma(MODEL, FRAME[:50], radius=0.3)
    assert result.metrics["few/mean"] == direct.mean
    assert mlflow.get_run(run.info.run_id).data.metrics["gamma/mean"] == scores.mean
    rows = result.tables["eval_results_table"]
    np.testing.assert_allclose(rows["gamma/score"], scores.values, atol=1e-9)


def test_mlflow_missing_is_named(scores, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtra, match=r"anharmonic\[mlflow\]"):
        log_scores(scores)
    with pytest.raises(MissingExtra, match=r"anharmonic\[mlflow\]"):
        gamma_metric(MODEL, FRAME)


def test_mlflow_is_told_not_to_report_its_use():
    code = (
        "from anharmonic.models.mlflow import mlflow_module; mlflow_module();"
        "from mlflow.telemetry.utils import is_telemetry_disabled as off; print(off())"
    )
    clean = {name: value for name, value in os.environ.items() if "TELEMETRY" not in name}
    clean = {name: value for name, value in clean.items() if name not in ("CI", "DO_NOT_TRACK")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=clean, timeout=120
    )
    assert done.stdout.strip() == "True"
