"""Neighbours of rows in a table: how each column moves, how likely, how far.

The law, for a row x and a radius R. The reference says how far a row is from its nearest other
ones, and which column that distance comes from: column j has a share sⱼ of its square. A neighbour
at radius R moves every column so that its squared distance is on average sⱼ·R². Numbers move by a
ball of radius R·√Σs over them. Every other column moves with a probability that makes its mean
square sⱼ·R², and at least now and then: it takes the value of a reference row that is like x in
all else (categories), or steps as far as such a row is away, to one side or the other (whole
numbers, orders, dates). What the reference rules out beside a new value comes along from the same
row, and a step into what it rules out is not made: a plausible row makes plausible neighbours.

What moves as one is a site: a category, a one-hot group, a column of steps, or the gaps of a
column. With its share sⱼ (`site_shares`) and the mean square rⱼ of a move (`reaches`) its chance is
min(1, sⱼ·R²/rⱼ) (`chances`). A category's share is raised to at least ½/m·rⱼ/D², m the number of
categories and D the distance between nearest rows (`nearest`): at R = D its chance is ½/m or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic.regions.tables.coding import Coding
from anharmonic.regions.tables.distances import squared_distances
from anharmonic.regions.tables.donors import Donors, Site
from anharmonic.regions.tables.editing import edited
from anharmonic.regions.tables.kinds import ColumnKind
from anharmonic.regions.tables.pairs import PairsSeen

__all__ = ["LAW", "TableNeighbourhood"]

LAW = 2
"""The number of this law: a change that moves rows otherwise has another one, so that scores of
one are not taken for scores of the other."""


@dataclass(frozen=True, eq=False)
class TableNeighbourhood:
    """How the rows of a table move; settled by `table_neighbourhood`.

    Parameters
    ----------
    kinds : (columns,)
        What each column that moves is.
    coding
        How cells become numbers and back; None for arrays, whose cells are numbers.
    units : (columns,)
        A unit for each.
    donors
        The search for reference rows, and the sites: what moves as one.
    pairs
        What the reference has side by side.
    low, high : (columns,)
        Where steps and bounded numbers end.
    number_share, site_shares : (sites,)
        Shares of the squared distance between nearest rows.
    reaches : (sites,)
        The mean squared distance that a move of a site makes.
    nearest
        The median distance between nearest rows.
    gaps : (columns,)
        Which columns have missing cells in the reference.
    fingerprint
        A short text that is the same for the same law.
    """

    kinds: tuple[ColumnKind, ...]
    coding: Coding | None
    units: Floats
    donors: Donors
    pairs: PairsSeen
    low: Floats
    high: Floats
    number_share: float
    site_shares: Floats
    reaches: Floats
    nearest: float
    gaps: NDArray[np.bool_]
    fingerprint: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(kind.name for kind in self.kinds)

    @property
    def numbers(self) -> Integers:
        """The columns that a ball moves."""
        return np.flatnonzero([kind.movement == "ball" for kind in self.kinds])

    @property
    def sites(self) -> tuple[Site, ...]:
        """What moves as one, beside the numbers."""
        return self.donors.sites

    @property
    def limits(self) -> tuple[Floats, Floats] | None:
        """Bounds of the numbers, where any of them has some."""
        numbers = self.numbers
        low, high = self.low[numbers], self.high[numbers]
        return (low, high) if np.isfinite(low).any() or np.isfinite(high).any() else None

    @property
    def wholes(self) -> list[Integers]:
        """Groups of numbers that keep their sum, as places among the numbers."""
        numbers = self.numbers
        groups = np.array([self.kinds[column].group for column in numbers], dtype=np.int64)
        shares = np.array([self.kinds[column].kind == "share" for column in numbers], dtype=bool)
        return [np.flatnonzero(shares & (groups == group)) for group in np.unique(groups[shares])]

    @property
    def column_shares(self) -> Floats:
        """Each column's share of the squared distance, (columns,): numbers have equal parts."""
        shares = np.zeros(len(self.kinds))
        numbers = self.numbers
        shares[numbers] = self.number_share / max(1, len(numbers))
        for site, share in zip(self.sites, self.site_shares, strict=True):
            if site.movement != "edit":
                shares[list(site.columns)] += share / len(site.columns)
        return np.asarray(shares / max(float(shares.sum()), 1e-300))

    def ball_radius(self, radius: float) -> float:
        """The radius of the ball that moves the numbers."""
        return radius * float(np.sqrt(self.number_share))

    def chances(self, radius: float) -> Floats:
        """How likely each site is to move at a radius, (sites,)."""
        wanted = self.site_shares * radius**2
        moves = np.divide(wanted, self.reaches, out=np.zeros(len(wanted)), where=self.reaches > 0)
        return np.minimum(moves, 1.0)

    def squares(self, one: Floats, other: Floats) -> Floats:
        """Squared distances column by column of coded rows."""
        return squared_distances(self.kinds, self.units, one, other)

    @cached_property
    def by_column(self) -> Floats:
        """The reference's cells, (columns, rows)."""
        return np.ascontiguousarray(self.donors.reference.T)

    @cached_property
    def numbers_by_column(self) -> Integers:
        """The reference's cells as numbers among `pairs`, (columns, rows)."""
        return np.ascontiguousarray(self.pairs.numbers(self.donors.reference).T)

    @cached_property
    def clashing(self) -> tuple[tuple[int, ...], ...]:
        """For each column those that its values may rule out: redrawn and stepping ones."""
        movable = [
            column for column, kind in enumerate(self.kinds) if kind.movement in ("redraw", "step")
        ]
        return tuple(
            tuple(
                other
                for other in movable
                if other != column and not self.pairs.all_seen(column, other)
            )
            for column in range(len(self.kinds))
        )

    @property
    def gradual(self) -> NDArray[np.bool_]:
        """Columns that have values between any two: those that a ball moves."""
        return np.array([kind.movement == "ball" for kind in self.kinds])

    def is_number(self, column: int, code: float) -> bool:
        """Whether a coded cell is the number that it stands for."""
        if np.isnan(code) or self.kinds[column].movement == "edit":
            return False
        code_of = None if self.coding is None else self.coding.columns[column]
        return code_of is None or not (code_of.by_level or code_of.calendar)

    def text(self, column: int, code: float, cell: object = None) -> str:
        """A coded cell as people read it; of an edited text, the text that the `cell` became."""
        kind = self.kinds[column]
        if kind.movement == "edit" and cell is not None:
            return str(edited(cell, code, kind.change))
        if self.coding is not None:
            return self.coding.columns[column].text(code)
        return "missing" if np.isnan(code) else f"{code:.6g}"
