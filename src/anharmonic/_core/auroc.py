"""How well a number ranks bad things above good ones, and an interval that small sets deserve.

The variance of an AUROC θ from m bad and n good things is near Hanley and McNeil's
V(θ) = θ(1−θ)/(mn) · (1 + (N−1)·((1−θ)/(2−θ) + θ/(1+θ))), N = (m+n)/2, and an interval holds all θ
with (θ̂−θ)² ≤ z²·V(θ) (Newcombe's fifth method, 2006). It needs no luck at the edge: where all
bad things rank above all good ones, a bootstrap sees no variation at all and says [1, 1]. Where
the things themselves vary more than that law (DeLong's variance), V grows by as much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from anharmonic._core.protocols import Array, Floats

__all__ = ["Auroc", "auroc", "auroc_interval"]

GRID = 64
"""Steps to an interval's end: each halves what is left."""


class Auroc(NamedTuple):
    """An AUROC and its interval."""

    value: float
    low: float
    high: float


def auroc(values: Array, bad: Array) -> float:
    """The chance that a bad thing has the larger value, ties half; NaN where there is no pair.

    >>> auroc([0.1, 0.2, 0.2], [False, False, True])
    0.75
    """
    return float(_placements(values, bad)[0].mean()) if _has_both(bad) else float("nan")


def auroc_interval(values: Array, bad: Array, level: float = 0.95) -> Auroc:
    """The same with an interval; unknown where there is no pair.

    >>> result = auroc_interval([0.1, 0.2, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1])
    >>> result.value, round(result.low, 2), result.high  # all in order, but only five
    (1.0, 0.44, 1.0)
    """
    if not _has_both(bad):
        return Auroc(float("nan"), float("nan"), float("nan"))
    of_bad, of_good = _placements(values, bad)
    value = float(of_bad.mean())
    bad_count, good_count = len(of_bad), len(of_good)
    hanley_mcneil = _variance(value, bad_count, good_count)
    # DeLong's variance, from the spread of both kinds' placements; one thing alone has none.
    delong = sum(
        float(placements.var(ddof=1)) / len(placements)
        for placements in (of_bad, of_good)
        if len(placements) > 1
    )
    inflation = max(1.0, delong / hanley_mcneil) if hanley_mcneil > 0 else 1.0
    factor = ndtri(0.5 + level / 2) ** 2 * inflation

    def end(edge: float) -> float:
        # Bisection for the θ farthest from θ̂ that still satisfies (θ̂−θ)² ≤ z²·V(θ).
        inner, outer = value, edge
        for _ in range(GRID):
            middle = (inner + outer) / 2
            inside = (value - middle) ** 2 <= factor * _variance(middle, bad_count, good_count)
            inner, outer = (middle, outer) if inside else (inner, middle)
        return inner

    return Auroc(value, end(0.0), end(1.0))


def _has_both(bad: Array) -> bool:
    is_bad = np.asarray(bad, dtype=bool)
    return bool(is_bad.any() and not is_bad.all())


def _variance(value: float, bad_count: int, good_count: int) -> float:
    """Hanley and McNeil's V(θ) with N of Newcombe's fifth method: symmetric in both kinds."""
    shared = (bad_count + good_count) / 2 - 1
    spread = (1 - value) / (2 - value) + value / (1 + value)
    return value * (1 - value) / (bad_count * good_count) * (1 + shared * spread)


def _placements(values: Array, bad: Array) -> tuple[Floats, Floats]:
    """The share of good things below each bad one, and of bad ones above each good one."""
    from scipy.stats import rankdata  # half a second to import, for few who need it

    is_bad, numbers = np.asarray(bad, dtype=bool), np.asarray(values, dtype=float)
    ranks, bad_count = rankdata(numbers), int(is_bad.sum())
    good_count = len(numbers) - bad_count
    # A rank among all less the rank among one's own kind counts the other kind below, ties half.
    of_bad = (ranks[is_bad] - rankdata(numbers[is_bad])) / good_count
    of_good = 1 - (ranks[~is_bad] - rankdata(numbers[~is_bad])) / bad_count
    return of_bad, of_good
