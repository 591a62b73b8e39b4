"""Upper bounds on what a stream does while nothing has changed, from a finite reference.

An e-value must not exceed 1 on average under the *true* law of the reference, of which only a
sample is known. So each average is replaced by an upper confidence bound, valid for any law.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import ndtri_exp

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream

__all__ = ["mean_bound"]

STEP, STRIDE, SMALLEST = 0.001, 32, 1e-4
"""Candidates are 0.1% apart, from 1 down to 1e-4; every 32nd is tried first."""
FIRST = 0.05
"""Of the error, for the first trial."""
PIECES = 128
"""How often stakes are set anew."""
AIM = 1.1
"""How far beyond the goal a bet plays: what aims at it exactly ends just short of it."""
MOST = 0.98
"""Of the largest stake that cannot lose everything."""


def mean_bound(values: Floats, error: float, seed: int = 0) -> float:
    """Upper bound, wrong with chance `error`, on the mean of independent values in [0, 1].

    A bet against a candidate, on the values in random order, refutes it and all larger ones by
    multiplying its stake by 1/error (Waudby-Smith and Ramdas, 2024). Candidates are a fixed
    sequence, tried from 1 downwards until one stands: the bound is wrong only if the one next
    below the true mean was refuted, so that trying many costs nothing.

    >>> bool(0.5 < mean_bound(np.tile([0.0, 1.0], 500), 0.01) < 0.56)
    True
    """
    if not len(values):
        return 1.0
    values = generator(seed, Stream.BOUND_HALVES).permutation(values)
    lowest = int(np.log(max(float(values.mean()), SMALLEST)) / np.log1p(-STEP))
    far = np.arange(0, lowest + 1, STRIDE)
    begun = far[_refuted(values, far, FIRST * error)]
    near = np.arange(begun, lowest + 1)
    return float((1 - STEP) ** near[_refuted(values, near, (1 - FIRST) * error)])


def _refuted(values: Floats, places: Integers, error: float) -> int:
    """Up to which of the candidates (1 − STEP)^place every one is refuted; that of 1 counts."""
    capital = _highest(values, np.power(1 - STEP, places, dtype=np.float64), error)
    standing = np.flatnonzero(capital[1:] < -np.log(error))
    return int(standing[0]) if len(standing) else len(places) - 1


def _highest(values: Floats, candidates: Floats, error: float) -> Floats:
    """The highest log capital, on its way, of a bet against each candidate.

    The stake is the one by which Brownian motion most likely reaches 1/error just in time
    (Browne, 1999): the normal quantile of the chance that is left. For many values the bound is
    thus as close as Student's, and unlike his it holds for every law, as a stake depends on
    earlier values only.
    """
    count = np.arange(1, len(values) + 1)
    mean = (0.5 + np.cumsum(values)) / (count + 1)
    spread = (0.25 + np.cumsum((values - mean) ** 2)) / (count + 1)
    before = np.concatenate(([0.25], spread[:-1]))
    capital = highest = np.zeros(len(candidates))
    edges = np.unique(np.linspace(0, len(values), PIECES + 1).astype(int))
    for start, stop in pairwise(edges):
        chance = np.minimum(capital + np.log(error / AIM), -1e-9)
        pull = np.exp(-(ndtri_exp(chance) ** 2) / 2 - chance) / np.sqrt(2 * np.pi)
        stakes = pull / np.sqrt(before[start] * (len(values) - start))
        safe = np.minimum(stakes, MOST / np.maximum(1 - candidates, 1e-12))
        gains = np.log1p(safe * (candidates - values[start:stop, None]))
        path = capital + np.cumsum(gains, axis=0)
        capital, highest = path[-1], np.maximum(highest, path.max(axis=0))
    return np.asarray(highest)
