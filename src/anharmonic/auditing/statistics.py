"""Tests and intervals that several checks share."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, ndtr, stdtr

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.statistics import share_interval
from anharmonic.auditing.finding import Measured

__all__ = [
    "above",
    "all_in_one",
    "higher",
    "normal_tail",
    "ratio_of",
    "share_above",
    "share_of",
    "sum_above",
]


def share_of(hits: int, count: int) -> Measured:
    """A share and its 95% interval (Clopper and Pearson).

    >>> print(share_of(5, 100))
    5.0% (1.6% to 11%)
    """
    return Measured(hits / max(1, count), *share_interval(hits, max(1, count)), "share")


def share_above(hits: int, count: int, limit: float) -> float:
    """The chance of so many hits or more if each had the chance `limit` (exact binomial tail).

    >>> round(share_above(2, 2, 0.5), 3)
    0.25
    """
    if hits <= 0:
        return 1.0
    # P(X ≥ k) = I_p(k, n−k+1), the regularised incomplete beta function.
    return float(betainc(hits, count - hits + 1, limit))


def sum_above(observed: int, counts: Integers, laws: Floats) -> float:
    """The chance of so large a sum, or a larger one, of independent whole numbers.

    Parameters
    ----------
    observed
        The sum.
    counts : (laws,)
        How many numbers follow each law.
    laws : (laws, values)
        The chances of 0, 1, …

    Examples
    --------
    >>> round(sum_above(3, np.array([3]), np.array([[0.5, 0.5]])), 3)
    0.125
    >>> round(sum_above(4, np.array([1, 1]), np.array([[0.5, 0.0, 0.5], [0.8, 0.0, 0.2]])), 3)
    0.1
    """
    # The sum's characteristic function is the product of theirs, and its law the transform back.
    size = int(counts.sum()) * (laws.shape[1] - 1) + 1
    product = np.prod(np.fft.rfft(laws, size, axis=1) ** counts[:, None], axis=0)
    law = np.fft.irfft(product, size)
    return float(np.clip(law[observed:].sum(), 0.0, 1.0))


def above(values: Floats) -> float:
    """The chance of a mean this far above 0 if the true one is not above it (Student's test)."""
    count = len(values)
    if count < 3:
        return 1.0
    spread = float(values.std(ddof=1))
    mean = float(values.mean())
    if spread == 0:
        return 0.0 if mean > 0 else 1.0
    return float(stdtr(count - 1, -mean / spread * np.sqrt(count)))


def higher(values: Floats, others: Floats) -> float:
    """The chance of a mean this far above that of other rows if it is not (Welch's test).

    >>> higher(np.arange(9.0) + 5, np.arange(9.0)) < 0.001 < higher(np.arange(9.0), np.arange(9.0))
    True
    """
    if min(len(values), len(others)) < 3:
        return 1.0
    parts = np.array([each.var(ddof=1) / len(each) for each in (values, others)])
    apart = float(values.mean() - others.mean())
    if not parts.any():
        return 0.0 if apart > 0 else 1.0
    # Welch and Satterthwaite's degrees of freedom.
    freedom = parts.sum() ** 2 / float(
        parts**2 @ (1 / np.array([len(values) - 1, len(others) - 1]))
    )
    return float(stdtr(freedom, -apart / np.sqrt(parts.sum())))


def ratio_of(upper: Floats, lower: Floats) -> Measured:
    """The ratio of two means over the same rows and its 95% interval.

    By the delta method on the logarithm. Half an event is put to each mean, which keeps the
    interval finite where nothing happened.

    >>> print(ratio_of(np.array([1.0, 1.0, 0.0, 1.0] * 50), np.array([0.0, 1.0, 0.0, 0.0] * 50)))
    3.0 times (2.4 to 3.8)
    """
    count = len(upper)
    # An event is the largest loss that a row has: 1 where classes are counted.
    half = 0.5 * max(float(np.abs(lower).max(initial=0.0)), float(np.abs(upper).max(initial=0.0)))
    half = half / count if half else 1.0
    top, bottom = float(upper.mean()), float(lower.mean())
    if bottom < half or top < half:
        top, bottom = top + half, bottom + half
    if count < 2:
        return Measured(top / bottom, 0.0, float("inf"), "times")
    covariance = np.cov(upper, lower) / count
    # Var(log u/l) = Var(u)/u² + Var(l)/l² − 2·Cov(u, l)/(u·l).
    variance = (
        covariance[0, 0] / top**2
        + covariance[1, 1] / bottom**2
        - 2 * covariance[0, 1] / (top * bottom)
    )
    reach = float(np.exp(1.96 * np.sqrt(max(float(variance), 0.0))))
    ratio = top / bottom
    return Measured(ratio, ratio / reach, ratio * reach, "times")


def all_in_one(count: int, side: int, other: int) -> float:
    """The chance that `count` rows, dealt at random to two sides, all fall into the first.

    Exact: C(side, count) / C(side + other, count).

    >>> round(all_in_one(2, 2, 2), 4)
    0.1667
    """
    if count == 0:
        return 1.0
    if count > side:
        return 0.0
    places = np.arange(count)
    return float(np.exp(np.sum(np.log(side - places) - np.log(side + other - places))))


def normal_tail(score: float) -> float:
    """The chance of a standard normal number above this one."""
    return float(ndtr(-score))
