"""Scores in MLflow: logged to a run, and measured as a metric of `mlflow.models.evaluate`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sized
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from anharmonic.auditing.finding import SEVERITIES
from anharmonic.auditing.result import Audit
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.remeasure import MeasureArguments
from anharmonic.models.mlflow import mlflow_module
from anharmonic.scores import Scores

if TYPE_CHECKING:
    from mlflow.metrics import MetricValue
    from mlflow.models import EvaluationMetric

__all__ = ["gamma_metric", "log_audit", "log_scores"]

Value = TypeVar("Value")

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
    """Log scores to an MLflow run and return the run's id.

    Metrics: `name`/mean, error, rms, worst (the largest lower end of a point's interval; the
    smallest upper end where small is fragile) and queries. Parameters: the settings. Artifacts
    under `name`: every point as points.parquet (`Scores.load` reads it), the highest rows as a
    table, and the report.

    Parameters
    ----------
    scores
        Of any measure.
    name
        What everything is logged under.
    report
        A file to log beside them, such as the page of `report.write`.
    run_id
        The run; the active one, or a new one, if not told.
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


def log_audit(
    audit: Audit,
    *,
    name: str = "audit",
    page: str | os.PathLike[str] | None = None,
    run_id: str | None = None,
) -> str:
    """Log an audit to an MLflow run and return the run's id.

    Metrics: `name`/findings, how many of each severity, queries and seconds. Artifacts under
    `name`: the audit as JSON (`Audit.load` reads it), and the page.

    Parameters
    ----------
    audit
        From `audit`.
    name
        What everything is logged under.
    page
        A file to log beside it, such as that of `report.write_audit`.
    run_id
        The run; the active one, or a new one, if not told.
    """
    mlflow = mlflow_module()
    run = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    counts: dict[str, float] = {
        severity: float(sum(finding.severity == severity for finding in audit.findings))
        for severity in SEVERITIES
    }
    metrics: dict[str, float] = {
        "findings": float(len(audit.findings)),
        **counts,
        "queries": float(audit.queries),
        "seconds": audit.seconds,
    }
    mlflow.log_metrics(_under(name, metrics), run_id=run)
    with TemporaryDirectory() as folder:
        kept = audit.save(Path(folder) / "audit.json")
        mlflow.log_artifact(str(kept), artifact_path=name, run_id=run)
    if page is not None:
        mlflow.log_artifact(str(page), artifact_path=name, run_id=run)
    return str(run)


def gamma_metric(
    model: object, points: object, *, name: str = "gamma", **arguments: Unpack[MeasureArguments]
) -> EvaluationMetric:
    """A metric for `mlflow.models.evaluate(…, extra_metrics=[…])`, measured when it is asked for.

    Where the points are as many as the evaluated rows, each row gets its score too.

    Parameters
    ----------
    model
        Anything `as_model` takes: MLflow hands metrics predictions, never the model.
    points
        Where it is measured.
    name
        The metric's.
    arguments
        Of `gamma`.
    """
    mlflow_module()
    from mlflow.metrics import MetricValue
    from mlflow.models import make_metric

    # MLflow looks for these three names.
    def measure(predictions: Sized, targets: object = None, metrics: object = None) -> MetricValue:
        scores = gamma(model, points, **arguments)
        rows = scores.values.tolist() if len(scores) == len(predictions) else None
        return MetricValue(scores=rows, aggregate_results=_metrics(scores))

    return make_metric(
        eval_fn=measure,
        greater_is_better=False,
        name=name,
        long_name="deviation from the mean-value property of harmonic functions",
    )


def _metrics(scores: Scores) -> dict[str, float]:
    """The headline; what is not finite, such as the error of a single point, is left out."""
    # The safe end of the most fragile point: it is at least as fragile as that.
    ends = scores.intervals()[0 if scores.fragile == "large" else 1]
    worst = ends[scores.worst(1)[0]]
    values = {
        "mean": scores.mean,
        "error": scores.error,
        "rms": scores.rms.value,
        "worst": float(worst),
        "queries": float(scores.queries),
    }
    return {key: value for key, value in values.items() if math.isfinite(value)}


def _worst(scores: Scores) -> dict[str, list[object]]:
    """The most fragile rows as columns of plain values."""
    rows = scores.worst(ROWS)
    low, high = scores.intervals()
    columns: dict[str, Any] = {
        "row": rows,
        scores.metric: scores.values[rows],
        "error": scores.errors[rows],
        "low": low[rows],
        "high": high[rows],
        "signed": scores.signed[rows],
        "output": scores.outputs[rows],
    }
    others = getattr(scores, "others", None)
    if others is not None:
        columns["other rows say"] = others[rows]
    return {key: values.tolist() for key, values in columns.items()}


def _under(name: str, values: Mapping[str, Value]) -> dict[str, Value]:
    return {f"{name}/{key}": value for key, value in values.items()}
