"""The deviation of a model from its mean on a sphere, for a batch of points.

The science of gamma in one place: build the points of the sphere where the model lives,
ask once, average each turn of the ball, and take from the turns a deviation, its error
and a square without bias. Nothing here decides how many turns a point gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from anharmonic._core.arrays import array_like, to_numpy64
from anharmonic._core.protocols import Array, Ball, Draw, Floats, Integers
from anharmonic._core.reductions import Reduction, combined, picked
from anharmonic.measures.setup.batching import ModelCaller, call_with_flags
from anharmonic.measures.setup.settling import Setup
from anharmonic.regions import Region

NONE: Integers = np.empty(0, dtype=np.int64)
FLAT = 1e-3
"""A change below this share of the largest is none."""

BLOCK = 16384
"""Points whose directions are drawn at once: what they need should stay in the caches."""

__all__ = [
    "Changes",
    "Neighbourhood",
    "Segment",
    "Sphere",
    "Task",
    "TaskResult",
    "around",
    "measure_task",
    "neighbourhood",
    "rows_on_device",
    "slack",
]


class Neighbourhood(Protocol):
    """How neighbours are made: in which directions, how far, within which bounds."""

    @property
    def ball(self) -> Ball: ...

    @property
    def radius(self) -> float: ...

    @property
    def units(self) -> Floats: ...

    @property
    def limits(self) -> tuple[Floats, Floats] | None: ...

    @property
    def pairs_alike(self) -> bool:
        """Whether bounds shorten both of a pair where they shorten one, as a mean needs."""

    @property
    def seed(self) -> int: ...


@dataclass(frozen=True)
class Sphere:
    """All that a chunk of points needs: whom to ask, how far around, in which directions."""

    caller: ModelCaller
    ball: Ball
    radius: float
    units: Floats
    limits: tuple[Floats, Floats] | None
    reduction: Reduction
    seed: int
    chunk: int
    noisy: bool = False

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
        )

    @property
    def region(self) -> Region:
        return self.caller.region

    @property
    def pairs_alike(self) -> bool:
        return True


class Task(NamedTuple):
    """Some rows, and the turns of the ball they are due."""

    rows: Integers
    first_turn: int
    turns: int


class TaskResult(NamedTuple):
    """What a task found: arrays over its rows, ready to be merged with other turns."""

    rows: Integers
    turns: int
    deviations: Floats
    centres: Floats
    squares: Floats
    noise: Floats
    changes: Changes
    queries: int
    clipped: int
    bad: Integers
    """Rows that the model gave no number at or near; they are in no other array."""


class Changes(NamedTuple):
    """How a task's neighbours differ from their centres, over its rows.

    - `largest`: the largest change along one direction; of a pair, its even part
      |f(x+u) + f(x−u) − 2·f(x)| / 2.
    - `flat`: directions (of pairs: pairs) with less than a thousandth of that.
    - `same`: neighbours with exactly the centre's answer.
    """

    largest: Floats
    flat: Integers
    same: Integers

    @classmethod
    def of(cls, squares: Floats, same: Integers) -> Changes:
        """From the squared changes of all directions, (rows, directions)."""
        most = squares.max(axis=1)
        flat = np.sum(squares <= (FLAT**2 * most)[:, None], axis=1)
        return cls(np.sqrt(most), flat, same)


class Segment(NamedTuple):
    """A run of one turn's directions."""

    turn: int
    start: int
    stop: int


def measure_task(sphere: Sphere, task: Task) -> TaskResult:
    """Ask for a task's points and their neighbours, and average each turn."""
    centre: Floats | None = None
    sums: Floats | None = None
    squares: list[Floats] = []
    same: Integers = np.zeros(len(task.rows), dtype=np.int64)
    queries = clipped = 0
    bad = np.zeros(len(task.rows), dtype=bool)
    repeats = task.turns if sphere.noisy else 1
    for segments in _fitting_segments(sphere, task, repeats):
        asked = repeats if centre is None else 0
        points, cut = neighbourhood(sphere, task.rows, segments, asked)
        outputs, unknown = call_with_flags(sphere.caller, points, task.rows)
        bad |= unknown
        queries, clipped = queries + outputs.shape[0] * outputs.shape[1], clipped + cut
        if centre is None or sums is None:
            whole = array_namespace(outputs).mean(outputs[:, :asked], axis=1)
            middle = picked(sphere.reduction, whole, outputs[:, :asked])
            centre = to_numpy64(middle)
            sums = np.zeros((len(task.rows), task.turns, centre.shape[-1]))
        around = picked(sphere.reduction, whole, outputs[:, asked:])
        # As a product this sum is several times faster than numpy's over a middle axis.
        sums += to_numpy64(
            array_like(_turn_members(task, segments, sphere.ball.paired), around) @ around
        )
        change = around - array_namespace(around).mean(middle, axis=1, keepdims=True)
        lengths = to_numpy64(_squared_lengths(change))
        same += np.count_nonzero(lengths == 0, axis=1)
        if sphere.ball.paired:
            lengths = to_numpy64(_squared_lengths(_even(change, segments)))
        squares.append(lengths)
    assert centre is not None
    assert sums is not None
    good = ~bad if bad.any() else slice(None)  # a slice copies nothing
    deviations, centres = centre - sums / sphere.ball.count, centre.mean(axis=1)
    changes = Changes.of(np.concatenate(squares, axis=1)[good], same[good])
    part = _task_result(
        sphere.reduction,
        task._replace(rows=task.rows[good]),
        deviations[good],
        centres[good],
        changes,
        queries,
        clipped,
    )
    return part._replace(bad=task.rows[bad])


def _squared_lengths(vectors: Array) -> Array:
    """Of vectors (rows, directions, columns): (rows, directions)."""
    if is_numpy_array(vectors):
        # Several times faster than a sum over a short last axis.
        return np.einsum("ijk,ijk->ij", vectors, vectors)
    return array_namespace(vectors).sum(vectors * vectors, axis=-1)


def _even(change: Array, segments: list[Segment]) -> Array:
    """What pairs add along both directions, halved: (rows, pairs, columns).

    A turn's reflections stand behind its originals.
    """
    parts, at = [], 0
    for _, start, stop in segments:
        half, end = at + stop - start, at + 2 * (stop - start)
        parts.append((change[:, at:half] + change[:, half:end]) / 2)
        at = end
    return array_namespace(change).concat(parts, axis=1)


def _fitting_segments(sphere: Sphere, task: Task, repeats: int) -> Iterator[list[Segment]]:
    """Group a task's directions into pieces that fit in memory."""
    half = sphere.ball.count // 2 if sphere.ball.paired else sphere.ball.count
    each = 2 if sphere.ball.paired else 1
    a_row = sphere.chunk // len(task.rows)
    room, free = max(1, a_row // each), max(1, (a_row - repeats) // each)
    segments: list[Segment] = []
    for turn in range(task.first_turn, task.first_turn + task.turns):
        start = 0
        while start < half:
            if not free:
                yield segments
                segments, free = [], room
            stop = min(half, start + free)
            segments.append(Segment(turn, start, stop))
            free -= stop - start
            start = stop
    yield segments


def neighbourhood(
    sphere: Sphere, rows: Integers, segments: list[Segment], centres: int
) -> tuple[Array, int]:
    """Points to ask for, (rows, centres + directions, n), and how many the bounds moved."""
    return around(sphere, rows_on_device(sphere.caller, rows), rows, segments, centres)


def rows_on_device(caller: ModelCaller, rows: Integers) -> Array:
    """Some rows of the region (rows, n), where the model lives and in its precision."""
    start = _chunk(caller.region.values, rows)
    # A table's columns are put together on the host, whatever the model.
    return start if caller.region.is_table else caller.model.place(start)


def around(
    reach: Neighbourhood, start: Array, rows: Integers, segments: list[Segment], centres: int = 0
) -> tuple[Array, int]:
    """Neighbours of any points `start` (rows, n), with the directions those rows get.

    (rows, centres + directions, n), and how many the bounds moved. Coordinate by coordinate, a
    pair is made as short as its shorter side has room for: cut on one side alone, it would
    show the slope of f instead of its bend. Single directions are cut where they leave.
    """
    xp = array_namespace(start)
    width = sum(stop - first for _, first, stop in segments) * (2 if reach.ball.paired else 1)
    shape = (len(rows), centres + width, start.shape[1])
    points = xp.empty(shape, dtype=start.dtype, device=device(start))
    points[:, :centres] = start[:, None, :]
    block = max(1, BLOCK // max(1, width))
    room = slack(reach, start)
    shortened = 0
    for first in range(0, len(rows), block):
        few = slice(first, first + block)
        spare = None if room is None else room[few, None, :]
        shortened += _draw_neighbours(
            reach, start[few], rows[few], segments, points[few, centres:], spare
        )
    if reach.limits is None:
        return points, 0
    low, high = (array_like(limit, start) for limit in reach.limits)
    if room is None:
        cut = (points < low) | (points > high)
        shortened = int(xp.sum(xp.any(cut, axis=-1)))
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
    spare: Array | None,
) -> int:
    """Write the neighbours of a few rows where they belong; how many had to be shortened."""
    xp = array_namespace(start)
    lengths = array_like(reach.radius * reach.units, start)
    at = shortened = 0
    for (first, stop), same in groupby(segments, key=lambda segment: segment[1:]):
        turns = np.array([segment.turn for segment in same])
        pairs = np.tile(rows, len(turns)), np.repeat(turns, len(rows))
        indices = xp.arange(first, stop, dtype=xp.int64, device=device(start))
        steps = reach.ball.draw(Draw(reach.seed, *pairs, start), indices)
        steps *= lengths
        if spare is not None:
            shaped = steps.reshape((-1, len(start) if len(steps) > 1 else 1, *steps.shape[1:]))
            fitting = xp.clip(shaped, -spare, spare)
            shortened += 2 * int(xp.sum(xp.any(fitting != shaped, axis=-1)))
            steps = fitting.reshape((-1, *steps.shape[1:]))
        at = _write_neighbours(xp, start, steps, len(turns), reach.ball.paired, points, at)
    return shortened


def _chunk(values: Array, rows: Integers) -> Array:
    if len(rows) and (np.diff(rows) == 1).all():
        chunk = values[int(rows[0]) : int(rows[-1]) + 1]
    else:
        chunk = values[rows.tolist()]
    return chunk.astype(np.float64, copy=False) if is_numpy_array(chunk) else chunk


def _write_neighbours(
    xp: Any, start: Array, steps: Array, turns: int, paired: bool, points: Array, at: int
) -> int:
    """Write start ± steps into the points from column `at` on; the column after the last."""
    many = len(start)
    width = steps.shape[1] * (2 if paired else 1)
    shaped = steps.reshape((-1, many if len(steps) > 1 else 1, *steps.shape[1:]))
    for turn in range(turns):
        step = shaped[turn if len(shaped) > 1 else 0]
        half = at + steps.shape[1]
        xp.add(start[:, None, :], step, out=points[:, at:half])
        if paired:
            xp.subtract(start[:, None, :], step, out=points[:, half : at + width])
        at += width
    return at


def _turn_members(task: Task, segments: list[Segment], paired: bool) -> Floats:
    """Which of the directions asked for belong to which turn: (turns, directions) of 0 and 1."""
    widths = [(stop - start) * (2 if paired else 1) for _, start, stop in segments]
    turns = np.repeat([segment.turn - task.first_turn for segment in segments], widths)
    return cast(Floats, (np.arange(task.turns)[:, None] == turns).astype(np.float64))


def _task_result(
    reduction: Reduction,
    task: Task,
    deviations: Floats,
    centres: Floats,
    changes: Changes,
    queries: int,
    clipped: int,
) -> TaskResult:
    """Jackknife the turns: one way for every reduction, exact where the reduction is linear."""
    turns = deviations.shape[1]
    mean = deviations.mean(axis=1)
    value = combined(reduction, mean, centres)
    if turns == 1:
        nothing = np.zeros(len(value))
        return TaskResult(
            task.rows, 1, mean, centres, nothing, nothing, changes, queries, clipped, NONE
        )
    without = (turns * mean[:, None] - deviations) / (turns - 1)
    values = combined(reduction, without, np.broadcast_to(centres[:, None], without.shape))
    squares = (turns - 1) ** 2 * np.sum((values - values.mean(axis=1, keepdims=True)) ** 2, axis=1)
    # T·g² − (T−1)·mean of the g² without one turn has no bias of order 1/T; for a norm or a
    # number it is the mean product of two different turns, which has none at all.
    unbiased = turns * value**2 - (turns - 1) * np.mean(values**2, axis=1)
    noise = (value**2 - unbiased) * turns
    return TaskResult(
        task.rows, turns, mean, centres, squares, noise, changes, queries, clipped, NONE
    )
