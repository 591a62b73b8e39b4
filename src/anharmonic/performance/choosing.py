"""Which rows to label next, so that labels say most about performance.

The variance of a prediction-powered estimate is Σ σ²/π over rows, least where the chance π of a
row is proportional to σ, what the expectation leaves open of its loss (Neyman, 1934). The
estimator may be wrong about σ: half of the mean of all σ² is added to each, which costs little
where it is right and keeps chosen rows from costing more labels than random ones where it is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.performance.estimator import Estimator, shown_columns
from anharmonic.performance.metrics import metric_slopes, row_losses, row_variances

__all__ = ["Chosen", "choose_rows", "draw_rows", "inclusion_probabilities"]

EVEN = 0.5
"""How much of the mean variance is added to every row's."""
STRATA = 10
"""Strata of the expected loss, each with its share of the labels."""


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

    As many as asked for, spread over strata of the expected loss by the sum of their chances.

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


def inclusion_probabilities(spread: Floats, count: int, even: float = EVEN) -> Floats:
    """Chances that add up to `count`: proportional to the root of σ² + `even`·(mean of σ²).

    >>> inclusion_probabilities(np.array([1.0, 1.0, 2.0, 0.0]), 2).round(2).tolist()
    [0.46, 0.46, 0.77, 0.3]
    """
    rows = len(spread)
    sizes = np.sqrt(spread**2 + even * (spread**2).mean())
    sizes = sizes / sizes.sum() if sizes.sum() > 0 else np.full(rows, 1 / rows)
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
    """Rows at equal steps along the sum of chances (Madow, 1949), in a random order per stratum.

    In a fixed order a step may meet a pattern of the rows, and then few samples are possible.
    """
    random = generator(seed, Stream.LABEL_CHOICE)
    strata = np.searchsorted(np.quantile(losses, np.arange(1, STRATA) / STRATA), losses)
    order = np.lexsort((random.uniform(size=len(losses)), strata))
    ends = np.cumsum(chances[order])
    # Rounding may leave the last end just short of the count.
    ends *= count / ends[-1]
    places = np.searchsorted(ends, random.uniform() + np.arange(count), side="right")
    return np.sort(order[places.clip(max=len(chances) - 1)])


def _reason(ratio: float, outside: bool) -> str:
    where = "; it lies outside the reference" if outside else ""
    if ratio >= 1.5:
        return f"its loss is {ratio:.1f} times as uncertain as a typical row's{where}"
    if ratio <= 0.67:
        return f"a check where the estimate is sure{where}"
    return f"as uncertain as a typical row: one of an even sample{where}"
