"""Reference rows that are like a row: those it may take values from, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.regions.tables.editing import edits_of
from anharmonic.regions.tables.kinds import ColumnKind

__all__ = ["COUNT", "Donors", "Site", "squared_distances"]

COUNT = 10
"""Reference rows that a value is drawn from."""
CANDIDATES = 64
"""The nearest rows, among which a column's own are looked for."""
HELD = 1 << 22
"""Distances held at once."""
APART = 2.0
"""Squared distance of two levels, and of a missing cell from any other: what two numbers differ
by on average, in units of their spread."""
MOST_LEVELS = 64
RESOLUTION = 2.0**20
"""Squared distances that differ by less than a step of this are equal."""


@dataclass(frozen=True)
class Site:
    """Columns that move as one, and how: "redraw", "gap", "step" or "edit".

    A gap is a number that goes missing, or a missing one that takes another row's value.
    """

    columns: tuple[int, ...]
    movement: str


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
    if kind.movement == "redraw" and kind.kind != "spiked":
        # Of a one-hot group two columns differ, where a category differs in one.
        squares = (APART / 2 if kind.kind == "one-hot" else APART) * (mine != theirs)
    else:
        squares = (mine - theirs) / unit
        squares *= squares
    gone, absent = np.isnan(mine), np.isnan(theirs)
    if gone.any() or absent.any():
        squares = np.where(gone | absent, np.where(gone & absent, 0.0, APART), squares)
    return np.asarray(squares)


@dataclass(frozen=True)
class Donors:
    """The search for reference rows that are like a row.

    Parameters
    ----------
    kinds, units
        What each column is, and its unit.
    sites
        What moves as one; each has rows of its own.
    reference : (rows, columns)
        Coded.
    features : (rows, features)
        The same as numbers whose squared differences are distances, for a quick first look.
    """

    kinds: tuple[ColumnKind, ...]
    units: Floats
    sites: tuple[Site, ...]
    reference: Floats
    features: Floats

    @classmethod
    def among(
        cls,
        kinds: tuple[ColumnKind, ...],
        units: Floats,
        sites: tuple[Site, ...],
        reference: Floats,
    ) -> Donors:
        """Rows among these, coded."""
        empty = cls(kinds, units, sites, reference, np.empty((0, 0)))
        return cls(kinds, units, sites, reference, empty.features_of(reference))

    @property
    def count(self) -> int:
        """Rows that a value is drawn from."""
        return min(COUNT, max(1, len(self.reference) - 1))

    def of(self, values: Floats) -> Integers:
        """Reference rows for coded rows (rows, columns): (rows, sites, count).

        Those nearest in everything but what moves; for steps, nearest in everything, because a
        step is to be small. Copies of the row are no neighbours of it.
        """
        found = np.empty((len(values), len(self.sites), self.count), dtype=np.int64)
        size = max(1, HELD // max(1, len(self.reference)))
        for start in range(0, len(values), size):
            block = slice(start, start + size)
            found[block] = self._of_block(values[block])
        return found

    def nearest(self, values: Floats) -> tuple[Floats, Floats, Integers]:
        """The nearest rows that differ, nearest first: squared distances column by column,
        (rows, count, columns), their sums, (rows, count), infinite where all others are copies,
        and which rows these are, (rows, count).
        """
        parts = []
        size = max(1, HELD // max(1, len(self.reference)))
        for start in range(0, len(values), size):
            block = values[start : start + size]
            candidates = self._candidates(block)
            squares, total = self._candidate_distances(block, candidates)
            first = np.argsort(total, axis=1, kind="stable")[:, : self.count]
            row = np.arange(len(block))[:, None]
            by_row = np.moveaxis(squares, 0, -1)
            parts.append((by_row[row, first], total[row, first], candidates[row, first]))
        squares_parts, total_parts, row_parts = zip(*parts, strict=True)
        return (
            np.concatenate(squares_parts),
            np.concatenate(total_parts),
            np.concatenate(row_parts),
        )

    def _of_block(self, values: Floats) -> Integers:
        candidates = self._candidates(values)
        squares, total = self._candidate_distances(values, candidates)
        count = min(self.count, candidates.shape[1])
        found = np.empty((len(values), len(self.sites), self.count), dtype=np.int64)
        for number, site in enumerate(self.sites):
            distances = total
            if site.movement in ("redraw", "gap"):
                distances = total - squares[list(site.columns)].sum(axis=0)
            nearest = np.argpartition(_keyed(distances), count - 1, axis=1)[:, :count]
            # In the candidates' order, so that a draw means the same row in any batch.
            nearest.sort(axis=1)
            rows = np.take_along_axis(candidates, nearest, axis=1)
            found[:, number] = np.resize(rows.T, (self.count, len(values))).T
        return found

    def _candidate_distances(self, values: Floats, candidates: Integers) -> tuple[Floats, Floats]:
        """Squared distances (columns, rows, candidates), and their sums, (rows, candidates)."""
        squares = np.empty((len(self.kinds), *candidates.shape))
        for column, kind in enumerate(self.kinds):
            squares[column] = column_squares(
                kind,
                self.units[column],
                values[:, column, None],
                self.reference[:, column][candidates],
            )
        total = squares.sum(axis=0)
        # A copy, the row itself among them, is no neighbour.
        total[total == 0] = np.inf
        return squares, total

    def _candidates(self, values: Floats) -> Integers:
        """The nearest reference rows by features, in their own order: (rows, candidates)."""
        count = min(CANDIDATES, len(self.reference))
        if count == len(self.reference):
            return np.broadcast_to(np.arange(count), (len(values), count))
        mine = self.features_of(values)
        # ‖a − b‖² = ‖a‖² − 2ab + ‖b‖², of which ‖a‖² is the same for all of a row.
        lengths = np.einsum("rf,rf->r", self.features, self.features)
        distances = lengths - 2 * (mine @ self.features.T)
        nearest = np.argpartition(_keyed(distances), count - 1, axis=1)[:, :count]
        return np.sort(nearest, axis=1)

    def features_of(self, values: Floats) -> Floats:
        """Coded rows as numbers whose squared differences add up to distances."""
        parts: list[Floats] = [np.zeros((len(values), 1))]
        for column, kind in enumerate(self.kinds):
            cells = values[:, column]
            if kind.movement == "edit":
                continue
            if kind.movement == "redraw" and kind.kind not in ("spiked", "one-hot"):
                known = self.reference[:, column]
                levels, counts = np.unique(known[np.isfinite(known)], return_counts=True)
                kept = np.sort(levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]])
                parts.append((cells[:, None] == kept).astype(np.float64))
            else:
                present = np.nan_to_num(cells / self.units[column])
                parts.append(present[:, None].astype(np.float64))
            if np.isnan(self.reference[:, column]).any():
                parts.append(np.isnan(cells)[:, None].astype(np.float64))
        return np.concatenate(parts, axis=1)


def _keyed(distances: Floats) -> Floats:
    """Distances (rows, others) as keys that are never equal in a row.

    Categories make many ties, and rounding, which depends on the batch, must not break them:
    whole numbers, and behind the point the other row's number.
    """
    keys = np.rint(distances * RESOLUTION)
    keys += np.arange(distances.shape[1]) / distances.shape[1]
    return np.asarray(keys)
