"""One step of many walks: build every neighbour, call the model, choose.

All rows and all directions of a step are asked for together, in pieces that fit in memory. What
is chosen depends on neither the pieces nor the other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.margins import by_class, margins_of, of_classes
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import nested
from anharmonic.measures.search.step_rule import StepRule
from anharmonic.measures.setup.batching import Flags, ModelCaller, call_on_device

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


class Ranked(NamedTuple):
    """What neighbours are ranked by (rows, ends), least first; their gammas; queries it took."""

    rank: Floats
    gammas: Floats
    queries: int = 0


def blocks(rows: Integers, size: int) -> Iterator[Integers]:
    """Rows, so many at a time."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


@dataclass(frozen=True)
class StepChooser:
    """The model's calls, how steps are made, and what makes one better than another."""

    caller: ModelCaller
    step_rule: StepRule
    climb: Climb
    chunk: int

    @property
    def sides(self) -> int:
        """Ends along each direction the ball draws: 2 for pairs."""
        return 2 if self.step_rule.ball.paired else 1

    @property
    def cost(self) -> int:
        """Queries of one step of one row."""
        count = self.step_rule.ball.count
        return {"random": 1, "gamma": count * (count + 1)}.get(self.climb, count)

    @property
    def rows_at_once(self) -> int:
        """Rows whose neighbours fit in memory together."""
        ends = self.sides if self.climb == "random" else self.step_rule.ball.count
        return max(1, self.chunk // ends)

    def outputs(self, points: Array, rows: Integers) -> Floats:
        """Outputs (rows, ends, classes) at points (rows, ends, n), in main memory."""
        return to_numpy64(self._outputs_on_device(points, rows))

    def _outputs_on_device(self, points: Array, rows: Integers) -> Array:
        """The same outputs, left on the model's device."""
        return by_class(call_on_device(self.caller, points, rows), self.caller.model.kind)

    def step(self, start: Array, rows: Integers, classes: Integers, number: int) -> Step:
        """The best step of each row from where it stands, (rows, n), away from its class."""
        # Odd turns are for the neighbours' own balls.
        turn = 2 * number
        if self.climb == "random":
            return self._random_step(start, rows, turn)
        numbers = self.caller.region.addresses_of(rows)
        best: Step | None = None
        least = np.full(len(rows), np.inf)
        directions_at_once = max(1, self.chunk // (self.sides * len(rows)))
        for low in range(0, self.step_rule.half, directions_at_once):
            high = min(self.step_rule.half, low + directions_at_once)
            ends = self.step_rule.neighbours(start, numbers, turn, low, high, rows)
            outputs = self._outputs_on_device(ends, rows)
            # The piece's ends in the ball's own numbering: reflections come after all originals.
            column = np.arange(ends.shape[1])
            indices = low + column % (high - low) + self.step_rule.half * (column // (high - low))
            ranked = self._ranked(ends, outputs, rows, classes, turn + 1, indices)
            rank = np.where(_unmoved(ends, start), np.inf, ranked.rank)
            chosen = np.argmin(rank, axis=1)
            lowest = _pick(rank, chosen)
            candidate = Step(
                _pick(ends, chosen),
                np.where(np.isfinite(lowest), indices[chosen], -1),
                to_numpy64(_pick(outputs, chosen)),
                _pick(ranked.gammas, chosen),
                outputs.shape[1] + ranked.queries,
            )
            if best is None:
                best, least = candidate, lowest
                continue
            # Ties go to the first direction, as they would if all had been asked for at once.
            wins = (lowest < least) | ((lowest == least) & (candidate.choices < best.choices))
            best = _merge(best, candidate, wins & np.isfinite(lowest))
            least = np.minimum(least, lowest)
        assert best is not None
        return best

    def _random_step(self, start: Array, rows: Integers, turn: int) -> Step:
        """A random step of each row."""
        numbers = self.caller.region.addresses_of(rows)
        ends, choices = self.step_rule.anywhere(start, numbers, turn, rows)
        moved = ~_unmoved(ends[:, None, :], start)[:, 0]
        outputs = self.outputs(ends[:, None, :], rows)[:, 0]
        return Step(ends, np.where(moved, choices, -1), outputs, np.full(len(rows), np.nan), 1)

    def _ranked(
        self,
        ends: Array,
        outputs: Array,
        rows: Integers,
        classes: Integers,
        turn: int,
        indices: Integers,
    ) -> Ranked:
        """Neighbours ranked by what the search goes for: margin, output, or gamma."""
        unknown = np.full(outputs.shape[:2], np.nan)
        if self.climb == "margin":
            return Ranked(to_numpy64(margins_of(outputs, classes)), unknown)
        own = to_numpy64(of_classes(outputs, classes))
        if self.climb == "output":
            return Ranked(own, unknown)
        # Algorithm 2: gamma of every neighbour, from a ball around each.
        count, width, dimension = ends.shape
        owners, flat = np.repeat(rows, width), ends.reshape((count * width, dimension))
        # Every neighbour draws directions of its own, whatever it is called together with.
        numbers = self.caller.region.addresses_of(owners)
        drawn = nested(numbers, self.step_rule.ball.count, np.tile(indices, count))
        means = self._means(flat, owners, np.repeat(classes, width), drawn, turn)
        choosing, scoring = (own - mean.reshape(count, width) for mean in means)
        # The side of 0 is chosen too, so the score is counted along it: noise only lowers it.
        gammas = scoring * np.sign(choosing)
        return Ranked(-np.abs(choosing), gammas, width * self.step_rule.ball.count)

    def _means(
        self, points: Array, owners: Integers, classes: Integers, drawn: Integers, turn: int
    ) -> list[Floats]:
        """The class's mean output on two halves of a ball around each point, (2, points).

        A ball that draws nothing at random favours no neighbour by chance, and half of its
        directions are no ball: it is taken whole both times.
        """
        half = self.step_rule.half
        # Cross-fitting: one half chooses the neighbour, the other says what its gamma is.
        middle = half // 2 if self.step_rule.ball.fresh else half
        parts = [(0, middle), (middle, half)] if middle < half else [(0, half)]
        means = []
        for start, stop in parts:
            total = np.zeros(len(drawn))
            for low in range(start, stop, max(1, self.chunk // self.sides)):
                high = min(stop, low + max(1, self.chunk // self.sides))
                points_at_once = max(1, self.chunk // (self.sides * (high - low)))
                for block in blocks(np.arange(len(drawn)), points_at_once):
                    around = self.step_rule.neighbours(
                        points[block.tolist()], drawn[block], turn, low, high, owners[block]
                    )
                    outputs = self._outputs_on_device(around, owners[block])
                    total[block] += to_numpy64(of_classes(outputs, classes[block]).sum(axis=1))
            means.append(total / (self.sides * (stop - start)))
        return [means[0], means[-1]]


def _unmoved(ends: Array, start: Array) -> Flags:
    """Which steps (rows, ends, n) ended where they began; a missing cell is where it was."""
    xp = array_namespace(ends)
    here = start[:, None, :]
    same = (ends == here) | (xp.isnan(ends) & xp.isnan(here))
    return to_numpy64(xp.all(same, axis=-1)) > 0


def _pick(values: Array, columns: Integers) -> Array:
    """One of each row's values (rows, ends, …)."""
    return values[np.arange(len(columns)).tolist(), columns.tolist()]


def _merge(one: Step, other: Step, wins: Flags) -> Step:
    """Row by row the other step where it wins; the queries of both."""
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
