"""Samples around points and what they say of slopes: maxima of blocks, ascents, jumps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from anharmonic._core.arrays import array_like
from anharmonic._core.protocols import Array, Draw, Floats, Integers
from anharmonic.measures.clever.ascending import Ascent, ascend, steps_for
from anharmonic.measures.clever.sampling import sample_unit_ball
from anharmonic.measures.clever.slopes import ClassPairs, Differences, Slopes
from anharmonic.measures.setup.batching import ModelCaller, numbers
from anharmonic.measures.setup.sphere import rows_on_device

__all__ = ["Maxima", "Pool"]

STARTS = 2
"""The steepest sample and its mirror image: a slope with two peaks mostly has them opposite."""
ARRAY_SIZE = 1 << 22
"""Numbers of an array of positions: an ascent keeps some ten such arrays, in double precision."""
JUDGED = 8
"""Maxima of each fit whose slopes are taken again, with a smaller step."""
CLOSER = 16
"""How many times smaller that step is. A jump within the step then gives nothing, or a multiple;
a slope stays."""
ODD = 0.25
"""The share of them that must change with the smaller step: of slopes, only the few at kinks do."""
Flags = NDArray[np.bool_]


class Maxima(NamedTuple):
    """The steepest slope of each block and the sample that had it, (rows, targets, blocks)."""

    slopes: Floats
    samples: Integers


@dataclass(frozen=True)
class Pool:
    """Fresh samples around points, one pool for all targets.

    Parameters
    ----------
    caller, slopes
        The model, and what takes slopes of it.
    norm, lengths
        Of the ball, and its radius in every column's own unit, (n,).
    limits
        Lower and upper bounds of every column, or none.
    blocks, block_size, seed
        How many blocks, samples per block, and what their randomness depends on.
    """

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
        result = Maxima(np.empty(shape), np.empty(shape, dtype=np.int64))
        call = self.slopes.rows_per_call
        together = max(1, call // samples)
        # The number of each block's first sample, (blocks, 1).
        first = self.block_size * np.arange(self.blocks)[:, None]
        for begin in range(0, len(rows), together):
            part = slice(begin, begin + together)
            batch = rows[part]
            width = max(1, call // len(batch))
            norms = np.concatenate(
                [
                    self._norms(batch, pairs, part, np.arange(low, min(low + width, samples)))
                    for low in range(0, samples, width)
                ],
                axis=1,
            )
            # (rows, samples, targets) to (rows, blocks, block size, targets), the maxima of which
            # go to (rows, targets, blocks).
            by_block = norms.reshape(len(batch), self.blocks, self.block_size, -1)
            result.slopes[part] = by_block.max(axis=2).transpose(0, 2, 1)
            result.samples[part] = (by_block.argmax(axis=2) + first).transpose(0, 2, 1)
            if progress is not None:
                progress(min(begin + together, len(rows)) * samples, len(rows) * samples)
        return result

    def ascent(self, rows: Integers, pairs: ClassPairs, maxima: Maxima, wanted: Flags) -> Ascent:
        """Ascents from the steepest samples where `wanted`, (rows, targets); NaN elsewhere.

        One slope all over is its own maximum and needs no ascent.
        """
        result = Ascent(*(np.full(wanted.shape, np.nan) for _ in Ascent._fields))
        steps = steps_for(self.blocks * self.block_size)
        for at in self._fits(wanted, STARTS):
            # Of each fit's blocks, (fits, blocks), the steepest, and the sample that had it.
            best = maxima.slopes[at].argmax(axis=1)
            steepest = maxima.samples[at][np.arange(len(best)), best]
            ascents = self._ascend_from(rows[at[0]], steepest, pairs, at, steps)
            for whole, part in zip(result, ascents, strict=True):
                whole[at] = part
        return result

    def gradients_per_ascent(self) -> int:
        """How many gradients the ascents of one fit take."""
        return STARTS * (1 + 2 * steps_for(self.blocks * self.block_size))

    def _ascend_from(
        self,
        rows: Integers,
        samples: Integers,
        pairs: ClassPairs,
        at: tuple[Integers, ...],
        steps: int,
    ) -> Ascent:
        """Both ascents of some fits as one: the steeper, and by how much it may fall short."""
        sampled = self._positions(rows, samples)
        # Fits (fits,) twice over, (2 · fits,): from the samples, and from their mirror images.
        twice = np.concatenate([rows, rows])
        start = rows_on_device(self.caller, twice)
        lengths = array_like(self.lengths, start)
        pairs_twice = ClassPairs(
            np.tile(pairs.classes[at[0]], STARTS), np.tile(pairs.targets[at], STARTS)[:, None]
        )

        # From positions in the unit ball (2 · fits, n) to points, and back from within limits.
        def points(positions: Floats) -> Array:
            return self._within_limits(start + array_like(positions, start) * lengths)

        def inside(positions: Floats) -> Floats:
            if self.limits is None:
                return positions
            moved = numbers(points(positions) - start).astype(np.float64)
            return np.asarray(moved / self.lengths)

        def gradients(positions: Floats) -> Floats:
            return self.slopes.gradients(points(positions), twice, pairs_twice)

        starts = np.concatenate([sampled, -sampled])
        ascents = ascend(gradients, inside, starts, self.norm, steps)
        # (2 · fits,) to (2, fits).
        steepest, rest, _ = (values.reshape(STARTS, -1) for values in ascents)
        best = steepest.argmax(axis=0), np.arange(len(rows))
        return Ascent(steepest[best], rest[best], np.ptp(steepest, axis=0))

    def jumps(self, rows: Integers, pairs: ClassPairs, maxima: Maxima, wanted: Flags) -> Flags:
        """Whether outputs jump where slopes seemed steepest, (rows, targets).

        A difference over a jump is the jump over the step: with a smaller one it is a multiple or
        nothing, where a slope stays what it is. Only differences can mistake the one for the
        other. Rounding makes multiples too, but never nothing, so something must have vanished.
        """
        result = np.zeros(wanted.shape, dtype=bool)
        if not isinstance(self.slopes, Differences):
            return result
        closer = replace(self.slopes, step=self.slopes.step / CLOSER)
        for at in self._fits(wanted, JUDGED):
            # The steepest blocks of each fit, (fits, JUDGED).
            top = np.argsort(-maxima.slopes[at], axis=1, kind="stable")[:, :JUDGED]
            samples = np.take_along_axis(maxima.samples[at], top, axis=1)
            before = np.take_along_axis(maxima.slopes[at], top, axis=1)
            count = samples.shape[1]
            # One row per sample: (fits · JUDGED,).
            repeated = np.repeat(rows[at[0]], count)
            start = rows_on_device(self.caller, repeated)
            positions = array_like(self._positions(repeated, samples.reshape(-1)), start)
            points = self._within_limits(start + positions * array_like(self.lengths, start))
            fits = ClassPairs(
                np.repeat(pairs.classes[at[0]], count), np.repeat(pairs.targets[at], count)[:, None]
            )
            after = closer(points, repeated, fits).reshape(samples.shape)
            gone, grown = 2 * after < before, after > 2 * before
            result[at] = gone.any(axis=1) & (
                (gone | grown).sum(axis=1) >= ODD * (before > 0).sum(axis=1)
            )
        # What jumps around most points jumps: elsewhere it was missed by chance.
        return wanted if result.sum() >= max(1, wanted.sum() / 2) else result

    def points_judged(self, wanted: Flags) -> int:
        """At how many points `jumps` takes slopes."""
        return JUDGED * int(wanted.sum()) if isinstance(self.slopes, Differences) else 0

    def _fits(self, wanted: Flags, points_per_fit: int) -> Iterator[tuple[Integers, ...]]:
        """Row and target numbers of the fits wanted, as many as make one call of the model."""
        every = np.nonzero(wanted)
        most = ARRAY_SIZE // self.caller.region.dimension
        width = max(1, min(self.slopes.rows_per_call, most) // points_per_fit)
        for begin in range(0, len(every[0]), width):
            yield tuple(axis[begin : begin + width] for axis in every)

    def _positions(self, rows: Integers, samples: Integers) -> Floats:
        """Where in the unit ball one sample of each row lies, (rows, n): drawn again, not kept."""
        # Draws come in the library and precision of this array: numpy, float64.
        like = np.empty(0)
        numbers = self.caller.region.addresses_of(rows)
        return np.concatenate(
            [
                sample_unit_ball(
                    self.norm,
                    Draw(self.seed, numbers[at : at + 1], np.zeros(1, dtype=np.int64), like),
                    samples[at : at + 1],
                    self.caller.region.dimension,
                )[0]
                for at in range(len(rows))
            ]
        )

    def _norms(self, rows: Integers, pairs: ClassPairs, part: slice, indices: Integers) -> Floats:
        """Slopes at some samples of some rows: (rows, samples, targets)."""
        start = rows_on_device(self.caller, rows)
        samples = self._samples(start, rows, indices)
        count = len(indices)
        repeated = ClassPairs(
            np.repeat(pairs.classes[part], count), np.repeat(pairs.targets[part], count, axis=0)
        )
        norms = self.slopes(samples, np.repeat(rows, count), repeated)
        return norms.reshape(len(rows), count, -1)

    def _samples(self, start: Array, rows: Integers, indices: Integers) -> Array:
        """Samples of every row, within limits, (rows · indices, n)."""
        numbers = self.caller.region.addresses_of(rows)
        draw = Draw(self.seed, numbers, np.zeros(len(rows), dtype=np.int64), start)
        steps = sample_unit_ball(self.norm, draw, indices, start.shape[1])
        points = start[:, None, :] + steps * array_like(self.lengths, start)
        return self._within_limits(points).reshape((-1, start.shape[1]))

    def _within_limits(self, points: Array) -> Array:
        if self.limits is None:
            return points
        low, high = (array_like(edge, points) for edge in self.limits)
        return array_namespace(points).clip(points, low, high)
