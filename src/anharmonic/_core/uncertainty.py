"""What the spread of a point's few turns cannot show: unseen changes, and rounding.

A turn's mean is an honest draw, but a handful of draws can agree by chance. A tree is flat
around most points, so all neighbours may give the centre's answer although some of the sphere
lies beyond a split: the spread is then 0 and the truth is not. So an interval is never
narrower than one more neighbour with another answer would make it (`resolutions`), and its
Student factor has one degree of freedom less than turns of normal noise would have
(`half_widths_of_points`). The centre's own rounding is common to all turns and in no spread
at all (`rounding`).
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy.special import gammaln

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.statistics import half_widths

__all__ = [
    "LOOKS",
    "half_widths_of_points",
    "mean_lengths",
    "noise_floor",
    "order_by_safe_ends",
    "output_lengths",
    "precision",
    "resolutions",
    "rounding",
]

LOOKS = 7
"""How often a tolerance looks at a point: after 4, 8, …, 256 turns."""

STEPWISE = 0.001
"""Share of neighbours with exactly the centre's answer from which on a model counts as stepwise."""

KINK = 0.3
"""Share of other points' changes that an unseen kink is worth: unlike a step it begins at 0."""

RARE = 2.0
"""What the largest change counts for where most directions saw none: one hit of a Poisson
count may stand for five and a half."""

ROUNDINGS = 8.0
"""Machine epsilons, relative to its outputs, that a model's arithmetic may be off by."""

EXACT_INTEGERS = 2.0**24
"""Whole numbers below this are exact in single precision too."""


def half_widths_of_points(
    errors: Floats, turns: Integers, level: float = 0.95, looks: int = 1
) -> Floats:
    """Half of each point's interval, from the standard error of its turns.

    Student's, with turns − 2 degrees of freedom: the means of a rotated ball bend like a cosine
    of the angle, not like a bell, and four of them with three degrees of freedom cover 91%
    (with two, 94%; from sixteen on it makes no difference). A run that looks several times and
    stops when it likes what it sees spreads its chance of being wrong over the `looks`.
    """
    # Bonferroni over the looks. `half_widths` takes one from the count, so turns − 1 becomes
    # turns − 2 degrees of freedom.
    adjusted = 1 - (1 - level) / looks
    return cast(Floats, half_widths(errors, np.maximum(turns - 1, 2), adjusted))


def resolutions(
    largest: Floats,
    flat: Integers,
    same: Integers,
    turns: Integers,
    directions: int,
    paired: bool,
    bounded: bool,
    outputs: Floats,
) -> Floats:
    """What one more changed neighbour would add to each point's score, (points,).

    A change's size over the number of directions: for a stepwise model the largest seen at the
    point, or, where none was seen there, the median of the largest at other points. A model that
    never gives the centre's answer (`same` is 0) is smooth or has kinks: only a point that saw
    no change at all, as within a linear piece of a ReLU network, is given some of that median
    (`KINK`), and one that saw none along most directions its own largest, twice (`RARE`).
    Where no point of a stepwise model saw a change, it is the largest there can be: 1 for
    labels and probabilities (`bounded`), else the range of the outputs.

    Parameters
    ----------
    largest
        Each point's largest change along one direction, of pairs along both
        (|f(x+u) + f(x−u) − 2·f(x)| / 2), 0 where it is no more than rounding.
    flat
        Along how many directions (of pairs: pairs) there was none.
    same
        How many of its neighbours have exactly its output.
    turns, directions, paired
        Turns of each point, directions per turn, and whether they come with their reflections.
    bounded
        Whether outputs are labels or probabilities.
    outputs
        At the points, (points,) or (points, columns).
    """
    units = directions // 2 if paired else directions
    # (points,): how many directions, of pairs how many pairs, each point's mean is over.
    drawn = np.maximum(turns, 1) * max(units, 1)
    stepwise = same.sum() > STEPWISE * directions * turns.sum()
    changed = largest > 0
    typical = float(np.median(largest[changed])) if changed.any() else 0.0
    if stepwise and not changed.any():
        measured = outputs[turns > 0].reshape(int((turns > 0).sum()), -1)
        # (points, columns): the widest column's range is the largest change there can be.
        whole = 1.0 if bounded else float(np.max(np.ptp(measured, axis=0)))
        # One side of a pair alone moves the pair's mean by half.
        typical = whole / 2 if paired else whole
    unseen = typical if stepwise else KINK * typical
    rare = np.where(2 * flat > drawn, RARE * largest, 0.0)
    change = np.where(changed, largest if stepwise else rare, unseen)
    return cast(Floats, np.where(turns > 0, change / drawn, 0.0))


def precision(outputs: Floats) -> float:
    """Machine epsilon of the arithmetic that made the outputs, judged by the numbers themselves.

    Whatever type they came in, numbers that all fit into single precision were made there.
    Small whole numbers, as labels are, are exact in both.

    >>> precision(np.array([0.1, 0.25])), precision(np.array([0.1], dtype=np.float32))
    (2.220446049250313e-16, 1.1920928955078125e-07)
    """
    finite = outputs[np.isfinite(outputs)]
    if np.all((finite == np.round(finite)) & (np.abs(finite) < EXACT_INTEGERS)):
        return 0.0
    with np.errstate(over="ignore"):
        single = np.array_equal(finite, finite.astype(np.float32))
    return float(np.finfo(np.float32 if single else np.float64).eps)


def rounding(epsilon: float, outputs: Floats) -> Floats:
    """How far rounding of the centre's answer may move each point's score, (points,).

    An answer that is small because large terms cancel is as rough as a large one, so none
    counts as smaller than the outputs are on average.
    """
    if not epsilon:
        return np.zeros(len(outputs))
    sizes = np.sqrt(np.sum(outputs.reshape(len(outputs), -1) ** 2, axis=1))
    typical = np.mean(sizes[np.isfinite(sizes)]) if np.isfinite(sizes).any() else 0.0
    return cast(Floats, ROUNDINGS * epsilon * np.fmax(sizes, typical))


def mean_lengths(dimensions: Integers) -> Floats:
    """Mean length of normal noise, as a share of its root mean square."""
    # The mean of the chi distribution, √2·Γ((n+1)/2)/Γ(n/2), over √n.
    half = np.maximum(dimensions, 1) / 2
    return cast(Floats, np.exp(gammaln(half + 0.5) - gammaln(half)) / np.sqrt(half))


def noise_floor(noise: Floats, turns: Integers, columns: int, rounding: Floats) -> float:
    """What noise alone would make a mean read where the true value is 0 everywhere.

    `noise` (points,) is the variance of each point's mean over turns, NaN where it is not known;
    `columns` is how many directions noise has.
    """
    known = np.isfinite(noise)
    if not known.any():
        return float("nan")
    power = np.maximum(noise[known], 0.0)
    # The root of an unbiased variance is too small on average, by the same factor that makes the
    # length of noise smaller than its root mean square.
    shortened = mean_lengths(columns * (turns[known] - 1))
    lengths = mean_lengths(np.array(columns)) * np.sqrt(power) / shortened
    return float(np.mean(np.hypot(lengths, rounding[known])))


def order_by_safe_ends(values: Floats, intervals: tuple[Floats, Floats], fragile: str) -> Integers:
    """Rows from the most fragile on, by the end of the interval that noise alone does not reach.

    The largest by their lower ends, or where small is fragile the smallest by their upper ends;
    ties by the values, and points without one last.
    """
    low, high = intervals
    known = np.isfinite(values)
    if fragile == "small":
        # A measure that asks once has no intervals: its values stand for themselves.
        ends = np.where(known, np.where(np.isfinite(high), high, values), np.inf)
        order = np.lexsort((np.nan_to_num(values), ends))
    else:
        ends = np.where(np.isfinite(low), low, np.where(known, 0.0, -1.0))
        order = np.lexsort((-np.nan_to_num(values), -ends))
    return order.astype(np.int64)


def output_lengths(outputs: Floats) -> Floats:
    """The length of each point's outputs, (points,) or (points, columns)."""
    return np.asarray(np.linalg.norm(outputs.reshape(len(outputs), -1), axis=1))
