"""Rows that a proposal had no part of, and what is measured on them, row by row.

A reference that can be fitted to anew is cut into folds: everything that a proposal needs is
found on the other folds, and measured on the one that was left out. Copies of a row are in one
fold, so that nothing is measured on a row that was fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import InputError
from anharmonic.fixes.refitting import Data
from anharmonic.measures.over_data.distinct import row_keys
from anharmonic.measures.over_data.encoding import encode
from anharmonic.performance.result import Interval
from anharmonic.regions import unmoved

__all__ = ["FEWEST", "Fold", "Gain", "cut_folds", "measured_gain", "random_half"]

FEWEST = 30
"""Held-out rows below which nothing is measured."""


class Fold(NamedTuple):
    """Rows to find and fit on, and rows to measure on, with their numbers in the reference.

    `number` tells folds apart. The numbers of held-out rows that are no reference rows start
    after the reference's.
    """

    number: int
    found_on: Data
    held_out: Data
    found_rows: Integers
    held_rows: Integers


class Gain(NamedTuple):
    """What a proposal changes on held-out rows: means before and after, and the difference.

    Parameters
    ----------
    before, after
        Means over the rows.
    interval
        Of the mean difference, with its lower and upper end.
    rows
        How many were measured.
    """

    before: float
    after: float
    interval: Interval
    rows: int

    @property
    def shown(self) -> bool:
        """Whether the interval lies above 0."""
        return self.interval.low > 0

    def against(self, others: str) -> str:
        """The same where `after` and `before` are of different rows: these and `others`."""
        low, high = self.interval.low, self.interval.high
        return (
            f"{self.after:.3f} against {self.before:.3f} {others}, a difference of "
            f"{self.interval.value:+.3f} [{low:+.3f}, {high:+.3f}] ({self.rows:,} held-out rows)"
        )

    def __str__(self) -> str:
        low, high = self.interval.low, self.interval.high
        return (
            f"{self.interval.value:+.3f} [{low:+.3f}, {high:+.3f}] "
            f"({self.before:.3f} to {self.after:.3f}, {self.rows:,} held-out rows)"
        )


def cut_folds(reference: Data, held_out: Data | None, folds: int, seed: int) -> Sequence[Fold]:
    """Folds of the reference, or the one that was given: fitted to the reference, measured on
    rows that are held out.
    """
    every = np.arange(len(reference))
    if held_out is not None:
        _check(len(held_out))
        further = len(reference) + np.arange(len(held_out))
        return [Fold(0, reference, held_out, every, further)]
    _check(len(reference))
    fold = _fold_of_each(reference, folds, seed)
    parts = []
    for number in range(folds):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        parts.append(Fold(number, reference.take(inside), reference.take(outside), inside, outside))
    return parts


def _check(rows: int) -> None:
    if rows < FEWEST:
        raise InputError(
            f"{rows} rows to measure on: proposals need at least {FEWEST}, and say little below "
            "some hundred"
        )


def _fold_of_each(data: Data, folds: int, seed: int) -> Integers:
    """Folds along a random order of distinct rows within each class, (rows,)."""
    keys = row_keys(encode([unmoved(data.rows)], None).words(), seed)
    texts = np.array([str(label) for label in data.labels.tolist()])
    numbers = data.labels.dtype.kind == "f"
    # Copies share a key, and with it a place in the order, whatever their labels.
    distinct, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    shuffled = generator(seed, Stream.FIX_FOLDS).permutation(len(distinct))
    strata = np.zeros(len(distinct)) if numbers else np.unique(texts[first], return_inverse=True)[1]
    order = np.lexsort((shuffled, strata))
    fold = np.empty(len(distinct), dtype=np.int64)
    fold[order] = np.arange(len(distinct)) % folds
    return fold[of_row.reshape(-1)]


def random_half(rows: int, seed: int, *address: int) -> tuple[Integers, Integers]:
    """Two halves of so many rows at random, each in ascending order."""
    order = generator(seed, Stream.FIX_HALVES, *address).permutation(rows)
    return np.sort(order[: rows // 2]), np.sort(order[rows // 2 :])


def measured_gain(before: Sequence[Floats], after: Sequence[Floats], level: float) -> Gain:
    """The mean difference of scores, paired row by row, fold by fold, with Student's interval.

    The error is that of the rows, or that between folds where it is larger: fits to parts of the
    same data vary too.
    """
    one, other = np.concatenate(before), np.concatenate(after)
    difference = other - one
    count = len(difference)
    value = float(difference.mean())
    error = float(difference.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
    if len(before) > 1:
        means = np.array([(b - a).mean() for a, b in zip(before, after, strict=True) if len(a)])
        if len(means) > 1:
            error = max(error, float(means.std(ddof=1)) / math.sqrt(len(means)))
    half = float(stdtrit(max(count - 1, 1), 0.5 + level / 2)) * error
    # Differences that never vary have no error: nothing was changed, or too little was seen.
    return Gain(
        float(one.mean()), float(other.mean()), Interval(value, value - half, value + half), count
    )
