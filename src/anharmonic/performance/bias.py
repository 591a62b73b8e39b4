"""What labels say of an estimate's bias, window after window, when each has only a few.

The bias is a level that wanders: b_t = b_{t−1} + N(0, q), b_0 ~ N(0, p), and the labels of a
window see it with a variance v. p and q are those under which the labels were most likely; then
Kalman's filter gives each window's bias from its own labels and those before it (West and
Harrison, 1997, chapter 2).
"""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats

__all__ = ["follow_bias"]

STEPS = (0.0, 0.01, 0.05, 0.2, 1.0)
"""q as shares of p."""
SCALES = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""p as multiples of what the reference made one expect."""


def follow_bias(seen: Floats, variances: Floats, prior: float) -> tuple[Floats, Floats]:
    """Mean and variance of the bias after each window.

    Parameters
    ----------
    seen, variances : (windows,)
        The bias by a window's labels, and its variance; infinite where it has none.
    prior
        The variance that the reference made one expect.

    Examples
    --------
    >>> mean, variance = follow_bias(np.full(20, -0.1), np.full(20, 1e-3), 1e-3)
    >>> round(float(mean[-1]), 2), bool(variance[-1] < 2e-4)
    (-0.1, True)
    """
    known = np.isfinite(variances)
    if not known.any():
        return np.zeros(len(seen)), np.full(len(seen), prior)
    # What the labels themselves can resolve is a floor: the reference may know of no shift at all.
    floor = max(prior, 0.1 * float(np.median(variances[known])))
    best, chosen = -np.inf, (floor, 0.0)
    for scale in SCALES:
        for step in STEPS:
            level = scale * floor
            # A weak wish for what was expected: one window must not undo the reference.
            wish = -0.5 * (np.log(scale) / np.log(10.0)) ** 2
            likelihood = _filter(seen, variances, level, step * level)[2] + wish
            if likelihood > best:
                best, chosen = likelihood, (level, step * level)
    mean, variance, _ = _filter(seen, variances, *chosen)
    return mean, variance


def _filter(seen: Floats, variances: Floats, p: float, q: float) -> tuple[Floats, Floats, float]:
    means, spreads = np.zeros(len(seen)), np.zeros(len(seen))
    mean, spread, likelihood = 0.0, p, 0.0
    for number, (value, noise) in enumerate(zip(seen, variances, strict=True)):
        spread += q if number else 0.0
        if np.isfinite(noise):
            total = spread + noise
            likelihood -= 0.5 * (np.log(total) + (value - mean) ** 2 / total)
            gain = spread / total
            mean, spread = mean + gain * (value - mean), spread * (1 - gain)
        means[number], spreads[number] = mean, spread
    return means, spreads, float(likelihood)
