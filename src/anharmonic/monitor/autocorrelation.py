"""How long scores remember each other, and so how many to average before betting."""

from __future__ import annotations

import numpy as np

from anharmonic.protocols import Floats

__all__ = ["block_length", "correlation_time"]

BLOCKS_OF = 3.0
"""Block length in correlation times. Neighbouring blocks of an autoregressive stream then
correlate by less than 0.1, which the slack of the evidence covers: see benchmarks."""
CYCLE = 0.15
"""Autocorrelation from which coming round again counts as a cycle."""
LONGEST_SHARE = 60
"""At least this many blocks must fit in the reference."""


def autocorrelations(values: Floats) -> Floats:
    """Of the values' ranks, at lags 0 to a quarter of their number; all 0 if they never vary."""
    from scipy.stats import rankdata

    ranks = rankdata(values)
    ranks = ranks - ranks.mean()
    power = float(ranks @ ranks)
    lags = len(ranks) // 4 + 2
    if power == 0:
        return np.zeros(lags)
    size = 1 << (2 * len(ranks) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(ranks, size)) ** 2
    return np.asarray(np.fft.irfft(spectrum, size)[:lags] / power)


def correlation_time(values: Floats) -> float:
    """1 + 2·(sum of the autocorrelations): how many values weigh as one.

    Lags are added in pairs while a pair stands out of the noise (Geyer, 1992).

    >>> correlation_time(np.arange(100.0) % 2)
    1.0
    """
    correlations, noise = autocorrelations(values), 4 / np.sqrt(len(values))
    total = 1.0
    for lag in range(1, len(correlations) - 1, 2):
        pair = float(correlations[lag] + correlations[lag + 1])
        if pair < noise:
            break
        total += 2 * pair
    return total


def cycle(values: Floats, longest: int) -> int:
    """The lag after which values come round again, as by day and night; 1 if they do not.

    >>> cycle(np.sin(np.arange(2000) * 2 * np.pi / 48), 100)
    48
    """
    correlations = autocorrelations(values)[: longest + 1]
    fallen = np.flatnonzero(correlations[1:] < 2 / np.sqrt(len(values))) + 1
    if not len(fallen):
        return 1
    again = int(fallen[0] + np.argmax(correlations[fallen[0] :]))
    return again if correlations[again] > max(CYCLE, 4 / np.sqrt(len(values))) else 1


def block_length(values: Floats) -> int:
    """How many scores to average, from the reference in its own order; 1 if none remembers.

    A few correlation times, or a whole cycle where there is one and it is longer.

    >>> block_length(np.random.default_rng(0).normal(size=2000))
    1
    """
    time, longest = correlation_time(values), max(2, len(values) // LONGEST_SHARE)
    if time == 1.0:
        return 1
    return int(np.clip(max(np.ceil(BLOCKS_OF * time), cycle(values, longest)), 2, longest))
