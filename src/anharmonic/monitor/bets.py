"""Bets that grow when scores rise, and on average do not while nothing has changed.

For a value y in [0, 1] whose mean is at most m, e = 1 + λ·(y/m − 1) is an e-value for every
λ in [0, 1]: never negative, at most 1 on average. Several values of a score are bet on, each
with several λ: the score itself, clipped, and whether it exceeds the reference's upper
percentiles. Where many scores tie at the lowest value (zeros), those percentiles give way to
whether a score is above the tie, and to how large it is if so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import share_interval
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.monitor.bounds import mean_bound
from anharmonic.monitor.dependence import FEWEST

__all__ = ["Bets", "averaged", "fitted_bets"]

SHARES = (0.80, 0.90, 0.97)
"""The reference's percentiles that a score may exceed."""
CLIP, REACH = (0.01, 0.95), 2.0
"""Scores are clipped at the first percentile, and twice as far from it as the last is."""
TIED = 0.5
"""The share of scores at the lowest value from which on they are a tie."""
PARTS, TIED_PARTS = (0.4, 0.2, 0.2, 0.2), (0.05, 0.75, 0.2)
"""Each value's part of the evidence, and of the error that bounds may have."""
RISES, RISE_PARTS = (1.25, 1.5, 3.0), (0.15, 0.7, 0.15)
"""By what factor a mean rises in the cases that the bets are best at, and each bet's part."""
TIMIDEST, BOLDEST = 0.01, 0.95
"""The range of λ: below 1, so that no single score loses everything."""
FEWEST_APART = 5
"""Scores above a tie that must be among those that say what to bet on."""


@dataclass(frozen=True)
class Bets:
    """Rises of a score, bet on: all that is kept of a reference.

    Parameters
    ----------
    sign
        −1 turns the score round, so that falls are bet on.
    clips : (1 or 2, 2)
        Where the score is clipped: always, and if it is above the tie.
    thresholds : (thresholds,)
        What the score may exceed, the tie's being the first.
    bounds : (values,)
        The largest means that the reference allows, in the order of clips and thresholds.
    stakes : (values, rises)
        The λ of each value's bets.
    weights : (values, rises)
        Each bet's part of the evidence; they add up to 1.
    """

    sign: int
    clips: Floats
    thresholds: Floats
    bounds: Floats
    stakes: Floats
    weights: Floats

    def values(self, scores: Floats) -> Floats:
        """What is bet on, in [0, 1]: scores (n,) to (values, n)."""
        values = _values_of(self.sign * scores, self.clips, self.thresholds)
        if len(self.clips) > 1:
            # Row 1 is the size above the tie, row 2 whether a score is above it. A score in the
            # tie says nothing about sizes: its y is the bound, so that its e-value is exactly 1.
            values[1, values[2] != (self.sign > 0)] = self.bounds[1]
        return values

    def multipliers(self, values: Floats) -> Floats:
        """The e-values (values × rises, n) of averages over blocks (values, n)."""
        # e = 1 + λ·(y/m − 1); gain (values, n), its product with the stakes (values, rises, n).
        gain = values / self.bounds[:, None] - 1.0
        return (1.0 + gain[:, None, :] * self.stakes[:, :, None]).reshape(-1, values.shape[1])


def _values_of(scores: Floats, clips: Floats, thresholds: Floats) -> Floats:
    """Clipped scores, scaled to [0, 1], and exceedances (0 or 1): (clips + thresholds, n)."""
    values = np.empty((len(clips) + len(thresholds), len(scores)))
    for row, (low, high) in zip(values, clips, strict=False):
        # Of a reference that never varies, whatever is above it is a rise.
        row[:] = (np.clip(scores, low, high) - low) / (high - low) if high > low else scores > high
    values[len(clips) :] = scores > thresholds[:, None]
    return values


def fitted_bets(reference: Floats, sign: int, block: int, error: float, seed: int = 0) -> Bets:
    """Bets against a reference; the chance that any of their bounds is wrong is at most `error`.

    A tenth of the reference, at random, says what to bet on; what that does usually is learned
    from the rest, to which it is fixed. With blocks of several scores, averages over the
    reference's own blocks stand for independent values: that is what the block's length is
    chosen for.
    """
    if len(reference) < FEWEST * block:
        raise PointsError(
            f"a reference of {len(reference)} scores in blocks of {block} is too small to say what "
            f"is usual: give at least {FEWEST * block}"
        )
    # Sample splitting: with single scores, what clips and thresholds are taken from is kept out
    # of the bounds.
    order = generator(seed, Stream.BET_ORDER).permutation(len(reference))
    aside = max(len(reference) // 10, min(FEWEST, len(reference) // 2))
    clips, thresholds = _clips_and_thresholds(reference[order[:aside]], sign, tie=block == 1)
    if block > 1:
        # Block means need the reference's own order, so all of it is used.
        rows = list(averaged(_values_of(sign * reference, clips, thresholds), block))
    else:
        rows = list(_values_of(sign * reference[order[aside:]], clips, thresholds))
    parts = np.array(PARTS)
    if len(clips) > 1:
        # Sizes are learned from the scores above the tie alone: row 1 becomes shorter.
        parts, rows[1] = np.array(TIED_PARTS), rows[1][rows[2] == (sign > 0)]
    # Bonferroni: the values' errors, each its part, add up to `error`. Exceedances of single
    # scores are coin tosses, for which Clopper and Pearson's bound is exact.
    bounds = np.array(
        [
            mean_bound(row, part, seed)
            if number < len(clips) or block > 1
            else _share_bound(row, part)
            for number, (row, part) in enumerate(zip(rows, error * parts, strict=True))
        ]
    )
    weights = np.outer(parts, RISE_PARTS)
    return Bets(sign, clips, thresholds, bounds, _stakes(rows, bounds), weights)


def _clips_and_thresholds(scores: Floats, sign: int, *, tie: bool) -> tuple[Floats, Floats]:
    """Where to clip a score that is turned by `sign`, and the thresholds that it may exceed."""
    lowest = scores.min()
    above = scores[scores > lowest]
    if not tie or len(above) > (1 - TIED) * len(scores) or len(above) < FEWEST_APART:
        thresholds = np.quantile(sign * scores, SHARES, method="inverted_cdf")
        return _clip_range(sign * scores)[None], thresholds
    # What is turned round exceeds the number next below the tie by being in it.
    edge = lowest if sign > 0 else np.nextafter(-lowest, -np.inf)
    return np.stack([_clip_range(sign * scores), _clip_range(sign * above)]), np.array([edge])


def _clip_range(scores: Floats) -> Floats:
    """Lowest and highest value that a score is clipped to (winsorising), (2,)."""
    low, high = np.quantile(scores, CLIP)
    return np.array([low, low + REACH * (high - low)])


def _share_bound(hits: Floats, error: float) -> float:
    """Upper bound, wrong with chance `error`, on the chance to be 1 (Clopper and Pearson)."""
    return share_interval(int(hits.sum()), len(hits), 1 - 2 * error)[1]


def _stakes(rows: list[Floats], bounds: Floats) -> Floats:
    """The λ that win most if the mean rises by each of `RISES`, to second order.

    A gain y/m − 1 with mean g and variance v wins most, in logarithms, at about g/(v + g²); v is
    taken from the reference. What its bound leaves nothing to win on is bet on timidly, and so
    is what never varied, so that one surprise is no alarm.
    """
    means, spreads = (
        np.array([statistic(row) if len(row) else 0.0 for row in rows])
        for statistic in (np.mean, np.std)
    )
    # g and v of each value under each rise: (values, rises). A value in [0, 1] has mean ≤ 1.
    gains = np.minimum(np.outer(means, RISES), 1.0) / bounds[:, None] - 1.0
    variances = np.broadcast_to((spreads / bounds)[:, None] ** 2, gains.shape)
    # Kelly's stake to second order, λ = g/(v + g²).
    stakes = np.divide(gains, variances + gains**2, out=np.zeros_like(gains), where=variances > 0)
    return np.asarray(np.clip(stakes, TIMIDEST, BOLDEST))


def averaged(values: Floats, block: int) -> Floats:
    """Means (columns, blocks) of whole blocks of values (columns, n), the rest left out.

    Added one by one, so that the same values give the same bits in any batch.
    """
    blocks = values.shape[1] // block
    parts = values[:, : blocks * block].reshape(len(values), blocks, block)
    # numpy's own sum adds in pairs, in an order that depends on the array's shape.
    total = parts[..., 0].copy()
    for position in range(1, block):
        total += parts[..., position]
    return np.asarray(total / block)
