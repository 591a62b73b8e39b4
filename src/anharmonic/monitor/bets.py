"""Bets that grow when scores rise, and on average do not while nothing has changed.

For a value y in [0, 1] whose mean is at most m, e = 1 + λ·(y/m − 1) is an e-value for every
λ in [0, 1]: never negative, at most 1 on average. Four values of a score are bet on, each with
several λ: the score itself, clipped, and whether it exceeds the reference's upper percentiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anharmonic.errors import PointsError
from anharmonic.monitor.bounds import (
    clipped_mean_bound,
    exceedance_bound,
    mean_bound,
    order_statistic,
)
from anharmonic.protocols import Floats

__all__ = ["EFFECTS", "SHARES", "Bets", "averaged", "fitted_bets"]

SHARES = (0.80, 0.90, 0.97)
CLIP = (0.01, 0.99)
EFFECTS = (0.1, 0.25, 0.6, 1.5)
"""Shifts of a mean that the bets are best at, in standard deviations of a block's average."""
BOLDEST = 0.95
FEWEST = 30
"""Values that a reference must have: below that no bound says anything."""


@dataclass(frozen=True)
class Bets:
    """Rises of a score, bet on: all that is kept of a reference.

    `sign` −1 turns the score round, so that falls are bet on. `low` and `high` are where the
    score is clipped, `thresholds` (shares,) what it may exceed, `bounds` (values,) the largest
    means that the reference allows and `stakes` (values, effects) the λ.
    """

    sign: int
    low: float
    high: float
    thresholds: Floats
    bounds: Floats
    stakes: Floats

    def values(self, scores: Floats) -> Floats:
        """What is bet on, in [0, 1]: scores (n,) to (values, n)."""
        return _values(self.sign * scores, self.low, self.high, self.thresholds)

    def multipliers(self, values: Floats) -> Floats:
        """The e-values (values × effects, n) of averages over blocks (values, n)."""
        gain = values / self.bounds[:, None] - 1.0
        return (1.0 + gain[:, None, :] * self.stakes[:, :, None]).reshape(-1, values.shape[1])


def _values(scores: Floats, low: float, high: float, thresholds: Floats) -> Floats:
    values = np.empty((1 + len(thresholds), len(scores)))
    if high > low:
        values[0] = (np.clip(scores, low, high) - low) / (high - low)
    else:
        # A reference that never varies: whatever is above it is a rise.
        values[0] = scores > high
    values[1:] = scores > thresholds[:, None]
    return values


def fitted_bets(reference: Floats, sign: int, block: int, error: float, seed: int = 0) -> Bets:
    """Bets against a reference; each of their bounds is wrong with chance `error`.

    With blocks of several scores, averages over the reference's own blocks stand for
    independent values: that is what the block's length is chosen for.
    """
    if len(reference) < FEWEST * block:
        raise PointsError(
            f"a reference of {len(reference)} scores in blocks of {block} is too small to say what "
            f"is usual: give at least {FEWEST * block}"
        )
    scores = sign * reference
    ordered = np.sort(scores)
    (low, first), (high, last) = (order_statistic(ordered, share) for share in CLIP)
    thresholds, ranks = zip(*(order_statistic(ordered, share) for share in SHARES), strict=True)
    edges = np.array(thresholds)
    averages = averaged(_values(scores, low, high, edges), block)
    if block > 1:
        bounds = [mean_bound(column, error, seed) for column in averages]
    else:
        mean = (
            clipped_mean_bound(ordered, (first, last), error, seed)
            if high > low
            else exceedance_bound(ordered, last, error)
        )
        bounds = [mean, *(exceedance_bound(ordered, rank, error) for rank in ranks)]
    limits = np.array(bounds)
    return Bets(sign, low, high, edges, limits, _stakes(averages, limits))


def _stakes(averages: Floats, bounds: Floats) -> Floats:
    """The λ that win most if the mean shifts by each of `EFFECTS`, to first order."""
    spread = averages.std(axis=1)
    usual = np.divide(bounds, spread, out=np.zeros_like(bounds), where=spread > 0)
    # What never varied in the reference is bet on timidly, so that one surprise is no alarm.
    return np.asarray(np.clip(usual[:, None] * np.array(EFFECTS), 0.01, BOLDEST))


def averaged(values: Floats, block: int) -> Floats:
    """Means (columns, blocks) of whole blocks of values (columns, n), the rest left out.

    Added one by one, so that the same values give the same bits in any batch.
    """
    whole = values.shape[1] // block
    parts = values[:, : whole * block].reshape(len(values), whole, block)
    total = parts[..., 0].copy()
    for place in range(1, block):
        total += parts[..., place]
    return np.asarray(total / block)
