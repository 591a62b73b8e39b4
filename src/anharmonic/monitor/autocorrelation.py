"""How long scores remember each other, and so how many to average before betting."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from anharmonic.protocols import Floats

__all__ = ["block_length", "correlation_time"]

BLOCKS_OF = 3.0
"""Block length in correlation times. Neighbouring blocks of an autoregressive stream then
correlate by less than 0.1, which the slack of the evidence covers: see benchmarks."""
LONGEST_SHARE = 60
"""At least this many blocks must fit in the reference."""


def correlation_time(values: Floats) -> float:
    """1 + 2·(sum of the autocorrelations), of ranks: how many values weigh as one.

    Lags are added in pairs while a pair stands out of the noise (Geyer, 1992).

    >>> correlation_time(np.arange(100.0) % 2)
    1.0
    """
    ranks = rankdata(values)
    ranks = ranks - ranks.mean()
    power = float(ranks @ ranks)
    if power == 0:
        return 1.0
    size = 1 << (2 * len(ranks) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(ranks, size)) ** 2
    correlations = np.fft.irfft(spectrum, size)[: len(ranks) // 4 + 2] / power
    noise = 4 / np.sqrt(len(ranks))
    total = 1.0
    for lag in range(1, len(correlations) - 1, 2):
        pair = float(correlations[lag] + correlations[lag + 1])
        if pair < noise:
            break
        total += 2 * pair
    return total


def block_length(values: Floats) -> int:
    """How many scores to average, from the reference in its own order; 1 if none remembers.

    >>> block_length(np.random.default_rng(0).normal(size=2000))
    1
    """
    time = correlation_time(values)
    if time == 1.0:
        return 1
    return int(np.clip(np.ceil(BLOCKS_OF * time), 2, max(2, len(values) // LONGEST_SHARE)))
