"""Neighbours of a table's rows: numbers by a ball, everything else by the reference's own values.

What is drawn depends on (seed, row, turn, direction, column) alone, as with balls. Both sides of a
pair get the same new values and step to opposite sides, so that a straight line reads 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic import balls
from anharmonic._core.directions import Directions
from anharmonic._core.protocols import Array, Ball, Draw, Floats, Integers
from anharmonic._core.randomness import uniforms as draw_uniforms
from anharmonic._core.streams import RowStream
from anharmonic.measures.setup.protocols import Neighbourhood, Segment
from anharmonic.regions import Region
from anharmonic.regions.tables import TableNeighbourhood
from anharmonic.regions.tables.moving import Movers

__all__ = [
    "ONE_COLUMN",
    "TableRows",
    "around_table",
    "complete_ball",
    "fixed_table_ball",
    "number_reach",
    "one_column",
    "table_ball",
    "table_rows",
]

ONE_COLUMN = "one column"
"""A ball whose every neighbour moves one column alone, chosen at random."""
COMPLETE = "complete"
"""Every neighbour there is, each with its weight."""
MOST_KEPT = 1 << 26
"""Numbers of reference rows that are kept: beyond, they are looked for whenever they are needed."""
RESAMPLED = "resampled"
"""A ball where no number moves: it only counts neighbours."""


@dataclass(frozen=True, eq=False)
class TableRows:
    """The rows of a region, and the reference rows that each may take values from.

    These are looked for once per row, wherever a walk has led from it; of very many rows they are
    not kept.

    Parameters
    ----------
    law
        How rows move.
    values : (rows, columns)
        The rows, coded.
    kept : (rows, sites, count) or (0, sites, count)
        Reference rows that were looked for.
    known : (rows,)
        Which rows' they are.
    """

    law: TableNeighbourhood
    values: Floats
    kept: NDArray[np.int32]
    known: NDArray[np.bool_]

    def __reduce__(self) -> tuple[Any, ...]:
        # What a worker process needs it finds itself: sending it would take longer.
        return _nothing_known, (self.law, self.values)

    def donors(self, rows: Integers) -> Integers:
        """Reference rows of some rows, (rows, sites, count)."""
        if not len(self.kept):
            return self.law.donors.of(self.values[rows])
        wanted = np.unique(rows)
        lacking = wanted[~self.known[wanted]]
        if len(lacking):
            self.kept[lacking] = self.law.donors.of(self.values[lacking])
            self.known[lacking] = True
        return np.asarray(self.kept[rows])


def table_rows(region: Region) -> TableRows | None:
    """Of a region whose rows are not all numbers; None for any other."""
    law = region.neighbourhood
    return None if law is None else _nothing_known(law, np.asarray(region.values))


def _nothing_known(law: TableNeighbourhood, values: Floats) -> TableRows:
    """Rows whose reference rows are still to be looked for."""
    shape = (len(values), len(law.sites), law.donors.count)
    if np.prod(shape) > MOST_KEPT:
        shape = (0, *shape[1:])
    known = np.zeros(shape[0], dtype=bool)
    return TableRows(law, values, np.zeros(shape, dtype=np.int32), known)


def table_ball(ball: Directions | None, wanted: int, paired: bool) -> Directions:
    """A ball for rows that are not all numbers: as many neighbours as wanted.

    A whole ball in few dimensions has few directions; it is repeated, because the other columns
    need more of them.
    """
    if ball is None:
        half = max(1, wanted // 2) if paired else max(1, wanted)
        rule = _no_directions
        single = Directions(RESAMPLED, 0, half, rule, fresh=True, rotates=False)
        return balls.pairs(single) if paired else single
    times = max(1, wanted // ball.count)
    if times == 1:
        return ball
    base = ball.count // 2 if ball.paired else ball.count
    rule = partial(_repeated, rule=ball.rule, count=base)
    return replace(ball, name=f"{ball.name} × {times}", count=ball.count * times, rule=rule)


def fixed_table_ball(dimension: int, count: int, paired: bool, seed: int) -> Directions:
    """A ball for such rows that is drawn once: every row moves by the same random numbers."""
    half = max(1, count // 2) if paired else count
    if not dimension:
        return replace(table_ball(None, count, paired), fresh=False)
    drawn = balls.fixed(balls.random(dimension, half).vectors(seed), f"{half} random")
    return balls.pairs(drawn) if paired else drawn


def complete_ball(count: int) -> Directions:
    """A ball that stands for a list of all neighbours."""
    return Directions(COMPLETE, 0, count, _no_directions, fresh=False, rotates=False)


def one_column(dimension: int, count: int) -> Directions:
    """Neighbours that differ in one column each; which one is drawn."""
    rule = partial(_no_directions, dimension=dimension)
    return Directions(ONE_COLUMN, dimension, count, rule, fresh=True, rotates=False)


def _no_directions(draw: Draw, indices: Array, dimension: int = 0) -> Array:
    return np.zeros((1, indices.shape[-1], dimension))


def _repeated(draw: Draw, indices: Array, rule: Callable[..., Array], count: int) -> Array:
    return rule(draw, indices % count)


AroundNumbers = Callable[[Neighbourhood, Array, Integers, list[Segment]], tuple[Array, int]]
"""`sphere.around` for rows of numbers."""


@dataclass(frozen=True)
class _Numbers:
    """The ball over a table's numbers, as a neighbourhood of its own."""

    ball: Ball
    radius: float
    units: Floats
    limits: tuple[Floats, Floats] | None
    seed: int
    pairs_alike: bool = True
    table: None = None
    zeros_stay: bool = False


def number_reach(law: TableNeighbourhood, ball: Ball, radius: float, seed: int) -> Neighbourhood:
    """The neighbourhood of a table's numbers alone, at a radius of whole rows."""
    numbers = law.numbers
    return _Numbers(ball, law.ball_radius(radius), law.units[numbers], law.limits, seed)


def around_table(
    reach: Neighbourhood,
    table: TableRows,
    start: Floats,
    rows: Integers,
    segments: list[Segment],
    centres: int,
    owners: Integers,
    around_numbers: AroundNumbers,
) -> tuple[Floats, int]:
    """Neighbours (rows, centres + directions, n) of points `start` (rows, n), as `sphere.around`.

    `owners` are the rows whose reference rows values are taken from.
    """
    law, ball = table.law, reach.ball
    sides = 2 if ball.paired else 1
    width = sum(stop - first for _, first, stop in segments) * sides
    points = np.empty((len(rows), centres + width, start.shape[1]))
    points[:] = start[:, None, :]
    alone = ball.name.removesuffix(" pairs") == ONE_COLUMN
    numbers, shortened = law.numbers, 0
    if len(numbers) and not alone:
        over = number_reach(law, ball, reach.radius, reach.seed)
        moved, shortened = around_numbers(over, start[:, numbers], rows, segments)
        moved = _keep_outside(law, start[:, numbers], moved)
        points[:, centres:, numbers] = _keep_sums(law, start[:, numbers], moved)
    donors = table.donors(owners)
    chances = np.ones(len(law.sites)) if alone else law.chances(reach.radius)
    column = centres
    for turn, first, stop in segments:
        count = stop - first
        # A ball that never draws anew moves all rows by the same random numbers.
        drawn = rows if ball.fresh else np.zeros(len(rows), dtype=np.int64)
        turns = np.full(len(rows), turn if ball.fresh else 0)
        draw = Draw(reach.seed, drawn, turns, np.empty(0))
        # Two further numbers per neighbour: which column moves alone, and to which side.
        width_of_draw = len(law.sites) + 2
        uniforms = draw_uniforms(draw, np.arange(first, stop), width_of_draw, RowStream.TABLE)
        uniforms = np.ascontiguousarray(uniforms.reshape(-1, width_of_draw).T)
        movers = Movers(law, start, count, donors)
        if alone:
            _move_one(law, movers, uniforms, chances, reach.radius)
        else:
            movers.move(uniforms[2:], chances)
        for side in range(sides):
            block = points[:, column : column + count]
            ends = movers.ends(1.0 - 2 * side).reshape(block.shape)
            _write_moved(law, start, ends, block, alone)
            column += count
    return points, shortened


def _move_one(
    law: TableNeighbourhood, movers: Movers, uniforms: Floats, chances: Floats, radius: float
) -> None:
    """Move one column of each neighbour: a number by the whole radius, anything else by its law."""
    numbers = law.numbers
    which = (uniforms[0] * (len(numbers) + len(law.sites))).astype(np.int64)
    chosen = which - len(numbers) == np.arange(len(law.sites))[:, None]
    movers.move(np.where(chosen, uniforms[2:], 1.0), chances)
    for place, column in enumerate(numbers.tolist()):
        rows = np.flatnonzero(which == place)
        step = np.where(uniforms[1, rows] < 0.5, 1.0, -1.0) * radius * law.units[column]
        # As far as its bounds let it; a number that is outside already stays there.
        here = movers.state[column, rows]
        moved = np.clip(here + step, law.low[column], law.high[column])
        outside = (here < law.low[column]) | (here > law.high[column])
        movers.state[column, rows] = np.where(outside, here, moved)


def _write_moved(
    law: TableNeighbourhood, start: Floats, ends: Floats, block: Floats, alone: bool
) -> None:
    """Write what moved into the points; numbers only where they went missing or were found."""
    numbers = law.numbers
    if alone or not len(numbers):
        block[:] = ends
        return
    others = np.setdiff1d(np.arange(len(law.kinds)), numbers)
    block[..., others] = ends[..., others]
    gaps = np.isnan(ends[..., numbers]) != np.isnan(start[:, None, numbers])
    if gaps.any():
        block[..., numbers] = np.where(gaps, ends[..., numbers], block[..., numbers])


def _keep_outside(law: TableNeighbourhood, start: Floats, moved: Floats) -> Floats:
    """Moved numbers with those where they were that no bounds hold: no pair fits around them."""
    if law.limits is None:
        return moved
    low, high = law.limits
    outside = (start < low) | (start > high)
    return np.where(outside[:, None, :], start[:, None, :], moved) if outside.any() else moved


def _keep_sums(law: TableNeighbourhood, start: Floats, moved: Floats) -> Floats:
    """Moved numbers with shares of a whole adding up as before, and none below 0."""
    for whole in law.wholes:
        steps = moved[..., whole] - start[:, None, whole]
        steps -= steps.mean(axis=-1, keepdims=True)
        # Both sides of a pair are shortened alike: by the smaller share on either side.
        room = np.divide(
            start[:, None, whole],
            np.abs(steps),
            out=np.full(steps.shape, np.inf),
            where=steps != 0,
        ).min(axis=-1, keepdims=True)
        moved[..., whole] = start[:, None, whole] + steps * np.minimum(room, 1.0)
    return moved
