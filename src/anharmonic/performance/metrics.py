"""What a model's performance is measured by: accuracy, AUC, log loss; MAE and RMSE.

Each metric is computed from a table of credits: for classes how much of each row's label lies on
each class, (rows, classes), for numbers its absolute and its squared error, (rows, 2). Observed
labels are credits of 0 and 1; expected ones are what an estimator gives without labels, and the
same formulas then give the metric that is to be expected.

>>> outputs = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
>>> credits = observed_credits(outputs, np.array([0, 1, 0]), "classes")
>>> round(metric_value("accuracy", outputs, credits), 3), metric_value("auc", outputs, credits)
(0.667, 0.5)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats

__all__ = [
    "BEST_HIGH",
    "LEAST_RMSE",
    "METRICS",
    "Task",
    "metric_slopes",
    "metric_value",
    "observed_credits",
    "row_influences",
    "row_losses",
    "row_variances",
]

Task = Literal["classes", "numbers"]
"""What a model answers with: probabilities of classes, or numbers."""

METRICS: dict[Task, tuple[str, ...]] = {
    "classes": ("accuracy", "auc", "log_loss"),
    "numbers": ("mae", "rmse"),
}
BEST_HIGH = {"accuracy", "auc"}
"""Metrics of which more is better."""
LEAST_PROBABILITY = 1e-15
"""A probability of 0 is taken as this in log loss, as scikit-learn does for doubles."""
LEAST_RMSE = 1e-100
"""Below it the slope of RMSE in a squared error, which is 1 over twice of it, stays."""


def observed_credits(outputs: Floats, labels: NDArray[Any], kind: Task) -> Floats:
    """Credits of rows whose labels are known: class numbers, or numbers."""
    if kind == "classes":
        return np.eye(outputs.shape[1])[np.asarray(labels, dtype=np.int64)]
    errors = np.abs(np.asarray(labels, dtype=np.float64) - outputs)
    return np.stack([errors, errors**2], axis=1)


def row_losses(name: str, outputs: Floats, credits: Floats) -> Floats:
    """Each row's part of a metric that is a mean over rows, (rows,): of RMSE its square's."""
    if name == "accuracy":
        return np.asarray(np.take_along_axis(credits, outputs.argmax(axis=1)[:, None], 1)[:, 0])
    if name == "log_loss":
        return np.asarray(-(credits * np.log(np.maximum(outputs, LEAST_PROBABILITY))).sum(axis=1))
    return credits[:, 0] if name == "mae" else credits[:, 1]


def metric_value(
    name: str, outputs: Floats, credits: Floats, scored: Sequence[int] | None = None
) -> float:
    """The metric of rows with these outputs and credits; NaN where it has none.

    `scored` are the classes whose AUCs are averaged, all of them if not given.
    """
    if not len(outputs):
        return math.nan
    if name == "auc":
        scored = _scored(outputs) if scored is None else scored
        return float(np.mean([_auc(outputs[:, k], credits[:, k]) for k in scored]))
    value = float(row_losses(name, outputs, credits).mean())
    return math.sqrt(max(value, 0.0)) if name == "rmse" else value


def metric_slopes(
    name: str, outputs: Floats, credits: Floats, scored: Sequence[int] | None = None
) -> Floats:
    """By how much the metric moves with each credit, (rows, columns): its influence function.

    Means have slope 1/n per loss; RMSE divides by twice its value; the slope of AUC in a class's
    credit is the share of the other side that the row's score beats, less AUC, on both sides.
    """
    count = len(outputs)
    slopes = np.zeros_like(credits)
    if name == "accuracy":
        np.put_along_axis(slopes, outputs.argmax(axis=1)[:, None], 1 / count, 1)
    elif name == "log_loss":
        slopes = -np.log(np.maximum(outputs, LEAST_PROBABILITY)) / count
    elif name == "auc":
        scored = _scored(outputs) if scored is None else scored
        for k in scored:
            slopes[:, k] = _auc_slopes(outputs[:, k], credits[:, k]) / len(scored)
    elif name == "mae":
        slopes[:, 0] = 1 / count
    else:
        slopes[:, 1] = 1 / (2 * count * max(metric_value("rmse", outputs, credits), LEAST_RMSE))
    return slopes


def row_influences(name: str, outputs: Floats, credits: Floats, weights: Floats) -> Floats:
    """By how much the metric moves with each row that is drawn, (rows,), where all had weight 1.

    Rows count with their weights; those of weight 0 have no credits. Σ w·influence² is the
    variance of a metric of Σ w rows about that of the law that they were drawn from (of AUC by
    DeLong, DeLong and Clarke-Pearson, 1988).
    """
    total = max(float(weights.sum()), 1e-300)
    if name == "auc":
        scored = _scored(outputs)
        parts = [_auc_influences(outputs[:, k], credits[:, k], weights) for k in scored]
        return np.asarray(np.sum(parts, axis=0) / len(scored))
    losses = row_losses(name, outputs, credits)
    mean = float((weights * losses).sum()) / total
    slope = 2 * math.sqrt(max(mean, 1e-300)) if name == "rmse" else 1.0
    return np.asarray((losses - mean) / (slope * total))


def row_variances(slopes: Floats, credits: Floats, kind: Task, spreads: Floats) -> Floats:
    """Each row's variance of Σ slope·credit, (rows,), where `credits` are expected."""
    if kind == "classes":
        # The label is one draw: Var = Σ p·s² − (Σ p·s)².
        mean = (credits * slopes).sum(axis=1)
        return np.asarray((credits * slopes**2).sum(axis=1) - mean**2)
    return np.asarray((slopes**2 * spreads * credits**2).sum(axis=1))


def _scored(outputs: Floats) -> list[int]:
    """The classes whose one-against-rest AUCs are averaged: of two classes the second."""
    return [1] if outputs.shape[1] == 2 else list(range(outputs.shape[1]))


def _ranked(scores: Floats, credits: Floats, others: Floats) -> tuple[Floats, Floats, float, float]:
    """For each row the credit on either side below its score, ties by half; and both totals."""
    place = np.unique(scores, return_inverse=True)[1]
    inside, outside = np.bincount(place, credits), np.bincount(place, others)
    below_inside = (np.cumsum(inside) - inside / 2)[place]
    below_outside = (np.cumsum(outside) - outside / 2)[place]
    return below_inside, below_outside, float(inside.sum()), float(outside.sum())


def _auc(scores: Floats, credits: Floats) -> float:
    """P(score of an inside row > score of an outside row), ties by half (Mann and Whitney)."""
    _, below_outside, inside, outside = _ranked(scores, credits, 1 - credits)
    if inside <= 0 or outside <= 0:
        return math.nan
    return min(1.0, max(0.0, float((credits * below_outside).sum()) / (inside * outside)))


def _auc_slopes(scores: Floats, credits: Floats) -> Floats:
    """The derivative of AUC by credits: Σ c_i·O_i/(I·O) by own term, others' O, I and O."""
    below_inside, below_outside, inside, outside = _ranked(scores, credits, 1 - credits)
    if inside <= 0 or outside <= 0:
        return np.zeros_like(scores)
    auc = float((credits * below_outside).sum()) / (inside * outside)
    above_inside = inside - below_inside
    return (below_outside / outside - auc) / inside - (above_inside / inside - auc) / outside


def _auc_influences(scores: Floats, credits: Floats, weights: Floats) -> Floats:
    """c·(O_below/O − AUC)/I + (1 − c)·(I_above/I − AUC)/O: either side's rows beat the other's."""
    mine, others = weights * credits, weights * (1 - credits)
    below_inside, below_outside, inside, outside = _ranked(scores, mine, others)
    if inside <= 0 or outside <= 0:
        return np.zeros_like(scores)
    auc = float((mine * below_outside).sum()) / (inside * outside)
    wins, losses = below_outside / outside - auc, (inside - below_inside) / inside - auc
    return np.asarray(credits * wins / inside + (1 - credits) * losses / outside)
