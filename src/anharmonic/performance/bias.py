"""What labels say of an estimate's bias, window after window, when each has only a few.

The bias is a level that wanders: b_t = b_{t−1} + N(0, q), b_0 ~ N(0, p), and the labels of a
window see it with a variance v. Kalman's filter gives each window's bias from its own labels and
those before it (West and Harrison, 1997, chapter 2), averaged over p and q by how likely the labels
were under them.
"""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats

__all__ = ["follow_bias"]

STEPS = (0.0, 0.01, 0.05, 0.2, 1.0)
"""q as shares of p."""
SCALES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
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
    # A reference that knows of no shift at all still allows for a small one.
    expected = max(prior, 1e-3 * float(np.median(variances[known])))
    logs, fits = [], []
    for scale in SCALES:
        for step in STEPS:
            mean, variance, likelihood = _filter(
                seen, variances, scale * expected, step * scale * expected
            )
            # A normal prior on the logarithm: a factor of ten is one standard deviation.
            logs.append(likelihood - 0.5 * np.log10(scale) ** 2)
            fits.append((mean, variance))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    means, variances = (np.array(part) for part in zip(*fits, strict=True))
    mean = weights @ means
    # Within the settings, and between them.
    return mean, weights @ (variances + (means - mean) ** 2)


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
