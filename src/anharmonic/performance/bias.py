"""What labels say of an estimate's bias, window after window, when each has only a few.

The bias is a level that wanders, b_t = b_{t−1} + N(0, q) with b_0 ~ N(0, p), and the labels of a
window see it with a variance v. Most likely p is a part of what intervals allow for, and few
labels then move little: it takes evidence that something else has happened, and they count in
full. Kalman's filter and Rauch's smoother give each window's bias from all labels (West and
Harrison, 1997, chapters 2 and 4), averaged over p and q by how likely the labels were under them.
"""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats

__all__ = ["smooth_bias"]

AS_EXPECTED = 0.85
"""The chance that the bias is of the size that the reference made one expect."""
TYPICAL = 0.25
"""Its variance as a share of what intervals allow for, which must do for the worst data."""
STEPS = np.array([0.0, 0.03, 0.3])
"""q as shares of p."""
SCALE = 10**0.5
"""Between one p and the next, up to `LARGEST` times what labels of one window can see."""
LARGEST = 100.0


def smooth_bias(seen: Floats, variances: Floats, shifts: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each window's bias, given all labels.

    Parameters
    ----------
    seen, variances : (windows,)
        The bias by a window's labels, and its variance; infinite where it has none.
    shifts : (windows,)
        The bias's variance that intervals allow for without labels.

    Examples
    --------
    >>> mean, variance = smooth_bias(np.full(20, -0.1), np.full(20, 1e-3), np.full(20, 1e-4))
    >>> round(float(mean[-1]), 2), bool(variance[-1] < 2e-4)
    (-0.1, True)
    """
    labelled = np.isfinite(variances)
    if not labelled.any():
        return np.zeros(len(seen)), shifts
    noise = float(np.median(variances[labelled]))
    usual = float(np.median(shifts))
    expected = TYPICAL * usual
    first = max(expected, 1e-3 * noise)
    further = int(max(1, np.ceil(np.log(LARGEST * noise / first) / np.log(SCALE))))
    levels = np.concatenate([[expected], first * SCALE ** np.arange(1, further + 1)])
    prior = np.concatenate([[AS_EXPECTED], np.full(further, (1 - AS_EXPECTED) / further)])
    p = np.repeat(levels, len(STEPS))
    means, spreads, logs = _smoothed(seen, variances, p, np.tile(STEPS, len(levels)) * p)
    weights = np.repeat(prior, len(STEPS)) * np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = means @ weights
    # Within the settings, and between them; and what a window is allowed beyond others.
    variance = (spreads + (means - mean[:, None]) ** 2) @ weights
    return mean, variance + np.maximum(shifts - usual, 0.0)


def _smoothed(
    seen: Floats, variances: Floats, p: Floats, q: Floats
) -> tuple[Floats, Floats, Floats]:
    """Means and variances (windows, settings) given all labels, and log likelihoods (settings,)."""
    means, spreads = np.zeros((2, len(seen), len(p)))
    mean, spread, logs = np.zeros(len(p)), p.copy(), np.zeros(len(p))
    for number, (value, noise) in enumerate(zip(seen, variances, strict=True)):
        if number:
            spread = spread + q
        if np.isfinite(noise):
            total = spread + noise
            logs -= 0.5 * (np.log(total) + (value - mean) ** 2 / total)
            gain = spread / total
            mean, spread = mean + gain * (value - mean), spread * (1 - gain)
        means[number], spreads[number] = mean, spread
    for number in range(len(seen) - 2, -1, -1):
        ahead = spreads[number] + q
        back = spreads[number] / np.maximum(ahead, 1e-300)
        means[number] += back * (means[number + 1] - means[number])
        spreads[number] += back**2 * (spreads[number + 1] - ahead)
    return means, spreads, logs
