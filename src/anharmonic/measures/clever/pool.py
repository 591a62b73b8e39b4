"""Samples around points and what they say of slopes: maxima of blocks, climbs, jumps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.arrays import array_like
from anharmonic._core.protocols import Array, Draw, Floats, Integers
from anharmonic.measures.clever.ascending import Ascent, ascended, steps_for
from anharmonic.measures.clever.sampling import sample_unit_ball
from anharmonic.measures.clever.slopes import ClassPairs, Differences, Slopes
from anharmonic.measures.setup.batching import ModelCaller, numbers
from anharmonic.measures.setup.sphere import rows_on_device

__all__ = ["Maxima", "Pool"]

STARTS = 2
"""The steepest sample and its mirror image: a slope with two peaks mostly has them opposite."""
ROOM = 1 << 22
"""Numbers of an array of places: a climb keeps some ten such arrays, in double precision."""
JUDGED = 8
"""Maxima of each fit that are looked at again, closer."""
CLOSER = 16
"""How much closer. Of a jump in reach of a difference nothing is left or a multiple; of a slope,
itself."""

ODD = 0.25
"""The share of them that must change when seen closer: of slopes, only the few at kinks do."""


class Maxima(NamedTuple):
    """The steepest slope of each block and the sample that had it, (rows, targets, blocks)."""

    slopes: Floats
    samples: Integers


@dataclass(frozen=True)
class Pool:
    """Fresh samples around points, one pool for all targets."""

    caller: ModelCaller
    slopes: Slopes
    norm: float
    lengths: Floats
    limits: tuple[Floats, Floats] | None
    blocks: int
    block_size: int
    seed: int

    def maxima(
        self, rows: Integers, pairs: ClassPairs, progress: Callable[[int, int], None] | None
    ) -> Maxima:
        """The steepest slope of each block."""
        samples = self.blocks * self.block_size
        shape = (len(rows), pairs.targets.shape[1], self.blocks)
        made = Maxima(np.empty(shape), np.empty(shape, dtype=np.int64))
        call = self.slopes.rows_a_call
        together = max(1, call // samples)
        first = self.block_size * np.arange(self.blocks)[:, None]
        for begin in range(0, len(rows), together):
            part = slice(begin, begin + together)
            few = rows[part]
            width = max(1, call // len(few))
            norms = np.concatenate(
                [
                    self._norms(few, pairs, part, np.arange(low, min(low + width, samples)))
                    for low in range(0, samples, width)
                ],
                axis=1,
            )
            shaped = norms.reshape(len(few), self.blocks, self.block_size, -1)
            made.slopes[part] = shaped.max(axis=2).transpose(0, 2, 1)
            made.samples[part] = (shaped.argmax(axis=2) + first).transpose(0, 2, 1)
            if progress is not None:
                progress(min(begin + together, len(rows)) * samples, len(rows) * samples)
        return made

    def ascent(self, rows: Integers, pairs: ClassPairs, found: Maxima, wanted: Any) -> Ascent:
        """Climbs from the steepest samples where they are wanted, (rows, targets); NaN elsewhere.

        One slope all over is its own maximum and needs no climb.
        """
        made = Ascent(*(np.full(wanted.shape, np.nan) for _ in Ascent._fields))
        steps = steps_for(self.blocks * self.block_size)
        for at in self._fits(wanted, STARTS):
            best = found.slopes[at].argmax(axis=1)
            steepest = found.samples[at][np.arange(len(best)), best]
            climbs = self._from(rows[at[0]], steepest, pairs, at, steps)
            for whole, some in zip(made, climbs, strict=True):
                whole[at] = some
        return made

    def gradients_per_ascent(self) -> int:
        """What a climb costs."""
        return STARTS * (1 + 2 * steps_for(self.blocks * self.block_size))

    def _from(
        self,
        rows: Integers,
        samples: Integers,
        pairs: ClassPairs,
        at: tuple[Integers, ...],
        steps: int,
    ) -> Ascent:
        """Both climbs of some fits as one: the steeper, and what it may have left."""
        begun = self._places(rows, samples)
        twice = np.concatenate([rows, rows])
        start = rows_on_device(self.caller, twice)
        lengths = array_like(self.lengths, start)
        each = ClassPairs(
            np.tile(pairs.classes[at[0]], STARTS), np.tile(pairs.targets[at], STARTS)[:, None]
        )

        def points(places: Floats) -> Array:
            return self._within(start + array_like(places, start) * lengths)

        def inside(places: Floats) -> Floats:
            if self.limits is None:
                return places
            moved = numbers(points(places) - start).astype(np.float64)
            return np.asarray(moved / self.lengths)

        def gradients(places: Floats) -> Floats:
            return self.slopes.gradients(points(places), twice, each)

        climbs = ascended(gradients, inside, np.concatenate([begun, -begun]), self.norm, steps)
        steepest, rest, _ = (side.reshape(STARTS, -1) for side in climbs)
        best = steepest.argmax(axis=0), np.arange(len(rows))
        return Ascent(steepest[best], rest[best], np.ptp(steepest, axis=0))

    def jumps(self, rows: Integers, pairs: ClassPairs, found: Maxima, wanted: Any) -> Any:
        """Whether outputs jump where slopes seemed steepest, (rows, targets) of bool.

        A difference over a jump is the jump over the step: closer, it is a multiple or nothing,
        where a slope stays what it is. Only differences can mistake the one for the other.
        Rounding makes multiples too, but never nothing, so something must have vanished.
        """
        made = np.zeros(wanted.shape, dtype=bool)
        if not isinstance(self.slopes, Differences):
            return made
        closer = replace(self.slopes, step=self.slopes.step / CLOSER)
        for at in self._fits(wanted, JUDGED):
            most = np.argsort(-found.slopes[at], axis=1, kind="stable")[:, :JUDGED]
            samples = np.take_along_axis(found.samples[at], most, axis=1)
            seen = np.take_along_axis(found.slopes[at], most, axis=1)
            many = samples.shape[1]
            near = np.repeat(rows[at[0]], many)
            start = rows_on_device(self.caller, near)
            places = array_like(self._places(near, samples.reshape(-1)), start)
            points = self._within(start + places * array_like(self.lengths, start))
            fits = ClassPairs(
                np.repeat(pairs.classes[at[0]], many), np.repeat(pairs.targets[at], many)[:, None]
            )
            again = closer(points, near, fits).reshape(samples.shape)
            gone, grown = 2 * again < seen, again > 2 * seen
            made[at] = gone.any(axis=1) & (
                (gone | grown).sum(axis=1) >= ODD * (seen > 0).sum(axis=1)
            )
        # What jumps around most points jumps: elsewhere it was missed by chance.
        return wanted if made.sum() >= max(1, wanted.sum() / 2) else made

    def points_judged(self, wanted: Any) -> int:
        """What looking for jumps costs."""
        return JUDGED * int(wanted.sum()) if isinstance(self.slopes, Differences) else 0

    def _fits(self, wanted: Any, each: int) -> Iterator[tuple[Integers, ...]]:
        """Places of fits, as many at a time as `each` points of each make a call and fit in."""
        every = np.nonzero(wanted)
        room = ROOM // self.caller.region.dimension
        width = max(1, min(self.slopes.rows_a_call, room) // each)
        for begin in range(0, len(every[0]), width):
            yield tuple(axis[begin : begin + width] for axis in every)

    def _places(self, rows: Integers, samples: Integers) -> Floats:
        """Where in the unit ball one sample of each row lies, (rows, n): drawn again, not kept."""
        none = np.empty(0)
        return np.concatenate(
            [
                sample_unit_ball(
                    self.norm,
                    Draw(self.seed, rows[one : one + 1], np.zeros(1, dtype=np.int64), none),
                    samples[one : one + 1],
                    self.caller.region.dimension,
                )[0]
                for one in range(len(rows))
            ]
        )

    def _norms(self, rows: Integers, pairs: ClassPairs, part: slice, indices: Integers) -> Floats:
        """Slopes at some samples of some rows: (rows, samples, targets)."""
        start = rows_on_device(self.caller, rows)
        moved = self._moved(start, rows, indices)
        each = len(indices)
        repeated = ClassPairs(
            np.repeat(pairs.classes[part], each), np.repeat(pairs.targets[part], each, axis=0)
        )
        found = self.slopes(moved, np.repeat(rows, each), repeated)
        return found.reshape(len(rows), each, -1)

    def _moved(self, start: Array, rows: Integers, indices: Integers) -> Array:
        draw = Draw(self.seed, rows, np.zeros(len(rows), dtype=np.int64), start)
        steps = sample_unit_ball(self.norm, draw, indices, start.shape[1])
        points = start[:, None, :] + steps * array_like(self.lengths, start)
        return self._within(points).reshape((-1, start.shape[1]))

    def _within(self, points: Array) -> Array:
        if self.limits is None:
            return points
        low, high = (array_like(edge, points) for edge in self.limits)
        return array_namespace(points).clip(points, low, high)
