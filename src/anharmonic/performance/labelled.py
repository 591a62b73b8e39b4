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
from anharmonic.performance.estimator import Estimator, within
from anharmonic.performance.metrics import (
    metric_slopes,
    metric_value,
    row_influences,
    row_variances,
)
from anharmonic.performance.result import Performance
from anharmonic.performance.sampled import Sampled, sampled_rows

__all__ = ["FEWEST_LABELS", "Powered", "estimate_labelled", "powered_metric"]

FEWEST_LABELS = 5
"""Labels below which an interval from labels says nothing."""
TYPICAL = 200.0
"""Labels that the expected spread counts as, beside those seen."""


class Powered(NamedTuple):
    """A metric from few labels.

    Parameters
    ----------
    value
        Of these rows.
    error
        The standard error that is left because not every row has a label.
    drawn
        The standard error of a metric of so many rows, all with labels, about that of their law.
    followed
        How far estimates were followed: λ.
    """

    value: float
    error: float
    drawn: float
    followed: float


def powered_metric(
    estimator: Estimator, name: str, rows: Sampled, followed: float | None = None
) -> Powered:
    """One metric of the rows from the labels of the chosen ones.

    Parameters
    ----------
    estimator
        Whose expectations they are.
    name
        Of the metric.
    rows
        With labels for some.
    followed
        λ; the one of least variance if None.
    """
    outputs, expected, observed, chosen, chances = rows
    slopes, weight = metric_slopes(name, outputs, expected), rows.weights
    # The metric, linearised: each row's y and m along the metric's slopes, (rows,).
    y, m = (observed * slopes).sum(axis=1), (expected * slopes).sum(axis=1)
    if followed is None:
        followed = _least_variance(y, m, weight, chosen)
    left = y - followed * m
    centre = float((weight * left).sum() / len(left)) if name != "auc" else 0.0
    # Var = Σ (1 − π)·w²·(left − mean)², over labelled rows; small samples by n/(n − 1).
    squares = np.where(chosen, (1 - chances) * weight**2, 0.0)
    seen = float((squares * np.where(chosen, left - centre, 0.0) ** 2).sum())
    spread = _expected_spread(estimator, name, rows, slopes)
    likely = float((squares * (spread + ((1 - followed) * (m - m.mean())) ** 2)).sum())
    error = _settled(seen, likely, rows.labelled)
    influences = row_influences(name, outputs, observed, weight)
    means = row_influences(name, outputs, expected, np.ones(len(outputs)))
    drawn = _settled(
        float((weight * influences**2).sum()), float((spread + means**2).sum()), rows.labelled
    )
    credits = followed * expected + weight[:, None] * (
        observed - followed * expected * chosen[:, None]
    )
    value = metric_value(name, outputs, credits)
    return Powered(value, math.sqrt(error), math.sqrt(drawn), followed)


def _settled(seen: float, likely: float, count: int) -> float:
    """A variance from few labels: as seen, or between that and the likely one if this is more.

    Few labels that agree by luck would make an interval of no width.
    """
    seen = seen * count / max(count - 1, 1)
    return max(seen, (count * seen + TYPICAL * likely) / (count + TYPICAL))


def _expected_spread(estimator: Estimator, name: str, rows: Sampled, slopes: Floats) -> Floats:
    """The variance of each row's part of the metric that its label is expected to leave open."""
    expected = rows.expected
    if name == "accuracy":
        # One label of either kind more than were seen: labels alone never show that none is wrong.
        expected = (rows.labelled * expected + 1) / (rows.labelled + 2)
    return row_variances(slopes, expected, estimator.kind, estimator.spreads)


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
    probabilities: Floats | float | None = None,
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
        The chance of each row to be chosen, from `choose_rows`, or one number; if None all rows
        had the same one, the share of chosen rows.
    level
        Of the intervals.
    """
    outputs, features = estimator.checked(outputs, features)
    chosen = np.asarray(chosen, dtype=bool)
    rows = sampled_rows(estimator, outputs, features, labels, chosen, probabilities)
    level = estimator.level if level is None else level
    quantile = float(stdtrit(rows.freedom, 0.5 + level / 2))
    found = {}
    for name in estimator.metrics:
        powered = powered_metric(estimator, name, rows)
        found[name] = within(name, powered.value, quantile * powered.error)
    known = rows.labelled >= FEWEST_LABELS
    reason = "" if known else f"{rows.labelled} labels are too few: give at least {FEWEST_LABELS}"
    last = max(len(outputs) - 1, 0)
    return Performance(found, len(outputs), rows.labelled, known, reason, level, last=last)
