"""What a proposal changes on held-out rows, and how far apart two groups of them are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.statistics import Moments
from anharmonic.fixes.intervals import (
    FEWEST_COMPARED,
    FEWEST_DIFFERING,
    Group,
    are_shares,
    between,
    differing,
    moments_of,
    of_few,
    students,
)
from anharmonic.performance.result import Interval

__all__ = ["Contrast", "Gain", "measured_contrast", "measured_gain"]


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

    def __str__(self) -> str:
        low, high = self.interval.low, self.interval.high
        return (
            f"{self.interval.value:+.3f} [{low:+.3f}, {high:+.3f}] "
            f"({self.before:.3f} to {self.after:.3f}, {self.rows:,} held-out rows)"
        )


class Contrast(NamedTuple):
    """Mean losses of two groups of held-out rows, and the difference.

    Parameters
    ----------
    inside, outside
        Means of the two; NaN where there are no rows.
    interval
        Of the first less the second; without ends where there are too few rows.
    rows_inside, rows_outside
        How many there are of each.
    """

    inside: float
    outside: float
    interval: Interval
    rows_inside: int
    rows_outside: int

    @property
    def known(self) -> bool:
        """Whether there were rows enough to tell."""
        return math.isfinite(self.interval.low)

    @property
    def shown(self) -> bool:
        """Whether the interval lies above 0."""
        return self.interval.low > 0

    def against(self, others: str) -> str:
        """In words, with a name for the `others`."""
        rows = f"{self.rows_inside + self.rows_outside:,} held-out rows"
        if not self.known:
            return (
                f"not known: of {rows} {self.rows_inside:,} are such, and {FEWEST_COMPARED} "
                "distinct ones of either kind are needed"
            )
        value, low, high = self.interval
        return (
            f"{self.inside:.3f} against {self.outside:.3f} {others}, a difference of {value:+.3f} "
            f"[{low:+.3f}, {high:+.3f}] ({rows})"
        )


def measured_gain(
    before: Sequence[Floats],
    after: Sequence[Floats],
    level: float,
    *,
    keys: Sequence[Integers] | None = None,
    span: float | None = None,
) -> Gain:
    """The mean difference of scores, paired row by row, fold by fold.

    The interval is the widest of three: Student's over rows, copies of a row together; Student's
    over folds, since fits to parts of the same data vary too; and where scores are 0 or 1, or
    differ at few rows, one that holds for a handful of differing rows.

    Parameters
    ----------
    before, after
        Scores of each fold's held-out rows.
    level
        Of the interval.
    keys
        Of the rows, equal for copies; all rows are distinct if not given.
    span
        How far two scores can be apart; as far as they are if not given.
    """
    parts = [b - a for a, b in zip(before, after, strict=True) if len(a)]
    one, other = np.concatenate(before), np.concatenate(after)
    change = Group(other - one, None if keys is None else np.concatenate(keys))
    value = float(change.scores.mean())
    intervals = [students(moments_of(change), level)]
    if len(parts) > 1:
        means = np.array([part.mean() for part in parts])
        intervals.append(students(Moments.of(means), level, value))
    shares = are_shares(one) and are_shares(other)
    if shares:
        span = 1.0
    elif span is None:
        span = float(max(one.max(), other.max()) - min(one.min(), other.min()))
    if shares or differing(change, span) < FEWEST_DIFFERING:
        intervals.append(of_few(change, level, span))
    low, high = min(each[0] for each in intervals), max(each[1] for each in intervals)
    return Gain(float(one.mean()), float(other.mean()), Interval(value, low, high), len(one))


def measured_contrast(inside: Group, outside: Group, level: float) -> Contrast:
    """How much larger the mean is inside than outside, of different rows.

    Welch's interval (1947), and where losses are 0 or 1 the wider of it and one from exact
    intervals of both shares.

    Parameters
    ----------
    inside, outside
        Losses of both groups.
    level
        Of the interval.
    """
    one, other = (
        float(group.scores.mean()) if len(group.scores) else math.nan for group in (inside, outside)
    )
    low, high = between(inside, outside, level)
    return Contrast(
        one,
        other,
        Interval(one - other, low, high),
        rows_inside=len(inside.scores),
        rows_outside=len(outside.scores),
    )
