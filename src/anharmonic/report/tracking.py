"""Scores in MLflow: logged to a run, and measured as a metric of `mlflow.models.evaluate`."""

from __future__ import annotations

import math
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.remeasure import MeasureArguments
from anharmonic.models.mlflow import mlflow_module
from anharmonic.scores import Scores

__all__ = ["gamma_metric", "log_scores"]

ROWS = 500
"""Rows of the table that MLflow shows; the file beside it has all of them."""

LONGEST = 500
"""Characters of a parameter; the scale of an image would not fit."""


def log_scores(
    scores: Scores,
    *,
    name: str = "gamma",
    report: str | os.PathLike[str] | None = None,
    run_id: str | None = None,
) -> str:
    """Log scores to a run, the active one unless `run_id` is given; gives the run's id.

    Metrics: `name`/mean, error, rms, worst (the largest lower end of a point's interval; the
    smallest upper end where small is fragile) and
    queries. Parameters: the settings. Artifacts under `name`: every point as points.parquet
    (`Scores.load` reads it), the highest rows as a table, and the file `report` if given.
    """
    mlflow = mlflow_module()
    run = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    mlflow.log_metrics(_under(name, _metrics(scores)), run_id=run)
    settings = {key: str(value)[:LONGEST] for key, value in scores.settings.plain().items()}
    mlflow.log_params(_under(name, settings), run_id=run)
    with TemporaryDirectory() as folder:
        points = scores.save(Path(folder) / "points.parquet")
        mlflow.log_artifact(str(points), artifact_path=name, run_id=run)
    mlflow.log_table(_worst(scores), artifact_file=f"{name}/worst.json", run_id=run)
    if report is not None:
        mlflow.log_artifact(str(report), artifact_path=name, run_id=run)
    return str(run)


def gamma_metric(
    model: Any, points: Any, *, name: str = "gamma", **arguments: Unpack[MeasureArguments]
) -> Any:
    """A metric for `mlflow.models.evaluate(…, extra_metrics=[…])`, measured when it is asked for.

    MLflow hands metrics predictions, never the model; so give it here, as anything `as_model`
    takes, with the points. The other arguments are `gamma`'s. Where the points are as many as
    the evaluated rows, each row gets its score too.
    """
    mlflow_module()
    from mlflow.metrics import MetricValue
    from mlflow.models import make_metric

    def measured(predictions: Any, targets: Any = None, metrics: Any = None) -> Any:
        scores = gamma(model, points, **arguments)
        rows = scores.values.tolist() if len(scores) == len(predictions) else None
        return MetricValue(scores=rows, aggregate_results=_metrics(scores))

    return make_metric(
        eval_fn=measured,
        greater_is_better=False,
        name=name,
        long_name="deviation from the mean-value property of harmonic functions",
    )


def _metrics(scores: Scores) -> dict[str, float]:
    """The headline; what is not finite, such as the error of a single point, is left out."""
    # The safe end of the most fragile point: it is at least as fragile as that.
    ends = scores.intervals()[0 if scores.fragile == "large" else 1]
    worst = ends[scores.worst(1)[0]]
    found = {
        "mean": scores.mean,
        "error": scores.error,
        "rms": scores.rms.value,
        "worst": float(worst),
        "queries": float(scores.queries),
    }
    return {key: value for key, value in found.items() if math.isfinite(value)}


def _worst(scores: Scores) -> dict[str, list[Any]]:
    """The most fragile rows as columns of plain values."""
    rows = scores.worst(ROWS)
    low, high = scores.intervals()
    columns = {
        "row": rows,
        scores.metric: scores.values[rows],
        "error": scores.errors[rows],
        "low": low[rows],
        "high": high[rows],
        "signed": scores.signed[rows],
        "output": scores.outputs[rows],
    }
    return {key: values.tolist() for key, values in columns.items()}


def _under(name: str, values: dict[str, Any]) -> dict[str, Any]:
    return {f"{name}/{key}": value for key, value in values.items()}
