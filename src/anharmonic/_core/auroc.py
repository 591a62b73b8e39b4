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
    return float(_placed(values, bad)[0].mean()) if _both(bad) else float("nan")


def auroc_interval(values: Array, bad: Array, level: float = 0.95) -> Auroc:
    """The same with an interval; unknown where there is no pair.

    >>> found = auroc_interval([0.1, 0.2, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1])
    >>> found.value, round(found.low, 2), found.high  # all in order, but only five
    (1.0, 0.44, 1.0)
    """
    if not _both(bad):
        return Auroc(float("nan"), float("nan"), float("nan"))
    of_bad, of_good = _placed(values, bad)
    value = float(of_bad.mean())
    many, few = len(of_bad), len(of_good)
    law = _variance(value, many, few)
    # One thing alone has no spread.
    spread = sum(float(each.var(ddof=1)) / len(each) for each in (of_bad, of_good) if len(each) > 1)
    reach = ndtri(0.5 + level / 2) ** 2 * (max(1.0, spread / law) if law > 0 else 1.0)

    def end(edge: float) -> float:
        inner, outer = value, edge
        for _ in range(GRID):
            middle = (inner + outer) / 2
            held = (value - middle) ** 2 <= reach * _variance(middle, many, few)
            inner, outer = (middle, outer) if held else (inner, middle)
        return inner

    return Auroc(value, end(0.0), end(1.0))


def _both(bad: Array) -> bool:
    chosen = np.asarray(bad, dtype=bool)
    return bool(chosen.any() and not chosen.all())


def _variance(value: float, many: int, few: int) -> float:
    """Hanley and McNeil's, symmetric in both kinds."""
    shared = (many + few) / 2 - 1
    spread = (1 - value) / (2 - value) + value / (1 + value)
    return value * (1 - value) / (many * few) * (1 + shared * spread)


def _placed(values: Array, bad: Array) -> tuple[Floats, Floats]:
    """The share of good things below each bad one, and of bad ones above each good one."""
    from scipy.stats import rankdata  # half a second to import, for few who need it

    chosen, numbers = np.asarray(bad, dtype=bool), np.asarray(values, dtype=float)
    ranks, above = rankdata(numbers), int(chosen.sum())
    below = len(numbers) - above
    of_bad = (ranks[chosen] - rankdata(numbers[chosen])) / below
    of_good = 1 - (ranks[~chosen] - rankdata(numbers[~chosen])) / above
    return of_bad, of_good
