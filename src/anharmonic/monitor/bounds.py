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
COARSE_PART = 0.05
"""Of the error, for the first trial of every 32nd candidate."""
PIECES = 128
"""How often stakes are set anew."""
OVERSHOOT = 1.1
"""How far beyond the goal a bet plays: what aims at it exactly ends just short of it."""
LARGEST_STAKE = 0.98
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
    # Candidate k is (1 − STEP)^k; below the sample mean none can be refuted.
    lowest = int(np.log(max(float(values.mean()), SMALLEST)) / np.log1p(-STEP))
    coarse = np.arange(0, lowest + 1, STRIDE)
    first = coarse[_last_refuted(values, coarse, COARSE_PART * error)]
    # From the last that the coarse trial refuted on, every candidate, with the rest of the error.
    fine = np.arange(first, lowest + 1)
    return float((1 - STEP) ** fine[_last_refuted(values, fine, (1 - COARSE_PART) * error)])


def _last_refuted(values: Floats, exponents: Integers, error: float) -> int:
    """Up to which of the candidates (1 − STEP)^exponent all are refuted, the first taken as so."""
    capital = _highest_capital(values, np.power(1 - STEP, exponents, dtype=np.float64), error)
    # Ville's inequality: a fair bet's capital ever reaches 1/error with chance error at most.
    standing = np.flatnonzero(capital[1:] < -np.log(error))
    return int(standing[0]) if len(standing) else len(exponents) - 1


def _highest_capital(values: Floats, candidates: Floats, error: float) -> Floats:
    """The highest log capital (candidates,), on its way, of a bet against each candidate.

    The stake is the one by which Brownian motion most likely reaches 1/error just in time
    (Browne, 1999): the normal quantile of the chance that is left. For many values the bound is
    thus as close as Student's, and unlike his it holds for every law, as a stake depends on
    earlier values only.
    """
    count = np.arange(1, len(values) + 1)
    # Running mean and variance, shrunk towards 1/2 and 1/4 as if one value had come before.
    mean = (0.5 + np.cumsum(values)) / (count + 1)
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / (count + 1)
    # Predictable: the variance before each value, (values,).
    before = np.concatenate(([0.25], variance[:-1]))
    capital = highest = np.zeros(len(candidates))
    edges = np.unique(np.linspace(0, len(values), PIECES + 1).astype(int))
    for start, stop in pairwise(edges):
        # Log of the chance p that is left to reach the goal: capital · error, below 1.
        chance = np.minimum(capital + np.log(error / OVERSHOOT), -1e-9)
        # Browne's stake φ(Φ⁻¹(p))/p / √(variance · values left), (candidates,).
        pull = np.exp(-(ndtri_exp(chance) ** 2) / 2 - chance) / np.sqrt(2 * np.pi)
        stakes = pull / np.sqrt(before[start] * (len(values) - start))
        # At most what keeps 1 + λ·(m − y) positive for every y ≤ 1.
        safe = np.minimum(stakes, LARGEST_STAKE / np.maximum(1 - candidates, 1e-12))
        # Capital multiplies by 1 + λ·(m − y) with each value: (values of the piece, candidates).
        gains = np.log1p(safe * (candidates - values[start:stop, None]))
        path = capital + np.cumsum(gains, axis=0)
        capital, highest = path[-1], np.maximum(highest, path.max(axis=0))
    return np.asarray(highest)
