"""Running statistics that can be merged in any order.

>>> left, right = Moments.of(np.array([1.0, 2.0])), Moments.of(np.array([6.0]))
>>> merged = left.merge(right)
>>> float(merged.mean), int(merged.count), float(merged.variance)
(3.0, 3, 7.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Array, Floats

__all__ = [
    "Moments",
    "Rate",
    "half_widths",
    "paired_share_interval",
    "share_interval",
    "stratified_error",
    "welch",
]


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations: numbers, or arrays of them side by side."""

    count: Array
    mean: Array
    squares: Array

    @classmethod
    def of(cls, values: Floats, axis: int = 0) -> Moments:
        """The moments of an array along one axis."""
        count = values.shape[axis]
        mean = values.sum(axis=axis) / max(count, 1)
        deviations = values - np.expand_dims(mean, axis)
        return cls(np.full(np.shape(mean), count), mean, np.sum(deviations**2, axis=axis))

    def merge(self, other: Moments) -> Moments:
        """Both together, as if they had been seen at once (Chan, Golub and LeVeque, 1979)."""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros(np.shape(count)), where=count > 0)
        # M₂ = M₂ₐ + M₂ᵦ + δ²·nₐ·nᵦ/n with δ the difference of the means.
        step = other.mean - self.mean
        squares = self.squares + other.squares + step**2 * self.count * share
        return Moments(count, self.mean + step * share, squares)

    @property
    def variance(self) -> Array:
        """Unbiased; NaN below two values."""
        return _divided(self.squares, self.count - 1)

    @property
    def error(self) -> Array:
        """The standard error of the mean; NaN below two values."""
        return np.sqrt(_divided(self.variance, self.count))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Student's interval for the mean."""
        half_width = half_widths(self.error, self.count, level)
        return self.mean - half_width, self.mean + half_width


def half_widths(errors: Array, count: Array, level: float = 0.95) -> Array:
    """Half of Student's interval from standard errors of means of `count` values each."""
    upper = 0.5 + level / 2
    freedom = np.maximum(np.asarray(count, dtype=float) - 1, 1e-9)
    # Student's and the normal quantile agree to six digits well before a million.
    factor = np.where(freedom > 1e6, ndtri(upper), stdtrit(np.minimum(freedom, 1e6), upper))
    return errors * factor


def stratified_error(values: Floats, steps: Sequence[int]) -> float:
    """The standard error of a mean over a regular grid, (cells,) with the last axis fastest.

    Cells are joined two by two along every axis, three at an odd end, and each block counts
    as a stratum that was sampled at random (collapsed strata: Cochran, 1977, 5A.12). On what
    varies slowly that is still too large: the safe side.

    >>> ramp = np.arange(100.0)
    >>> round(stratified_error(ramp, [100]), 3), round(float(Moments.of(ramp).error), 3)
    (0.071, 2.901)
    """
    # The block of each cell: its index along every axis halved, an odd last one joined before it.
    axes = [np.minimum(np.arange(count) // 2, max(count // 2 - 1, 0)) for count in steps]
    sizes = [int(axis[-1]) + 1 for axis in axes]
    block = np.ravel_multi_index(np.meshgrid(*axes, indexing="ij"), sizes).reshape(-1)
    count = np.bincount(block)
    mean = np.bincount(block, weights=values) / count
    squares = np.bincount(block, weights=(values - mean[block]) ** 2)
    # Var(mean) = Σ (n_h/N)²·s_h²/n_h = Σ n_h·s_h² / N² over the strata h.
    return float(np.sqrt(np.sum(count * squares / np.maximum(count - 1, 1))) / len(values))


def welch(one: Moments, two: Moments) -> tuple[Estimate, float]:
    """Mean of one less that of the other, and the count that has Welch's degrees of freedom."""
    squared_errors = float(one.error) ** 2, float(two.error) ** 2
    error = math.sqrt(sum(squared_errors))
    # Welch and Satterthwaite: (Σ e²)² / Σ e⁴/(n−1).
    spare = squared_errors[0] ** 2 / (one.count - 1) + squared_errors[1] ** 2 / (two.count - 1)
    freedom = error**4 / spare if spare else math.inf
    return Estimate(float(one.mean - two.mean), error), float(freedom + 1)


def share_interval(hits: float, count: float, level: float = 0.95) -> tuple[float, float]:
    """Interval for a probability from `hits` of `count` (Clopper and Pearson, 1934).

    Both may be fractions, where rows are worth less than one each.

    >>> low, high = share_interval(20, 20)
    >>> round(low, 3), high
    (0.832, 1.0)
    """
    # Quantiles of Beta(k, n−k+1) and Beta(k+1, n−k), where the binomial tails are `tail`.
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, count - hits + 1, tail))
    high = 1.0 if hits == count else float(betaincinv(hits + 1, count - hits, 1 - tail))
    return low, high


def paired_share_interval(
    more: float, fewer: float, count: float, level: float = 0.95
) -> tuple[float, float]:
    """Interval for the difference of two shares of the same rows.

    The wider of Tango's score interval (1998) and the one that follows from McNemar's exact test
    among rows that differ: the first knows that their number is chance too, the second holds
    for few of them.

    Parameters
    ----------
    more, fewer
        Rows that count for the first alone, and for the second alone; fractions where rows are
        worth less than one each.
    count
        All rows; those that count for both or for neither among them.
    level
        How often the interval holds the truth.

    Examples
    --------
    >>> low, high = paired_share_interval(9, 1, 100)
    >>> round(low, 3), round(high, 3)
    (0.011, 0.154)
    """
    score = _score_interval(more, fewer, count, level)
    # Among the rows that differ the first wins with θ: a difference of m/n·(2θ − 1).
    exact = share_interval(more, more + fewer, level) if more + fewer else (0.5, 0.5)
    differing = (more + fewer) / count
    low, high = (differing * (2 * share - 1) for share in exact)
    return min(score[0], low), max(score[1], high)


def _score_interval(more: float, fewer: float, count: float, level: float) -> tuple[float, float]:
    """All differences whose score statistic is within its quantile (Tango, 1998)."""
    from scipy.optimize import brentq

    reach = float(ndtri(0.5 + level / 2))
    difference = (more - fewer) / count

    def within(other: float, sign: int) -> float:
        """Above 0 where another difference would not be rejected."""
        # The share of `fewer` that fits best, the root of A·q² + B·q + C with A = 2n.
        slope = (2 * count - more + fewer) * other - more - fewer
        product = -fewer * other * (1 - other)
        share = (math.sqrt(max(slope**2 - 8 * count * product, 0.0)) - slope) / (4 * count)
        variance = count * (2 * share + other * (1 - other))
        # Both sides times the standard error, so that nothing is divided by 0 at the ends.
        return reach * math.sqrt(max(variance, 0.0)) - sign * count * (difference - other)

    low, high = -1.0, 1.0
    # Just beside the difference itself, where the error may be 0.
    if difference > -1:
        low = float(brentq(within, -1.0, difference - 1e-9, args=(1,)))
    if difference < 1:
        high = float(brentq(within, difference + 1e-9, 1.0, args=(-1,)))
    return low, high


class Rate(NamedTuple):
    """A share and its 95% interval (Clopper and Pearson).

    >>> print(Rate.of(3, 4))
    75.0% [19.4%, 99.4%]
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, count: int) -> Rate:
        """The share of `hits` in `count`; unknown where nothing was counted."""
        if not count:
            return cls(float("nan"), 0.0, 1.0)
        return cls(hits / count, *share_interval(hits, count))

    def __str__(self) -> str:
        return f"{self.value:.1%} [{self.low:.1%}, {self.high:.1%}]"


def _divided(values: Array, by: Array) -> Array:
    """A quotient that is NaN where the divisor is not above 0."""
    by = np.asarray(by, dtype=float)
    return np.divide(values, by, out=np.full(np.shape(values), np.nan), where=by > 0)
