"""Reference rows that are like a row: those it may take values from, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic.regions.tables.distances import apart, column_squares, named, squared_distances
from anharmonic.regions.tables.kinds import ColumnKind

__all__ = ["COUNT", "Donors", "Site"]

COUNT = 10
"""Reference rows that a value is drawn from."""
CANDIDATES = 64
"""The nearest rows in everything, among which those nearest in all but a column mostly are."""
HELD = 1 << 17
"""Distances held at once: what fits in the caches."""
RESOLUTION = 2.0**20
"""Squared distances that differ by less than a step of this are equal."""
FARTHEST = 2.0**50
"""In these steps; all that is farther is equally far."""


@dataclass(frozen=True)
class Site:
    """Columns that move as one, and how: "redraw", "gap", "step" or "edit".

    A gap is a number that goes missing, or a missing one that takes another row's value.
    """

    columns: tuple[int, ...]
    movement: str


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
    """

    kinds: tuple[ColumnKind, ...]
    units: Floats
    sites: tuple[Site, ...]
    reference: Floats

    @property
    def count(self) -> int:
        """Rows that a value is drawn from."""
        return min(COUNT, max(1, len(self.reference) - 1))

    def of(self, values: Floats) -> Integers:
        """Reference rows for coded rows (rows, columns): (rows, sites, count).

        Those nearest in everything but what moves; for steps, nearest in everything, because a
        step is to be small. Copies of the row are no neighbours of it.
        """
        found = np.zeros((len(values), len(self.sites), self.count), dtype=np.int64)
        steps = [number for number, site in enumerate(self.sites) if site.movement == "step"]
        for block in self._blocks(len(values)):
            total = self._distances(values[block])
            near = _smallest(total, min(CANDIDATES, len(self.reference)))
            if steps:
                nearest = _smallest(np.take_along_axis(total, near, axis=1), self.count)
                found[block, steps] = np.take_along_axis(near, nearest, axis=1)[:, None]
            for number, site in enumerate(self.sites):
                if site.movement in ("redraw", "gap"):
                    found[block, number] = self._nearest_elsewhere(site, values[block], total, near)
        return found

    def nearest(self, values: Floats) -> tuple[Floats, Floats, Integers]:
        """The nearest rows that differ, nearest first: squared distances column by column,
        (rows, count, columns), their sums, (rows, count), infinite where all others are copies,
        and which rows these are, (rows, count).
        """
        totals, rows = [], []
        for block in self._blocks(len(values)):
            total = self._distances(values[block])
            rows.append(np.argsort(total, axis=1, kind="stable")[:, : self.count])
            totals.append(np.take_along_axis(total, rows[-1], axis=1))
        near = np.concatenate(rows)
        theirs = self.reference[near]
        squares = squared_distances(self.kinds, self.units, values[:, None, :], theirs)
        return squares, np.concatenate(totals), near

    def _blocks(self, count: int) -> Iterator[slice]:
        """So many rows, a few at a time."""
        size = max(1, HELD // len(self.reference))
        for start in range(0, count, size):
            yield slice(start, min(count, start + size))

    def _distances(self, values: Floats) -> Floats:
        """Squared distances (rows, others); infinite to a copy, which is no neighbour."""
        total = np.zeros((len(values), len(self.reference)))
        unlike: dict[float, NDArray[np.uint16]] = {}
        for column, kind in enumerate(self.kinds):
            mine, levels_apart = values[:, column, None], apart(kind)
            if levels_apart is None:
                theirs = self._by_column[column]
                total += column_squares(kind, self.units[column], mine, theirs)
            else:
                # Counted in two bytes and multiplied once, levels take half the time.
                count = unlike.setdefault(levels_apart, np.zeros(total.shape, dtype=np.uint16))
                count += named(mine) != self._named_by_column[column]
        for levels_apart, count in unlike.items():
            total += levels_apart * count
        total[total == 0] = np.inf
        return total

    def _nearest_elsewhere(
        self, site: Site, values: Floats, total: Floats, near: Integers
    ) -> Integers:
        """The other rows (rows, count) that are nearest in all but a site's columns.

        Parameters
        ----------
        site, values
            What is left out of the distance, and coded rows.
        total : (rows, others)
            Squared distances in everything.
        near : (rows, candidates)
            The other rows that are nearest in everything.
        """
        most = self._most(site)
        if most is None or near.shape[1] == total.shape[1]:
            return _smallest(total - self._part(site, values), self.count)
        to_near = np.take_along_axis(total, near, axis=1)
        elsewhere = to_near - self._part(site, values, near)
        nearest = _smallest(elsewhere, self.count)
        found = np.take_along_axis(near, nearest, axis=1)
        # Where numbers are dense, all candidates have the row's own level, and rows of other
        # levels are nearer elsewhere. No other row is nearer there than the farthest candidate is
        # in everything, less the most that the site may make of it.
        farthest = np.take_along_axis(elsewhere, nearest, axis=1).max(axis=1)
        unsure = np.flatnonzero(farthest + 2 / RESOLUTION >= to_near.max(axis=1) - most)
        if len(unsure):
            all_elsewhere = total[unsure] - self._part(site, values[unsure])
            found[unsure] = _smallest(all_elsewhere, self.count)
        return found

    def _most(self, site: Site) -> float | None:
        """The most that a site may make of a squared distance; None where that has no end."""
        parts = [apart(self.kinds[column]) for column in site.columns]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    def _part(self, site: Site, values: Floats, others: Integers | None = None) -> Floats:
        """A site's part of squared distances to all rows, or to some others: (rows, others)."""
        part: Floats = np.zeros(())
        for column in site.columns:
            cells = self._by_column[column]
            theirs = cells if others is None else cells[others]
            mine = values[:, column, None]
            part = part + column_squares(self.kinds[column], self.units[column], mine, theirs)
        return part

    @cached_property
    def _by_column(self) -> Floats:
        return np.ascontiguousarray(self.reference.T)

    @cached_property
    def _named_by_column(self) -> Floats:
        return named(self._by_column)


def _smallest(distances: Floats, count: int) -> Integers:
    """Places of the smallest distances (rows, others) of each row, ascending: (rows, count).

    Categories make many ties, which go to the first: keys are whole numbers, of the distance in
    front and of the place behind, so that no two are equal and a draw means the same row in any
    batch.
    """
    others = distances.shape[1]
    keys = np.rint(np.minimum(distances * RESOLUTION, FARTHEST)).astype(np.int64)
    keys *= others
    keys += np.arange(others)
    return np.sort(np.partition(keys, count - 1, axis=1)[:, :count] % others, axis=1)
