"""Squared distances between coded rows, column by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.regions.tables.editing import edits_of
from anharmonic.regions.tables.kinds import ColumnKind

__all__ = ["APART", "apart", "column_squares", "features_of", "named", "squared_distances"]

APART = 2.0
"""Squared distance of two levels, and of a missing cell from any other: what two numbers differ
by on average, in units of their spread."""
FARTHEST = 2.0**20
"""Numbers that are a thousand spreads apart or more are equally far apart."""
MOST_LEVELS = 64
"""Levels of a category that are features; all rarer ones are none of them."""


def squared_distances(
    kinds: Sequence[ColumnKind], units: Floats, one: Floats, other: Floats
) -> Floats:
    """Squared distances column by column, (…, columns), of rows (…, columns)."""
    parts = np.empty(np.broadcast_shapes(one.shape, other.shape))
    for column, kind in enumerate(kinds):
        parts[..., column] = column_squares(
            kind, units[column], one[..., column], other[..., column]
        )
    return parts


def column_squares(kind: ColumnKind, unit: float, mine: Floats, theirs: Floats) -> Floats:
    """Squared distances of one column's cells."""
    if kind.movement == "edit":
        # One edit is one unit. Texts of two rows are not compared: all of a reference have code 0.
        return np.asarray((edits_of(mine) - edits_of(theirs)) ** 2)
    levels_apart = apart(kind)
    if levels_apart is not None:
        return np.asarray(levels_apart * (named(mine) != named(theirs)))
    with np.errstate(over="ignore"):
        squares = (mine - theirs) / unit
        squares *= squares
    # What is left of a sum without a column must not drown in a number out of all proportion.
    squares = np.minimum(squares, FARTHEST)
    gone, absent = np.isnan(mine), np.isnan(theirs)
    if gone.any() or absent.any():
        squares = np.where(gone | absent, np.where(gone & absent, 0.0, APART), squares)
    return np.asarray(squares)


def apart(kind: ColumnKind) -> float | None:
    """The squared distance of any two levels; None where cells differ by more or less."""
    if kind.movement != "redraw" or kind.kind == "spiked":
        return None
    # Of a one-hot group two columns differ, where a category differs in one.
    return APART / 2 if kind.kind == "one-hot" else APART


def named(levels: Floats) -> Floats:
    """Levels with a missing cell as one more of them: NaN is unlike itself."""
    return np.where(np.isnan(levels), -1e300, levels)


def features_of(
    kinds: Sequence[ColumnKind], units: Floats, reference: Floats, values: Floats
) -> Floats:
    """Coded rows as numbers (rows, features) whose squared differences add up to distances.

    Parameters
    ----------
    kinds, units
        What each column is, and its unit.
    reference, values : (rows, columns)
        Coded rows that say which levels and gaps there are, and those to turn into numbers.
    """
    parts: list[Floats] = [np.zeros((len(values), 1))]
    for column, kind in enumerate(kinds):
        cells, known = values[:, column], reference[:, column]
        if kind.movement == "edit":
            continue
        if apart(kind) == APART:
            levels, counts = np.unique(known[np.isfinite(known)], return_counts=True)
            kept = np.sort(levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]])
            parts.append((cells[:, None] == kept).astype(np.float64))
        else:
            present = np.nan_to_num(cells / units[column])
            parts.append(present[:, None].astype(np.float64))
        if np.isnan(known).any():
            parts.append(np.isnan(cells)[:, None].astype(np.float64))
    return np.concatenate(parts, axis=1)
