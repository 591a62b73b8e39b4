"""The deviation of a model from its mean on spheres, for some points and turns of a ball.

The science of gamma in one place: build the points of the sphere where the model lives, call the
model once, average each turn of the ball, and take from the turns a deviation, its error and a
square without bias. Nothing here decides how many turns a point gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import NamedTuple, cast

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import NDArray

from anharmonic._core.arrays import array_like, to_numpy, to_numpy64
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.reductions import Reduction, combined, picked
from anharmonic.measures.setup.batching import call_with_flags
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.sphere import Sphere, neighbourhood

__all__ = ["Along", "Changes", "Task", "TaskResult", "measure_ahead", "measure_task"]

NONE: Integers = np.empty(0, dtype=np.int64)
FLAT = 1e-3
"""A change below this share of the largest is none."""


class Task(NamedTuple):
    """Some rows, and the turns of the ball they are due."""

    rows: Integers
    first_turn: int
    turns: int


class TaskResult(NamedTuple):
    """What a task measured: arrays over its rows, ready to be merged with other turns.

    - `deviations`, `centres` (rows, columns): means over the turns.
    - `squares` (rows,): sum of squared deviations of the jackknife's pseudo-values.
    - `noise` (rows,): how much of gamma² is noise, times the number of turns.
    - `bad`: rows that the model gave no number at or near; they are in no other array.
    """

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
    along: Along | None = None


class Along(NamedTuple):
    """How far a table's answers went with each column that moved, sums over a task's neighbours.

    - `moved` (rows, n): neighbours in which the column moved.
    - `lengths` (rows, n): the summed lengths of their changes.
    - `total` (rows,): of all neighbours' changes.
    """

    moved: Integers
    lengths: Floats
    total: Floats

    @classmethod
    def of(cls, start: Floats, around: Floats, lengths: Floats) -> Along:
        """From rows (rows, n), neighbours (rows, directions, n) and lengths (rows, directions)."""
        here = start[:, None, :]
        moved = (around != here) & ~(np.isnan(around) & np.isnan(here))
        summed = np.einsum("rdn,rd->rn", moved, lengths)
        return cls(moved.sum(axis=1), summed, lengths.sum(axis=1))

    def plus(self, other: Along) -> Along:
        """The sums of both."""
        return Along(
            self.moved + other.moved, self.lengths + other.lengths, self.total + other.total
        )

    def take(self, rows: slice | NDArray[np.bool_]) -> Along:
        """The sums at some of the rows."""
        return Along(self.moved[rows], self.lengths[rows], self.total[rows])


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
        largest = squares.max(axis=1)
        flat = np.sum(squares <= (FLAT**2 * largest)[:, None], axis=1)
        return cls(np.sqrt(largest), flat, same)


class Piece(NamedTuple):
    """Points to ask for at once: (rows, centres + directions, n), and how many bounds moved."""

    segments: list[Segment]
    centres: int
    points: Array
    clipped: int


def measure_ahead(sphere: Sphere, tasks: Iterable[Task]) -> Iterator[TaskResult]:
    """Measure tasks in turn, building a task's first points while the model answers the last.

    Frames of other than numbers take time to draw, and most pipelines use one core.
    """
    with ThreadPoolExecutor(1) as builder:
        waiting: tuple[Task, Future[Piece], Iterator[Piece]] | None = None
        for task in tasks:
            pieces = _pieces(sphere, task)
            built = task, builder.submit(next, pieces), pieces
            if waiting is not None:
                yield _measure_built(sphere, *waiting)
            waiting = built
        if waiting is not None:
            yield _measure_built(sphere, *waiting)


def _measure_built(
    sphere: Sphere, task: Task, first: Future[Piece], others: Iterator[Piece]
) -> TaskResult:
    return measure_task(sphere, task, chain([first.result()], others))


def _pieces(sphere: Sphere, task: Task) -> Iterator[Piece]:
    """A task's points, as many at a time as fit in memory; the first have the centres."""
    centres = _repeats(sphere, task)
    for segments in _fitting_segments(sphere, task, centres):
        yield Piece(segments, centres, *neighbourhood(sphere, task.rows, segments, centres))
        centres = 0


def _repeats(sphere: Sphere, task: Task) -> int:
    """How often centres are asked for: a noisy model's anew for every turn, so that turns stay
    independent.
    """
    return task.turns if sphere.noisy else 1


def measure_task(sphere: Sphere, task: Task, pieces: Iterable[Piece] | None = None) -> TaskResult:
    """Call the model at a task's points and their neighbours, and average each turn.

    The paper's Algorithm 1: f(x) less the mean of f over the directions of a ball around x.
    """
    centre: Floats  # (rows, repeats, columns)
    sums: Floats | None = None  # (rows, turns, columns)
    squares: list[Floats] = []
    same: Integers = np.zeros(len(task.rows), dtype=np.int64)
    queries = clipped = 0
    bad = np.zeros(len(task.rows), dtype=bool)
    along: Along | None = None
    for segments, centres, points, cut in pieces or _pieces(sphere, task):
        outputs, unanswered = call_with_flags(sphere.caller, points, task.rows)
        bad |= unanswered
        queries, clipped = queries + outputs.shape[0] * outputs.shape[1], clipped + cut
        if sums is None:
            # The mean answer decides which column is the predicted one, (rows, columns).
            answer = array_namespace(outputs).mean(outputs[:, :centres], axis=1)
            centre_outputs = picked(sphere.reduction, answer, outputs[:, :centres])
            centre = to_numpy64(centre_outputs)
            sums = np.zeros((len(task.rows), task.turns, centre.shape[-1]))
        around = picked(sphere.reduction, answer, outputs[:, centres:])
        change = around - array_namespace(around).mean(centre_outputs, axis=1, keepdims=True)
        if sphere.listed is None:
            sums += _turn_sums(sphere, task, segments, around)
        else:
            sums += _weighted_changes(sphere.listed[1], task, segments, change)
        same += _count_unchanged(change)
        even = _even_part(change, segments) if sphere.ball.paired else change
        squares.append(to_numpy64(_squared_lengths(even)))
        if sphere.table is not None:
            lengths = np.sqrt(to_numpy64(_squared_lengths(change)))
            part = Along.of(sphere.table.values[task.rows], points[:, centres:], lengths)
            along = part if along is None else along.plus(part)
    assert sums is not None
    good = ~bad if bad.any() else slice(None)  # a slice copies nothing
    # Eq. 3 of the paper, one deviation per turn: f(x) − mean of f on the turn's directions.
    # Of a list it is what the weighted changes leave: exactly 0 where no answer differs.
    deviations = 0.0 - sums if sphere.listed is not None else centre - sums / sphere.ball.count
    mean_centres = centre.mean(axis=1)
    changes = Changes.of(np.concatenate(squares, axis=1)[good], same[good])
    result = _jackknife(
        sphere.reduction,
        task._replace(rows=task.rows[good]),
        deviations[good],
        mean_centres[good],
        changes,
        queries,
        clipped,
    )
    return result._replace(bad=task.rows[bad], along=None if along is None else along.take(good))


def _turn_sums(sphere: Sphere, task: Task, segments: list[Segment], around: Array) -> Floats:
    """Sums over each turn's directions, (rows, turns, columns)."""
    # (turns, directions) @ (rows, directions, columns): as a product this sum is several times
    # faster than numpy's over a middle axis.
    members = array_like(_turn_members(task, segments, sphere.ball.paired), around)
    return to_numpy64(members @ around)


def _weighted_changes(
    weights: Floats, task: Task, segments: list[Segment], change: Array
) -> Floats:
    """Sums over a list's neighbours of their changes with their weights, (rows, 1, columns)."""
    parts = [weights[task.rows, first:stop] for _, first, stop in segments]
    summed = np.einsum("rd,rdc->rc", np.concatenate(parts, axis=1), to_numpy64(change))
    return np.asarray(summed[:, None, :])


def _count_unchanged(change: Array) -> Integers:
    """How many neighbours of each row have exactly its answer, (rows,)."""
    # A smooth model changes every column, so that the first one says it for all.
    unchanged = np.asarray(to_numpy(change[..., 0] == 0), dtype=bool)
    if unchanged.any():
        unchanged &= to_numpy64(_squared_lengths(change)) == 0
    return np.asarray(np.count_nonzero(unchanged, axis=1))


def _squared_lengths(vectors: Array) -> Array:
    """Of vectors (rows, directions, columns): (rows, directions)."""
    if is_numpy_array(vectors):
        # Several times faster than a sum over a short last axis.
        return np.einsum("ijk,ijk->ij", vectors, vectors)
    return array_namespace(vectors).sum(vectors * vectors, axis=-1)


def _even_part(change: Array, segments: list[Segment]) -> Array:
    """Of changes along pairs the even part, (f(x+u) + f(x−u))/2 − f(x): (rows, pairs, columns).

    A turn's reflections stand behind its originals.
    """
    parts, start = [], 0
    for _, first, stop in segments:
        half, end = start + stop - first, start + 2 * (stop - first)
        parts.append((change[:, start:half] + change[:, half:end]) / 2)
        start = end
    return array_namespace(change).concat(parts, axis=1)


def _fitting_segments(sphere: Sphere, task: Task, repeats: int) -> Iterator[list[Segment]]:
    """Group a task's directions into pieces that fit in memory."""
    drawn = sphere.ball.count // 2 if sphere.ball.paired else sphere.ball.count
    sides = 2 if sphere.ball.paired else 1
    points_per_row = sphere.chunk // len(task.rows)
    # The first piece holds the centres too.
    most, free = max(1, points_per_row // sides), max(1, (points_per_row - repeats) // sides)
    segments: list[Segment] = []
    for turn in range(task.first_turn, task.first_turn + task.turns):
        start = 0
        while start < drawn:
            if not free:
                yield segments
                segments, free = [], most
            stop = min(drawn, start + free)
            segments.append(Segment(turn, start, stop))
            free -= stop - start
            start = stop
    yield segments


def _turn_members(task: Task, segments: list[Segment], paired: bool) -> Floats:
    """Which of the directions asked for belong to which turn: (turns, directions) of 0 and 1."""
    widths = [(stop - start) * (2 if paired else 1) for _, start, stop in segments]
    turns = np.repeat([segment.turn - task.first_turn for segment in segments], widths)
    return cast(Floats, (np.arange(task.turns)[:, None] == turns).astype(np.float64))


def _jackknife(
    reduction: Reduction,
    task: Task,
    deviations: Floats,
    centres: Floats,
    changes: Changes,
    queries: int,
    clipped: int,
) -> TaskResult:
    """Jackknife the turns' deviations (rows, turns, columns), leaving out one turn at a time.

    One way for every reduction, exact where the reduction is linear.
    """
    turns = deviations.shape[1]
    mean = deviations.mean(axis=1)
    value = combined(reduction, mean, centres)
    if turns == 1:
        zeros = np.zeros(len(value))
        return TaskResult(
            task.rows, 1, mean, centres, zeros, zeros, changes, queries, clipped, NONE
        )
    # Means without one turn, (rows, turns, columns), and what they reduce to, (rows, turns).
    without = (turns * mean[:, None] - deviations) / (turns - 1)
    values = combined(reduction, without, np.broadcast_to(centres[:, None], without.shape))
    # Tukey's pseudo-values T·g − (T−1)·g₋ᵢ spread (T−1) times as far as the g₋ᵢ. Their summed
    # squares over T·(T−1) are the squared standard error (see `Accumulator.errors`).
    squares = (turns - 1) ** 2 * np.sum((values - values.mean(axis=1, keepdims=True)) ** 2, axis=1)
    # Quenouille: T·g² − (T−1)·mean of the g² without one turn has no bias of order 1/T; for a
    # norm or a number it is the mean product of two different turns, which has none at all.
    unbiased = turns * value**2 - (turns - 1) * np.mean(values**2, axis=1)
    noise = (value**2 - unbiased) * turns
    return TaskResult(
        task.rows, turns, mean, centres, squares, noise, changes, queries, clipped, NONE
    )
