"""Which rows to label next, so that labels say most about performance.

The variance of a prediction-powered estimate is Σ σ²/π over rows, least where the chance π of a
row is proportional to σ, what the expectation leaves open of its loss (Neyman, 1934). A part of
all labels is spread evenly, so that no weight exceeds a bound if the estimator is wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.performance.estimator import Estimator, row_variances, shown_columns
from anharmonic.performance.metrics import metric_slopes, row_losses

__all__ = ["Chosen", "choose_rows", "draw_rows", "inclusion_probabilities"]

EVEN = 0.2
"""The share of labels that is spread evenly."""


class Chosen(NamedTuple):
    """Rows to label, in their order.

    Parameters
    ----------
    rows : (count,)
        Their numbers.
    probabilities : (count,)
        The chance with which each was chosen.
    reasons
        Why, in words, one per row.
    chances : (all rows,)
        The chance of every row: what `estimate_labelled` takes.
    """

    rows: Integers
    probabilities: Floats
    reasons: tuple[str, ...]
    chances: Floats


def choose_rows(
    estimator: Estimator,
    outputs: Floats,
    features: Floats | None,
    count: int,
    seed: int = 0,
    *,
    metric: str | None = None,
) -> Chosen:
    """Draw rows to label, with known chances.

    Rows are ordered by their expected loss and drawn at equal steps along the sum of their
    chances: as many as asked for, spread over all strata of the expected loss.

    Parameters
    ----------
    estimator
        From `fit_performance`.
    outputs, features
        Of the rows to choose from.
    count
        How many to choose.
    seed
        Of the draw.
    metric
        What the labels shall sharpen; the first of the estimator's if None.
    """
    if not 0 < count <= len(outputs):
        raise SettingsError(f"count {count}: choose from 1 to {len(outputs)} rows")
    outputs, features = estimator.checked(outputs, features)
    name = metric or estimator.metrics[0]
    if name not in estimator.metrics:
        raise SettingsError(f"metric {name!r}: choose one of {', '.join(estimator.metrics)}")
    credits = estimator.expected(outputs, features)
    slopes = metric_slopes(name, outputs, credits)
    spread = np.sqrt(row_variances(slopes, credits, estimator.kind, estimator.spreads))
    chances = inclusion_probabilities(spread, count)
    loss = row_losses("log_loss" if name == "auc" else name, outputs, credits)
    rows = draw_rows(chances, loss, count, seed)
    outside = np.any(estimator.reach.outside(shown_columns(outputs, features)), axis=1)
    typical = float(np.median(spread))
    reasons = tuple(_reason(spread[row] / max(typical, 1e-300), bool(outside[row])) for row in rows)
    return Chosen(rows, chances[rows], reasons, chances)


def inclusion_probabilities(spread: Floats, count: int) -> Floats:
    """Chances that add up to `count`: proportional to the spread, `EVEN` of them alike.

    >>> inclusion_probabilities(np.array([1.0, 1.0, 2.0, 0.0]), 2).round(2).tolist()
    [0.5, 0.5, 0.9, 0.1]
    """
    rows = len(spread)
    total = float(spread.sum())
    wanted = spread / total if total > 0 else np.full(rows, 1 / rows)
    sizes = EVEN / rows + (1 - EVEN) * wanted
    sure = np.zeros(rows, dtype=bool)
    # Whoever would exceed 1 is taken for sure, and the rest shares what is left.
    while True:
        rest = count - int(sure.sum())
        chances = np.where(sure, 1.0, rest * sizes / max(float(sizes[~sure].sum()), 1e-300))
        beyond = (chances > 1) & ~sure
        if not beyond.any():
            return np.minimum(chances, 1.0)
        sure |= beyond


def draw_rows(chances: Floats, losses: Floats, count: int, seed: int) -> Integers:
    """Rows at equal steps along the sum of chances, in the order of their losses (Madow, 1949)."""
    order = np.argsort(losses, kind="stable")
    start = generator(seed, Stream.LABEL_CHOICE).uniform()
    ends = np.cumsum(chances[order])
    # Rounding may leave the last end just short of the count.
    ends *= count / ends[-1]
    places = np.searchsorted(ends, start + np.arange(count), side="right")
    return np.sort(order[places.clip(max=len(chances) - 1)])


def _reason(ratio: float, outside: bool) -> str:
    where = "; it lies outside the reference" if outside else ""
    if ratio >= 1.5:
        return f"its loss is {ratio:.1f} times as uncertain as a typical row's{where}"
    if ratio <= 0.67:
        return f"a check where the estimate is sure{where}"
    return f"as uncertain as a typical row: one of an even sample{where}"
