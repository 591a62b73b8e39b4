"""What helps to read a mean: the spread of the answers, and the columns they move with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.statistics import Moments

__all__ = [
    "MovedColumn",
    "in_spreads",
    "mean_in_words",
    "moved_columns",
    "share_in_words",
    "spread_of",
]


class MovedColumn(NamedTuple):
    """One column of a table, and how far the model's answers move with it.

    `share` is in how many of the neighbours it moved. `change` is how much longer the change of
    the answer is where it moved than where it did not, with its error over the points.
    """

    name: str
    kind: str
    share: float
    change: Estimate


def spread_of(outputs: Floats) -> float:
    """The root mean square distance of answers (points,) or (points, columns) from their mean."""
    known = outputs[np.isfinite(outputs.reshape(len(outputs), -1)).all(axis=1)]
    if len(known) < 2:
        return float("nan")
    columns = known.reshape(len(known), -1)
    return float(np.sqrt(np.mean(np.sum((columns - columns.mean(axis=0)) ** 2, axis=1))))


def in_spreads(mean: float, error: float, spread: float) -> Estimate:
    """A mean in units of the outputs' spread; NaN where there is none."""
    known = spread > 0
    return Estimate(
        mean / spread if known else float("nan"),
        error / spread if known else float("nan"),
    )


def share_in_words(relative: Estimate, bounded: bool, reduction: object) -> str:
    """A mean's share of the outputs' spread; nothing where values are not in the outputs' unit."""
    # An angle is in no unit of the outputs.
    if not bounded or reduction == "angle" or not np.isfinite(relative.value):
        return ""
    return f"{relative.percent} of the outputs' spread"


def mean_in_words(points: int, fragile: str, moves: bool = True) -> str:
    """Which mean a single model's number is, and where another verb gives another.

    Parameters
    ----------
    points
        How many were measured.
    fragile
        Which values are the fragile ones, "large" or "small".
    moves
        Whether points were moved, or rows compared as they are.

    Examples
    --------
    >>> mean_in_words(1200, "large")
    'The mean is over these 1,200 points; compare with a reference measures there too, and counts \
the larger of the two means.'
    """
    what = "points" if moves else "rows"
    end = "smaller" if fragile == "small" else "larger"
    return (
        f"The mean is over these {points:,} {what}; compare with a reference measures there too, "
        f"and counts the {end} of the two means."
    )


def moved_columns(
    columns: Mapping[str, Array], asked: Array, names: Sequence[str], kinds: Sequence[str]
) -> list[MovedColumn]:
    """Each column that did not move with a ball, the one with most weight first.

    Parameters
    ----------
    columns
        Of scores: "moved" (points, n), "moved_lengths" (points, n) and "lengths" (points,).
    asked
        Neighbours of each point, (points,).
    names, kinds
        Of the columns that moved.
    """
    if "moved" not in columns:
        return []
    moved, lengths, total = (columns[name] for name in ("moved", "moved_lengths", "lengths"))
    found = []
    for column, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        times = moved[:, column]
        # Where it always or never moved, there is nothing to compare.
        both = (times > 0) & (times < asked)
        if not both.any():
            continue
        when = lengths[both, column] / times[both]
        otherwise = (total[both] - lengths[both, column]) / (asked[both] - times[both])
        gap = Moments.of(when - otherwise)
        share = float(times.sum() / max(1, asked.sum()))
        found.append(MovedColumn(name, kind, share, Estimate(float(gap.mean), float(gap.error))))
    return sorted(found, key=lambda column: -column.share * column.change.value)
