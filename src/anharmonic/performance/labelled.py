"""Few labels and many estimates: prediction-powered performance, with inverse-probability weights.

A row that had a label with probability π has the credit λ·m + (y − λ·m)/π, and one without λ·m,
where m is expected and y observed: right on average whatever m is, sharper the better m is, and
the plain metric where every row has a label. λ is the one of least variance.

References: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, "Prediction-powered inference"
(2023); Angelopoulos, Duchi and Zrnic, "PPI++" (2023); Särndal, "Model assisted survey
sampling" (1992).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.performance.estimator import Estimator, within
from anharmonic.performance.fitting import number_labels
from anharmonic.performance.metrics import metric_slopes, metric_value, observed_credits
from anharmonic.performance.result import Performance

__all__ = ["Powered", "estimate_labelled", "powered_metric"]

FEWEST = 5
"""Labels below which an interval from labels says nothing."""


class Powered(NamedTuple):
    """A metric from few labels: its value and error, how far estimates were followed."""

    value: float
    error: float
    followed: float


def powered_metric(
    name: str,
    outputs: Floats,
    expected: Floats,
    observed: Floats,
    chosen: NDArray[np.bool_],
    probabilities: Floats,
    *,
    followed: float | None = None,
) -> Powered:
    """One metric of the rows from the labels of the chosen ones.

    Parameters
    ----------
    name
        Of the metric.
    outputs, expected : (rows, …)
        What the model answered, and the credits expected.
    observed : (rows, columns)
        Credits by the labels; whatever stands in rows without one is not looked at.
    chosen : (rows,)
        Which rows have labels.
    probabilities : (rows,)
        The chance with which each row was given one.
    followed
        λ; the one of least variance if None.
    """
    slopes = metric_slopes(name, outputs, expected)
    weight = np.where(chosen, 1 / probabilities, 0.0)
    # A ratio by Σ weights keeps few labels from carrying the count as well (Hájek, 1971).
    if weight.sum() > 0:
        weight = weight * (len(weight) / weight.sum())
    truth = np.where(chosen[:, None], observed, 0.0)
    # The metric, linearised: each row's y and m along the metric's slopes, (rows,).
    y, m = (truth * slopes).sum(axis=1), (expected * slopes).sum(axis=1)
    if followed is None:
        followed = _least_variance(y, m, weight, chosen)
    open_share = np.where(chosen, 1 - probabilities, 0.0)
    left = y - followed * m
    centre = float((weight * left).sum() / len(left)) if name != "auc" else 0.0
    # Var = Σ (1 − π)·w²·(left − mean)², over labelled rows; small samples by n/(n − 1).
    count = int(chosen.sum())
    spread = float((open_share * weight**2 * np.where(chosen, left - centre, 0.0) ** 2).sum())
    variance = spread * count / max(count - 1, 1)
    credits = followed * expected + weight[:, None] * (
        truth - followed * expected * chosen[:, None]
    )
    return Powered(metric_value(name, outputs, credits), math.sqrt(variance), followed)


def _least_variance(y: Floats, m: Floats, weight: Floats, chosen: NDArray[np.bool_]) -> float:
    """λ = Cov(y, m)/Var(m) over labelled rows, drawn to 1 by as much as ten rows, in [0, 1]."""
    count = int(chosen.sum())
    if count < 2:
        return 1.0
    share = weight[chosen] / weight[chosen].sum()
    y, m = y[chosen], m[chosen]
    y, m = y - (share * y).sum(), m - (share * m).sum()
    variance = float((share * m**2).sum())
    if variance <= 0:
        return 1.0
    found = float((share * y * m).sum()) / variance
    return min(1.0, max(0.0, (count * found + 10) / (count + 10)))


def estimate_labelled(
    estimator: Estimator,
    outputs: Floats,
    features: Floats | None,
    labels: NDArray[Any],
    chosen: NDArray[np.bool_],
    probabilities: Floats | float = 1.0,
    *,
    level: float | None = None,
) -> Performance:
    """Performance on rows of which some have labels, in an interval that trusts labels alone.

    Parameters
    ----------
    estimator
        From `fit_performance`; it may be wrong, the interval holds all the same.
    outputs, features
        Of all rows.
    labels : (rows,) or (chosen,)
        Of all rows, with anything where none is known, or of the chosen ones alone.
    chosen : (rows,)
        Which rows have labels.
    probabilities
        The chance of each row to be chosen; from `choose_rows`, or one number.
    level
        Of the intervals.
    """
    outputs, features = estimator.checked(outputs, features)
    chosen = np.asarray(chosen, dtype=bool)
    given = np.asarray(labels)
    if len(given) == len(chosen):
        given = given[chosen]
    if len(given) != chosen.sum():
        raise PointsError(f"{len(given)} labels for {chosen.sum()} rows: give one per chosen row")
    chances = np.broadcast_to(np.asarray(probabilities, dtype=np.float64), chosen.shape)
    if not ((chances[chosen] > 0) & (chances[chosen] <= 1)).all():
        raise PointsError("a chosen row has no chance between 0 and 1: give those it was chosen by")
    expected = estimator.expected(outputs, features)
    numbered = number_labels(given, estimator.kind, estimator.classes or None, len(given))
    observed = np.zeros_like(expected)
    observed[chosen] = observed_credits(outputs[chosen], numbered, estimator.kind)
    level = estimator.level if level is None else level
    count = int(chosen.sum())
    quantile = float(stdtrit(max(count - 1, 1), 0.5 + level / 2))
    found = {}
    for name in estimator.metrics:
        powered = powered_metric(name, outputs, expected, observed, chosen, chances)
        found[name] = within(name, powered.value, quantile * powered.error)
    known = count >= FEWEST
    reason = "" if known else f"{count} labels are too few: give at least {FEWEST}"
    last = max(len(outputs) - 1, 0)
    return Performance(found, len(outputs), count, known, reason, level, last=last)
