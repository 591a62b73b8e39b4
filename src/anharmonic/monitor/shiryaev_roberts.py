"""Shiryaev–Roberts sums R = (1 + R)·e of many bets at once: a scan, the same bits in any cut.

Within a period of steps R = P·(R₀ + Σ 1/P′), with P the product of the e-values so far and P′
the product before each step. All terms are positive, so nothing cancels. Products and sums are
carried over from call to call and periods begin at fixed steps: a stream fed one by one or all
at once goes through the same operations in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers

__all__ = ["PERIOD", "Sums", "added", "no_sums"]

PERIOD = 32
"""Steps whose e-values are multiplied before starting anew: few enough to stay within floats."""


class Sums(NamedTuple):
    """Where the bets stand, in the middle of a period.

    `begun` (2, bets): R at the period's beginning and, beneath it, the same sum with each start
    weighted by its row. `product` (bets,) and `parts` (2, bets): P and Σ 1/P′ since then.
    """

    begun: Floats
    product: Floats
    parts: Floats

    @property
    def now(self) -> Floats:
        """R and the weighted sum, (2, bets)."""
        return self.product * (self.begun + self.parts)


def no_sums(bets: int) -> Sums:
    """Before the first step."""
    return Sums(np.zeros((2, bets)), np.ones(bets), np.zeros((2, bets)))


def added(
    sums: Sums, multipliers: Floats, rows: Integers, steps: int, highest: Floats
) -> tuple[Sums, Floats]:
    """Take e-values (bets, n) in, the first of them after `steps` earlier ones.

    Gives the sums after the last step and R, beneath it the weighted sum, after every step:
    (2, bets, n). R is brought back to `highest` (bets,) where a period ends above it.
    """
    bets, count = multipliers.shape
    # Steps of the present period that are done already; arrays begin at that period's beginning.
    before = steps % PERIOD
    periods = -(-(before + count) // PERIOD)
    steps_held = periods * PERIOD
    new = slice(before, before + count)
    factors = np.ones((bets, steps_held))
    factors[:, new] = multipliers
    if before:
        # The product so far stands for all factors of the period that came before.
        factors[:, before - 1] = sums.product
    # P after each step, from each period's beginning: (bets, periods, PERIOD).
    products: Floats = np.multiply.accumulate(factors.reshape(bets, periods, PERIOD), axis=2)
    parts = np.zeros((2, bets, steps_held))
    # 1/P′, P′ being the product before a step: 1 at a period's first.
    inverse = np.ones((bets, periods, PERIOD))
    np.divide(1.0, products[..., :-1], out=inverse[..., 1:])
    parts[0, :, new] = inverse.reshape(bets, steps_held)[:, new]
    # The weighted sum has each start's row as its weight: their ratio dates the change.
    np.multiply(parts[0, :, new], rows, out=parts[1, :, new])
    if before:
        parts[..., before - 1] = sums.parts
    # Σ 1/P′ within each period: (2, bets, periods, PERIOD).
    parts = np.cumsum(parts.reshape(2, bets, periods, PERIOD), axis=3)
    begun = np.empty((2, bets, periods))
    start = sums.begun
    for period in range(periods):
        begun[..., period] = start
        # R at the period's end, P·(R₀ + Σ 1/P′), is the next one's R₀: (2, bets).
        start = products[:, period, -1] * (start + parts[:, :, period, -1])
        # Both rows are scaled alike, so that the date of the change stays.
        start = start * np.minimum(1.0, highest / np.maximum(start[0], 1.0))
    history = (products * (begun[..., None] + parts)).reshape(2, bets, steps_held)[..., new]
    return _sums_after(before + count, sums, start, begun, products, parts), history


def _sums_after(
    step: int, sums: Sums, start: Floats, begun: Floats, products: Floats, parts: Floats
) -> Sums:
    """The sums after a step that is counted from the first period's beginning."""
    if step == 0:
        return sums
    if step % PERIOD == 0:
        # A new period begins: no factors yet, R₀ as the last one left it.
        return no_sums(len(products))._replace(begun=start)
    period, inside = divmod(step - 1, PERIOD)
    return Sums(
        begun[..., period].copy(),
        products[:, period, inside].copy(),
        parts[:, :, period, inside].copy(),
    )
