"""Intervals of means and differences, for rows that may be copies and scores of any kind."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.statistics import (
    Moments,
    half_widths,
    paired_share_interval,
    share_interval,
    welch,
)
from anharmonic.fixes.copies import numbered

__all__ = [
    "FEWEST_COMPARED",
    "FEWEST_DIFFERING",
    "Group",
    "are_shares",
    "between",
    "differing",
    "moments_of",
    "of_few",
    "students",
]

FEWEST_DIFFERING = 30
"""Rows whose scores differ below which Student's interval of their mean says too much."""
ROUNDING = 1e-9
"""Share of the largest difference below which scores count as equal."""
FEWEST_COMPARED = 20
"""Rows of a group below which it is not compared with another."""


class Group(NamedTuple):
    """Scores of some rows, and keys that are equal for copies of a row, (rows,) each."""

    scores: Floats
    keys: Integers | None = None


def between(inside: Group, outside: Group, level: float) -> tuple[float, float]:
    """The interval of a difference of two groups' means; without ends where they are small."""
    groups = (inside, outside)
    if min(distinct(group) for group in groups) < FEWEST_COMPARED:
        return -math.inf, math.inf
    difference, count = welch(moments_of(inside), moments_of(outside))
    half = float(half_widths(np.float64(difference.error), np.float64(count), level))
    low, high = difference.value - half, difference.value + half
    if all(are_shares(group.scores) for group in groups):
        # Each share errs on a side with a quarter of what may: either of two, on one side of two.
        one, other = (
            share_interval(float(group.scores.mean()) * worth, worth, (1 + level) / 2)
            for group, worth in ((each, worth_of(each)) for each in groups)
        )
        low, high = min(low, one[0] - other[1]), max(high, one[1] - other[0])
    return low, high


def moments_of(group: Group) -> Moments:
    """Count, mean and squares of distinct rows, such that the mean's error is that of clusters."""
    scores, count = group.scores, distinct(group)
    if group.keys is None or count == len(scores):
        return Moments.of(scores)
    mean = scores.mean()
    # Var(mean) = G/(G−1) · Σ (Σ (x − mean))² / n² over G clusters.
    sums = np.bincount(numbered(group.keys), weights=scores - mean)
    squares = (sums**2).sum() * (count / len(scores)) ** 2
    return Moments(np.asarray(count), np.asarray(mean), np.asarray(squares))


def students(moments: Moments, level: float, value: float | None = None) -> tuple[float, float]:
    """Student's interval, around another value than the mean where one is given."""
    if float(moments.count) < 2:
        return -math.inf, math.inf
    half = float(half_widths(moments.error, moments.count, level))
    middle = float(moments.mean) if value is None else value
    return middle - half, middle + half


def are_shares(scores: Floats) -> bool:
    """Whether all are 0 or 1, so that their mean is a share of rows."""
    return bool(np.isin(scores, (0, 1)).all())


def distinct(group: Group) -> int:
    """How many rows there are without copies."""
    return len(group.scores) if group.keys is None else len(np.unique(group.keys))


def differing(difference: Group, span: float) -> int:
    """Distinct rows whose scores differ by more than rounding."""
    rows = np.flatnonzero(np.abs(difference.scores) > ROUNDING * span)
    return len(rows) if difference.keys is None else len(np.unique(difference.keys[rows]))


def of_few(difference: Group, level: float, span: float) -> tuple[float, float]:
    """Interval of a mean of differences that reach as far as `span`, few of which are not 0.

    A difference d counts as |d|/span of a row that changes wholly: of all laws with the same means
    of positive and of negative parts such rows vary most.
    """
    if not span:
        return 0.0, 0.0
    changes = difference.scores / span
    worth = worth_of(difference)
    per_row = worth / len(changes)
    more, fewer = (float(np.maximum(sign * changes, 0).sum()) * per_row for sign in (1, -1))
    low, high = paired_share_interval(more, fewer, worth, level)
    return span * low, span * high


def worth_of(group: Group) -> float:
    """How many distinct rows the rows are worth: n²/Σm² over copies m (Kish, 1965)."""
    rows = len(group.scores)
    if group.keys is None:
        return float(rows)
    copies = np.bincount(numbered(group.keys))
    return rows**2 / float((copies**2).sum())
