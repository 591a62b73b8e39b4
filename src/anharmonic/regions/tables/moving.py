"""Moves of many neighbours at once: column by column, each on its own run of memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.regions.tables.donors import Site
from anharmonic.regions.tables.editing import edited_again
from anharmonic.regions.tables.neighbourhood import TableNeighbourhood

__all__ = ["Movers", "alternatives"]

WORD = 1 << 53
AT_ONCE = 1 << 15
"""Cells of other columns that are compared at once: what fits in the caches."""
ORDER = (("redraw", "gap"), ("step",), ("edit",))
"""Steps come after redraws: they are checked against what has been redrawn by then."""


class Movers:
    """Neighbours on their way, changed in place.

    Parameters
    ----------
    law
        How they move.
    starts : (rows, columns)
        Coded rows.
    count
        Neighbours of each row, one after the other.
    donors : (rows, sites, donors)
        Reference rows of each row.
    """

    def __init__(
        self, law: TableNeighbourhood, starts: Floats, count: int, donors: Integers
    ) -> None:
        self.law, self.donors, self.count = law, donors, count
        # (columns, rows · count): every column in one run.
        self.state = np.repeat(starts.T, count, axis=1)
        self.numbers: Integers | None = None
        if law.pairs.seen is not None:
            self.numbers = np.repeat(law.pairs.numbers(starts).T, count, axis=1)
        self.steps: dict[int, Floats] = {}

    def ends(self, side: float = 1.0) -> Floats:
        """Where the neighbours stand, with their steps to one side: (rows · count, columns)."""
        state = self.state
        if self.steps:
            state = state.copy()
            for column, steps in self.steps.items():
                state[column] += side * steps
        return state.T

    def move(self, uniforms: Floats, chances: Floats, sites: Sequence[int] | None = None) -> None:
        """Move what moves.

        Parameters
        ----------
        uniforms : (sites, rows · count)
            Between 0 and 1: below the site's chance it moves, and how far below says which donor
            it takes after and to which side it steps.
        chances : (sites,)
            How likely each site is to move.
        sites
            Which of them may move; all if not given.
        """
        moving = range(len(self.law.sites)) if sites is None else sites
        for movements in ORDER:
            for number in moving:
                site, chance = self.law.sites[number], float(chances[number])
                if site.movement not in movements or not chance:
                    continue
                fires = np.flatnonzero(uniforms[number] < chance)
                if len(fires):
                    # Uniform below 1 again, and independent of whether the site moves.
                    self._move_site(number, site, fires, uniforms[number][fires] / chance)

    def _move_site(self, number: int, site: Site, fires: Integers, left: Floats) -> None:
        if site.movement == "edit":
            column = site.columns[0]
            words = (left * WORD).astype(np.int64)
            self.state[column, fires] = edited_again(self.state[column, fires], words)
            return
        count = self.donors.shape[2]
        place = left * count
        which = np.minimum(place, count - 1).astype(np.int64)
        chosen = self.donors[fires // self.count, number, which]
        if site.movement == "step":
            self._step(site.columns[0], fires, chosen, np.where(place % 1 < 0.5, 1.0, -1.0))
        else:
            self._redraw(site, fires, chosen)

    def _redraw(self, site: Site, fires: Integers, chosen: Integers) -> None:
        """Take a site's values from other rows, with what cannot stay beside them."""
        differs = np.zeros(len(fires), dtype=bool)
        for column in site.columns:
            mine, theirs = self.state[column][fires], self.law.by_column[column][chosen]
            gone, absent = np.isnan(mine), np.isnan(theirs)
            if site.movement == "gap":
                differs |= gone != absent
            else:
                differs |= (mine != theirs) & ~(gone & absent)
        fires, chosen = fires[differs], chosen[differs]
        if not len(fires):
            return
        for column in site.columns:
            self._take(column, fires, chosen)
        self._bring_along(site, fires, chosen)

    def _take(self, column: int, fires: Integers, chosen: Integers) -> None:
        """Take a column's cells from other rows."""
        self.state[column, fires] = self.law.by_column[column][chosen]
        if self.numbers is not None:
            self.numbers[column, fires] = self.law.numbers_by_column[column][chosen]

    def _bring_along(self, site: Site, fires: Integers, chosen: Integers) -> None:
        """Take from the same rows whatever the reference never has beside what they gave.

        A column comes once: what it has from that row already stays, though a rare row may have
        what the others rule out. So it does not matter which column is looked at first.
        """
        seen = self.law.pairs.seen
        if seen is None or self.numbers is None:
            return
        waiting = {column: [(fires, chosen)] for column in site.columns}
        while waiting:
            # First come, first looked at: meanwhile more rows join those that wait for a column.
            column = next(iter(waiting))
            parts = waiting.pop(column)
            fires, chosen = parts[0]
            if len(parts) > 1:
                fires, chosen = (np.concatenate([part[item] for part in parts]) for item in (0, 1))
            mine, clashing = self.numbers[column][fires], self.law.clashing[column]
            # Many columns of few neighbours at once, and one of many at a time.
            size = max(1, AT_ONCE // len(fires))
            for start in range(0, len(clashing), size):
                others = clashing[start : start + size]
                places = np.array(others)[:, None]
                here = self.numbers[places, fires]
                there = self.law.numbers_by_column[places, chosen]
                clashes = ~seen[mine, here] & (here != there)
                for place in np.flatnonzero(clashes.any(axis=1)).tolist():
                    clash = np.flatnonzero(clashes[place])
                    other, some, theirs = others[place], fires[clash], chosen[clash]
                    self._take(other, some, theirs)
                    waiting.setdefault(other, []).append((some, theirs))

    def _step(self, column: int, fires: Integers, chosen: Integers, sides: Floats) -> None:
        """Note a step as long as another row is away, where both its ends are allowed."""
        law, pairs = self.law, self.law.pairs
        mine = self.state[column][fires]
        length = np.abs(law.by_column[column][chosen] - mine)
        # Comparisons with NaN are false: a missing cell takes no step.
        allowed = (length > 0) & (mine - length >= law.low[column])
        allowed &= mine + length <= law.high[column]
        fires, length, sides = fires[allowed], length[allowed], sides[allowed]
        beside = [other for other in law.clashing[column] if law.kinds[other].movement == "redraw"]
        if self.numbers is not None and pairs.seen is not None and beside:
            mine, seen = mine[allowed], np.ones(len(fires), dtype=bool)
            for side in (1.0, -1.0):
                ends = pairs.number(column, mine + side * length)
                for other in beside:
                    seen &= pairs.seen[ends, self.numbers[other][fires]]
            fires, length, sides = fires[seen], length[seen], sides[seen]
        steps = self.steps.setdefault(column, np.zeros(self.state.shape[1]))
        steps[fires] = sides * length


def alternatives(
    law: TableNeighbourhood, values: Floats, donors: Integers, site: int
) -> tuple[Floats, Floats]:
    """Where a site's moves lead rows (rows, columns), and how likely each move is.

    Parameters
    ----------
    law, values, donors, site
        How rows move, the rows, the reference rows of each, and which site.

    Returns
    -------
    (rows, moves, columns), (moves,)
        Every donor once, and of a step both sides.
    """
    count = donors.shape[2]
    movers = Movers(law, values, count, donors)
    uniforms = np.ones((len(law.sites), len(values) * count))
    uniforms[site] = np.tile((np.arange(count) + 0.25) / count, len(values))
    movers.move(uniforms, np.ones(len(law.sites)), [site])
    shape = (len(values), count, values.shape[1])
    if law.sites[site].movement != "step":
        return movers.ends().reshape(shape), np.full(count, 1 / count)
    sides = [movers.ends(side).reshape(shape) for side in (1.0, -1.0)]
    return np.concatenate(sides, axis=1), np.full(2 * count, 0.5 / count)
