"""Upper bounds on what a stream does while nothing has changed, from a finite reference.

An e-value must not exceed 1 on average under the *true* law of the reference, of which only a
sample is known. So each average is replaced by an upper confidence bound, valid for any law.
"""

from __future__ import annotations

import numpy as np

from anharmonic.moments import share_interval
from anharmonic.protocols import Floats
from anharmonic.randomness import generator

__all__ = ["clipped_mean_bound", "exceedance_bound", "mean_bound", "order_statistic"]

HALVINGS = 24
MOST = 0.9
"""Of the largest stake that cannot lose everything."""


def order_statistic(ordered: Floats, share: float) -> tuple[float, int]:
    """The smallest value that at least a share of the reference does not exceed, and its rank."""
    rank = int(np.clip(np.ceil(share * len(ordered)), 1, len(ordered)))
    return float(ordered[rank - 1]), rank


def exceedance_bound(ordered: Floats, rank: int, error: float) -> float:
    """Upper bound on the chance to exceed the order statistic of a rank (Clopper and Pearson).

    The chance to exceed the k-th of m independent values is at most a Beta(m−k+1, k) variable
    whatever the law, so the bound holds though the threshold was taken from the same data. Where
    others tie with the k-th, a bound on the share of the larger ones that do not comes on top:
    given the k-th they are an independent sample.

    >>> round(exceedance_bound(np.arange(100.0), 90, 0.05), 4)
    0.1637
    """
    count = len(ordered)
    larger = count - int(np.searchsorted(ordered, ordered[rank - 1], side="right"))
    if larger == count - rank:
        return share_interval(larger, count, 1 - 2 * error)[1]
    beyond = share_interval(count - rank, count, 1 - error)[1]
    return beyond * share_interval(larger, count - rank, 1 - error)[1]


def mean_bound(values: Floats, error: float, seed: int = 0) -> float:
    """Upper bound, wrong with chance `error`, on the mean of independent values in [0, 1].

    Bet against each candidate mean on the values in random order; a bet that multiplies its
    stake by 1/error refutes the candidate (Waudby-Smith and Ramdas, 2024). The bound adapts
    to the spread as Student's does, and unlike his holds for every law.

    >>> bool(0.5 < mean_bound(np.tile([0.0, 1.0], 500), 0.01) < 0.56)
    True
    """
    values = generator(seed, 70).permutation(values)
    count = np.arange(1, len(values) + 1)
    mean = (0.5 + np.cumsum(values)) / (count + 1)
    spread = (0.25 + np.cumsum((values - mean) ** 2)) / (count + 1)
    # A stake may depend on earlier values only.
    before = np.concatenate(([0.25], spread[:-1]))
    stakes = np.sqrt(2 * np.log(1 / error) / (len(values) * before))
    standing, refuted = float(values.mean()), 1.0
    # Every bet wins more against a larger candidate, so halving finds where they are refuted.
    for _ in range(HALVINGS):
        candidate = (standing + refuted) / 2
        safe = np.minimum(stakes, MOST / (1 - candidate))
        capital = np.cumsum(np.log1p(safe * (candidate - values)))
        if capital.max() < np.log(1 / error):
            standing = candidate
        else:
            refuted = candidate
    return refuted


def clipped_mean_bound(
    ordered: Floats, ranks: tuple[int, int], error: float, seed: int = 0
) -> float:
    """Upper bound on the mean of (value clipped at two order statistics), scaled to [0, 1].

    Given the two, what lies between them is an independent sample and what lies outside counts
    as an end, with a chance that is a Beta variable. Each of the three is bounded apart; the
    ends matter little, so they are allowed a tenth of the error each.
    """
    low, high = ranks
    bottom, top = ordered[low - 1], ordered[high - 1]
    count = len(ordered)
    between = (ordered[low : high - 1] - bottom) / (top - bottom)
    middle = mean_bound(between, 0.8 * error, seed) if len(between) else 1.0
    # Less weight below either rank than there seems to be makes the mean larger.
    below = share_interval(low, count + 1, 1 - 0.2 * error)[0] if low > 1 else 0.0
    inside = 1 - exceedance_bound(ordered, high, 0.1 * error)
    return float(max(inside - below, 0.0) * middle + (1 - inside))
