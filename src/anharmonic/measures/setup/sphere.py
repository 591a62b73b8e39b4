"""Points around points: a ball's directions, of a radius, around rows, where the model lives."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from types import ModuleType

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from anharmonic._core.arrays import array_like
from anharmonic._core.protocols import Array, Ball, Draw, Floats, Integers
from anharmonic._core.reductions import Reduction
from anharmonic.measures.setup.batching import ModelCaller
from anharmonic.measures.setup.protocols import Neighbourhood, Segment
from anharmonic.measures.setup.settling import Setup
from anharmonic.measures.setup.table_rows import TableRows, around_table, table_rows
from anharmonic.regions import Region

__all__ = [
    "Neighbourhood",
    "Segment",
    "Sphere",
    "around",
    "neighbourhood",
    "rows_on_device",
    "slack",
]

BLOCK = 16384
"""Points whose directions are drawn at once: what they need should stay in the caches."""


@dataclass(frozen=True)
class Sphere:
    """Spheres around the rows of a region: the model's calls, the radius, the directions.

    Parameters
    ----------
    caller, chunk
        The model's calls, and how many points to build at once.
    ball, radius, units, limits, seed
        The directions, how far in units, a unit for each column, bounds, and the random seed.
    reduction
        How a vector of outputs becomes a number.
    noisy
        Whether the model answers the same question differently.
    table
        How rows move that are not all numbers.
    listed
        Every neighbour there is (rows, neighbours, n), and weights (rows, neighbours), where
        these are few.
    """

    caller: ModelCaller
    ball: Ball
    radius: float
    units: Floats
    limits: tuple[Floats, Floats] | None
    reduction: Reduction
    seed: int
    chunk: int
    noisy: bool = False
    table: TableRows | None = None
    listed: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, setup: Setup, ball: Ball, reduction: Reduction = "norm") -> Sphere:
        """Spheres of a setup's radius around its points."""
        return cls(
            caller=setup.caller,
            ball=ball,
            radius=setup.radius,
            units=setup.units,
            limits=setup.limits,
            reduction=reduction,
            seed=setup.seed,
            chunk=setup.chunk,
            table=table_rows(setup.region),
        )

    @property
    def region(self) -> Region:
        return self.caller.region

    @property
    def pairs_alike(self) -> bool:
        return True

    @property
    def zeros_stay(self) -> bool:
        return self.region.form == "sparse"


def neighbourhood(
    sphere: Sphere, rows: Integers, segments: list[Segment], centres: int
) -> tuple[Array, int]:
    """Points to ask for, (rows, centres + directions, n), and how many the bounds moved."""
    if sphere.listed is not None:
        start = np.repeat(rows_on_device(sphere.caller, rows)[:, None, :], centres, axis=1)
        listed = [sphere.listed[0][rows, first:stop] for _, first, stop in segments]
        return np.concatenate([start, *listed], axis=1), 0
    start, numbers = rows_on_device(sphere.caller, rows), sphere.region.addresses_of(rows)
    return around(sphere, start, numbers, segments, centres, owners=rows)


def rows_on_device(caller: ModelCaller, rows: Integers) -> Array:
    """Some rows of the region (rows, n), where the model lives and in its precision."""
    start = _chunk(caller.region.values, rows)
    # A table's columns are put together on the host, whatever the model.
    return start if caller.region.is_table else caller.model.place(start)


def around(
    reach: Neighbourhood,
    start: Array,
    rows: Integers,
    segments: list[Segment],
    centres: int = 0,
    owners: Integers | None = None,
) -> tuple[Array, int]:
    """Neighbours of any points `start` (rows, n), with the directions those rows get.

    (rows, centres + directions, n), and how many the bounds moved. Coordinate by coordinate, a
    pair is made as short as its shorter side allows: cut on one side alone, it would show the
    slope of f instead of its bend. Single directions are cut where they leave. `owners` are the
    region's rows that the points belong to, where `rows` only number what is drawn.
    """
    if reach.table is not None:
        whose = rows if owners is None else owners
        return around_table(reach, reach.table, start, rows, segments, centres, whose, around)
    xp = array_namespace(start)
    width = sum(stop - first for _, first, stop in segments) * (2 if reach.ball.paired else 1)
    shape = (len(rows), centres + width, start.shape[1])
    points = xp.empty(shape, dtype=start.dtype, device=device(start))
    points[:, :centres] = start[:, None, :]
    rows_per_block = max(1, BLOCK // max(1, width))
    longest = slack(reach, start)
    shortened = 0
    for first in range(0, len(rows), rows_per_block):
        block = slice(first, first + rows_per_block)
        block_longest = None if longest is None else longest[block, None, :]
        shortened += _draw_neighbours(
            reach, start[block], rows[block], segments, points[block, centres:], block_longest
        )
    if reach.limits is None:
        return points, 0
    low, high = (array_like(limit, start) for limit in reach.limits)
    if longest is None:
        outside = (points < low) | (points > high)
        shortened = int(xp.sum(xp.any(outside, axis=-1)))
    # Of pairs made to fit only rounding is left to cut.
    return xp.clip(points, low, high), shortened


def slack(reach: Neighbourhood, start: Array) -> Array | None:
    """How far a pair around each point can reach to both sides, (rows, n); None for any length."""
    if reach.limits is None or not (reach.ball.paired and reach.pairs_alike):
        return None
    low, high = (array_like(limit, start) for limit in reach.limits)
    return array_namespace(start).minimum(start - low, high - start)


def _draw_neighbours(
    reach: Neighbourhood,
    start: Array,
    rows: Integers,
    segments: list[Segment],
    points: Array,
    longest: Array | None,
) -> int:
    """Write the neighbours of a block of rows into `points`; how many had to be shortened."""
    xp = array_namespace(start)
    lengths = array_like(reach.radius * reach.units, start)
    column = shortened = 0
    # Turns that draw the same indices are drawn in one call of the ball.
    for (first, stop), alike in groupby(segments, key=lambda segment: segment[1:]):
        turns = np.array([segment.turn for segment in alike])
        # All rows of the first turn, then all rows of the next: (turns · rows,).
        row_and_turn = np.tile(rows, len(turns)), np.repeat(turns, len(rows))
        indices = xp.arange(first, stop, dtype=xp.int64, device=device(start))
        # (turns · rows, directions, n), or (1, directions, n) where all get the same.
        steps = reach.ball.draw(Draw(reach.seed, *row_and_turn, start), indices)
        steps *= lengths
        if reach.zeros_stay:
            steps = steps * np.tile(start != 0, (len(turns), 1))[:, None, :]
        if longest is not None:
            shaped = steps.reshape((-1, len(start) if len(steps) > 1 else 1, *steps.shape[1:]))
            fitting = xp.clip(shaped, -longest, longest)
            shortened += 2 * int(xp.sum(xp.any(fitting != shaped, axis=-1)))
            steps = fitting.reshape((-1, *steps.shape[1:]))
        column = _write_neighbours(xp, start, steps, len(turns), reach.ball.paired, points, column)
    return shortened


def _chunk(values: Array, rows: Integers) -> Array:
    """Some rows of the values; a view where the rows are one run."""
    if len(rows) and (np.diff(rows) == 1).all():
        chunk = values[int(rows[0]) : int(rows[-1]) + 1]
    else:
        chunk = values[rows.tolist()]
    return chunk.astype(np.float64, copy=False) if is_numpy_array(chunk) else chunk


def _write_neighbours(
    xp: ModuleType,
    start: Array,
    steps: Array,
    turns: int,
    paired: bool,
    points: Array,
    column: int,
) -> int:
    """Write start ± steps into the points from a column on; the column after the last."""
    directions = steps.shape[1]
    width = directions * (2 if paired else 1)
    # (turns or 1, rows or 1, directions, n)
    shaped = steps.reshape((-1, len(start) if len(steps) > 1 else 1, *steps.shape[1:]))
    for turn in range(turns):
        step = shaped[turn if len(shaped) > 1 else 0]
        half = column + directions
        xp.add(start[:, None, :], step, out=points[:, column:half])
        if paired:
            xp.subtract(start[:, None, :], step, out=points[:, half : column + width])
        column += width
    return column
