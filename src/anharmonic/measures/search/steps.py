"""One step of many walks: build every neighbour, ask, choose.

All rows and all directions of a step are asked together, in pieces that fit in memory. What
is chosen depends on neither the pieces nor the other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.margins import by_class, margins_of, of_classes
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.measures.search.result import StepRule
from anharmonic.measures.setup.batching import ModelCaller, call_on_device

__all__ = ["Climb", "Step", "StepChooser", "blocks"]

Climb = Literal["margin", "output", "gamma", "random"]


class Step(NamedTuple):
    """What a step did to some rows.

    `choices` is −1 where no neighbour was anywhere else; `queries` are each row's.
    """

    ends: Array
    choices: Integers
    outputs: Floats
    gammas: Floats
    queries: int


class Judged(NamedTuple):
    """What neighbours are worth (rows, each), less is better; their gammas; queries it took."""

    worth: Floats
    gammas: Floats
    queries: int = 0


def blocks(rows: Integers, each: int) -> Iterator[Integers]:
    """Rows, a few at a time."""
    for start in range(0, len(rows), each):
        yield rows[start : start + each]


@dataclass(frozen=True)
class StepChooser:
    """Whom to ask, how steps are made, and what makes one better than another."""

    caller: ModelCaller
    step_rule: StepRule
    climb: Climb
    chunk: int

    @property
    def sides(self) -> int:
        return 2 if self.step_rule.ball.paired else 1

    @property
    def cost(self) -> int:
        """Queries of one step of one row."""
        count = self.step_rule.ball.count
        return {"random": 1, "gamma": count * (count + 1)}.get(self.climb, count)

    @property
    def rows_at_once(self) -> int:
        """Rows whose neighbours fit in memory together."""
        each = self.sides if self.climb == "random" else self.step_rule.ball.count
        return max(1, self.chunk // each)

    def outputs(self, points: Array, rows: Integers) -> Floats:
        """Answers (rows, each, classes) at points (rows, each, n)."""
        return to_numpy64(self._there(points, rows))

    def _there(self, points: Array, rows: Integers) -> Array:
        """The same, where the model gave them."""
        return by_class(call_on_device(self.caller, points, rows), self.caller.model.kind)

    def step(self, start: Array, rows: Integers, classes: Integers, number: int) -> Step:
        """The best step of each row from where it stands, (rows, n), away from its class."""
        # Odd turns are for the neighbours' own balls.
        turn = 2 * number
        if self.climb == "random":
            return self._anywhere(start, rows, turn)
        best: Step | None = None
        least = np.full(len(rows), np.inf)
        room = max(1, self.chunk // (self.sides * len(rows)))
        for low in range(0, self.step_rule.half, room):
            high = min(self.step_rule.half, low + room)
            ends = self.step_rule.neighbours(start, rows, turn, low, high)
            outputs = self._there(ends, rows)
            within = np.arange(ends.shape[1])
            indices = low + within % (high - low) + self.step_rule.half * (within // (high - low))
            judged = self._judged(ends, outputs, rows, classes, turn + 1, indices)
            worth = np.where(_still(ends, start), np.inf, judged.worth)
            place = np.argmin(worth, axis=1)
            reached = _picked(worth, place)
            here = Step(
                _picked(ends, place),
                np.where(np.isfinite(reached), indices[place], -1),
                to_numpy64(_picked(outputs, place)),
                _picked(judged.gammas, place),
                outputs.shape[1] + judged.queries,
            )
            if best is None:
                best, least = here, reached
                continue
            # Ties go to the first direction, as they would if all had been asked at once.
            wins = (reached < least) | ((reached == least) & (here.choices < best.choices))
            best = _merged(best, here, wins & np.isfinite(reached))
            least = np.minimum(least, reached)
        assert best is not None
        return best

    def _anywhere(self, start: Array, rows: Integers, turn: int) -> Step:
        """A random step of each row."""
        there, choices = self.step_rule.anywhere(start, rows, turn)
        moved = ~_still(there[:, None, :], start)[:, 0]
        outputs = self.outputs(there[:, None, :], rows)[:, 0]
        return Step(there, np.where(moved, choices, -1), outputs, np.full(len(rows), np.nan), 1)

    def _judged(
        self,
        ends: Array,
        outputs: Array,
        rows: Integers,
        classes: Integers,
        turn: int,
        indices: Integers,
    ) -> Judged:
        unknown = np.full(outputs.shape[:2], np.nan)
        if self.climb == "margin":
            return Judged(to_numpy64(margins_of(outputs, classes)), unknown)
        own = to_numpy64(of_classes(outputs, classes))
        if self.climb == "output":
            return Judged(own, unknown)
        many, each, dimension = ends.shape
        owners, flat = np.repeat(rows, each), ends.reshape((many * each, dimension))
        # Every neighbour draws directions of its own, whatever it is asked together with.
        drawn = owners * self.step_rule.ball.count + np.tile(indices, many)
        means = self._means(flat, owners, np.repeat(classes, each), drawn, turn)
        choosing, scoring = (own - mean.reshape(many, each) for mean in means)
        # The side of 0 is chosen too, so the score is counted along it: noise only lowers it.
        gammas = scoring * np.sign(choosing)
        return Judged(-np.abs(choosing), gammas, each * self.step_rule.ball.count)

    def _means(
        self, points: Array, owners: Integers, classes: Integers, drawn: Integers, turn: int
    ) -> list[Floats]:
        """The class's mean output on two halves of a ball around each point, (2, points).

        A ball that draws nothing at random favours no neighbour by chance, and half of its
        directions are no ball: it is taken whole both times.
        """
        half = self.step_rule.half
        middle = half // 2 if self.step_rule.ball.fresh else half
        parts = [(0, middle), (middle, half)] if middle < half else [(0, half)]
        means = []
        for start, stop in parts:
            total = np.zeros(len(drawn))
            for low in range(start, stop, max(1, self.chunk // self.sides)):
                high = min(stop, low + max(1, self.chunk // self.sides))
                each = max(1, self.chunk // (self.sides * (high - low)))
                for few in blocks(np.arange(len(drawn)), each):
                    around = self.step_rule.neighbours(
                        points[few.tolist()], drawn[few], turn, low, high
                    )
                    outputs = self._there(around, owners[few])
                    total[few] += to_numpy64(of_classes(outputs, classes[few]).sum(axis=1))
            means.append(total / (self.sides * (stop - start)))
        return [means[0], means[-1]]


def _still(ends: Array, start: Array) -> Any:
    """Which steps (rows, each, n) ended where they began."""
    return to_numpy64(array_namespace(ends).all(ends == start[:, None, :], axis=-1)) > 0


def _picked(values: Array, place: Integers) -> Array:
    """One of each row's values (rows, each, …)."""
    return values[np.arange(len(place)).tolist(), place.tolist()]


def _merged(one: Step, other: Step, wins: Any) -> Step:
    """Row by row the other step where it wins; both were asked for."""
    rows = np.flatnonzero(wins).tolist()
    ends = one.ends
    if rows:
        ends[rows] = other.ends[rows]
    return Step(
        ends,
        np.where(wins, other.choices, one.choices),
        np.where(wins[:, None], other.outputs, one.outputs),
        np.where(wins, other.gammas, one.gammas),
        one.queries + other.queries,
    )
