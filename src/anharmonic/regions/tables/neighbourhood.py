"""Neighbours of rows in a table: how each column moves, how likely, how far.

The law, for a row x and a radius R. The reference says how far a row is from its nearest other
one, and which column that distance comes from: column j has a share sⱼ of its square. A neighbour
at radius R moves every column so that its squared distance is on average sⱼ·R². Numbers move by a
ball of radius R·√Σs over them. Every other column moves with a probability that makes its mean
square sⱼ·R²: it takes the value of a reference row that is like x in all else (categories), or
steps as far as such a row is away, to one side or the other (whole numbers, orders, dates). What
the reference never has beside a new value comes along from the same row, and a step into what it
rules out is not made: a plausible row makes plausible neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic.regions.tables.coding import Coding
from anharmonic.regions.tables.donors import Donors, Site, squared_distances
from anharmonic.regions.tables.editing import edited_again
from anharmonic.regions.tables.kinds import ColumnKind
from anharmonic.regions.tables.pairs import PairsSeen

__all__ = ["TableNeighbourhood"]

WORD = 1 << 53


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
        return shares

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

    def move(
        self,
        state: Floats,
        owners: Integers,
        donors: Integers,
        uniforms: Floats,
        chances: Floats,
        sites: Sequence[int] | None = None,
    ) -> Floats:
        """Move the sites of many neighbours in place, and give their steps to one side.

        Parameters
        ----------
        state : (neighbours, columns)
            Where each stands; what is redrawn or edited is written here.
        owners : (neighbours,)
            The row of `donors` that each belongs to.
        donors : (rows, sites, count)
            Reference rows.
        uniforms : (neighbours, sites)
            Between 0 and 1: below the site's chance it moves, and how far below says which row
            it takes after and to which side it steps.
        chances : (sites,)
            How likely each site is to move.
        sites
            Which of them may move; all if not given.

        Returns
        -------
        (neighbours, columns)
            Steps of columns that step, to be added, or taken away for the other side.
        """
        numbers = self.pairs.numbers(state) if self.pairs.seen is not None else None
        steps = np.zeros(state.shape)
        moving = range(len(self.sites)) if sites is None else sites
        # Steps come last: they are checked against what has been redrawn by then.
        for order in (("redraw", "gap"), ("step",), ("edit",)):
            for number in moving:
                site = self.sites[number]
                if site.movement not in order or not chances[number]:
                    continue
                fires = np.flatnonzero(uniforms[:, number] < chances[number])
                if not len(fires):
                    continue
                # Uniform below 1 again, and independent of whether the site moves.
                left = uniforms[fires, number] / chances[number]
                if site.movement == "edit":
                    self._edit(state, site, fires, left)
                    continue
                count = donors.shape[2]
                place = left * count
                which = np.minimum(place, count - 1).astype(np.int64)
                chosen = donors[owners[fires], number, which]
                if site.movement == "step":
                    sides = np.where(place % 1 < 0.5, 1.0, -1.0)
                    self._step(state, numbers, steps, site, fires, chosen, sides)
                else:
                    self._redraw(state, numbers, site, fires, chosen)
        return steps

    def alternatives(self, values: Floats, donors: Integers, site: int) -> tuple[Floats, Floats]:
        """Where a site's moves lead rows (rows, columns): (rows, moves, columns), and the weight
        of each, (moves,): every donor once, and of a step both sides.
        """
        count = donors.shape[2]
        owners = np.repeat(np.arange(len(values)), count)
        state, uniforms = values[owners], np.ones((len(owners), len(self.sites)))
        uniforms[:, site] = np.tile((np.arange(count) + 0.25) / count, len(values))
        steps = self.move(state, owners, donors, uniforms, np.ones(len(self.sites)), [site])
        shape = (len(values), count, values.shape[1])
        if self.sites[site].movement != "step":
            return state.reshape(shape), np.full(count, 1 / count)
        both = np.concatenate([(state + steps).reshape(shape), (state - steps).reshape(shape)], 1)
        return both, np.full(2 * count, 0.5 / count)

    @property
    def gradual(self) -> NDArray[np.bool_]:
        """Columns that have values between any two: those that a ball moves."""
        return np.array([kind.movement == "ball" for kind in self.kinds])

    def is_number(self, column: int, code: float) -> bool:
        """Whether a coded cell is the number that it stands for."""
        if np.isnan(code) or self.kinds[column].movement == "edit":
            return False
        code_of = None if self.coding is None else self.coding.columns[column]
        return code_of is None or not (code_of.listed or code_of.stamp)

    def text(self, column: int, code: float) -> str:
        """A coded cell as people read it."""
        if self.coding is not None:
            return self.coding.columns[column].text(code)
        return "missing" if np.isnan(code) else f"{code:.6g}"

    def _redraw(
        self,
        state: Floats,
        numbers: Integers | None,
        site: Site,
        fires: Integers,
        chosen: Integers,
    ) -> None:
        """Take a site's values from other rows, with what cannot stay beside them."""
        columns = np.array(site.columns)
        mine, theirs = state[np.ix_(fires, columns)], self.donors.reference[np.ix_(chosen, columns)]
        gone, absent = np.isnan(mine), np.isnan(theirs)
        differs = gone != absent if site.movement == "gap" else (mine != theirs) & ~(gone & absent)
        differs = differs.any(axis=1)
        fires, chosen = fires[differs], chosen[differs]
        if not len(fires):
            return
        if numbers is None or self.pairs.seen is None:
            state[np.ix_(fires, columns)] = theirs[differs]
            return
        cells, values = numbers[fires], self._reference_numbers[chosen]
        moved = np.zeros(cells.shape, dtype=bool)
        moved[:, columns] = True
        newly = moved.copy()
        while newly.any():
            cells = np.where(newly, values, cells)
            clash = np.zeros(cells.shape, dtype=bool)
            for column in np.flatnonzero(newly.any(axis=0)).tolist():
                rows = np.flatnonzero(newly[:, column])
                clash[rows] |= ~self.pairs.seen[cells[rows, column][:, None], cells[rows]]
            newly = clash & ~moved & self._comes_along
            moved |= newly
        numbers[fires] = cells
        state[fires] = np.where(moved, self.donors.reference[chosen], state[fires])

    def _step(
        self,
        state: Floats,
        numbers: Integers | None,
        steps: Floats,
        site: Site,
        fires: Integers,
        chosen: Integers,
        sides: Floats,
    ) -> None:
        """Note a step as long as another row is away, where both its ends are allowed."""
        column = site.columns[0]
        mine = state[fires, column]
        length = np.abs(self.donors.reference[chosen, column] - mine)
        # Comparisons with NaN are false: a missing cell takes no step.
        allowed = (length > 0) & (mine - length >= self.low[column])
        allowed &= mine + length <= self.high[column]
        fires, length, sides = fires[allowed], length[allowed], sides[allowed]
        if numbers is not None and self.pairs.seen is not None and len(fires):
            beside = numbers[fires][:, self._redrawn]
            seen = np.ones(len(fires), dtype=bool)
            for side in (1.0, -1.0):
                ends = self.pairs.number(column, state[fires, column] + side * length)
                seen &= self.pairs.seen[ends[:, None], beside].all(axis=1)
            fires, length, sides = fires[seen], length[seen], sides[seen]
        steps[fires, column] = sides * length

    def _edit(self, state: Floats, site: Site, fires: Integers, left: Floats) -> None:
        column = site.columns[0]
        words = (left * WORD).astype(np.int64)
        state[fires, column] = edited_again(state[fires, column], words)

    @cached_property
    def _reference_numbers(self) -> Integers:
        return self.pairs.numbers(self.donors.reference)

    @cached_property
    def _comes_along(self) -> NDArray[np.bool_]:
        """Columns that may come along: all but those that a ball or an edit moves."""
        return np.array([kind.movement in ("redraw", "step") for kind in self.kinds])

    @cached_property
    def _redrawn(self) -> Integers:
        return np.flatnonzero([kind.movement == "redraw" for kind in self.kinds])
