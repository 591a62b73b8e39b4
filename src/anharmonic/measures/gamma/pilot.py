"""A few questions before the run: does the model repeat itself, and is it odd or even?

Reflected pairs cancel the odd part of f around a point, single directions see more of the
even part: with equal queries pairs win exactly when var(odd) > var(even). So both parts are
measured at a few points, ten queries each, and the ball is chosen by what was found. More points
are asked twice, because noise may be in one corner only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from anharmonic import balls
from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Array, Ball, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.reductions import picked
from anharmonic._core.streams import Stream
from anharmonic.measures.setup.batching import Flags, call_with_flags
from anharmonic.measures.setup.sphere import Segment, Sphere, neighbourhood

__all__ = ["Pilot", "automatic", "run_pilot"]

POINTS, TWICE = 8, 64
"""Points whose parity is probed, and points that are asked twice.

Noise in a share p of the space is noticed with probability 1 − (1 − p)⁶⁴: 99.9% for a tenth,
96% for a twentieth, 47% for a hundredth."""
DIRECTIONS = 4
QUERIES = 2 + 2 * DIRECTIONS
"""Queries at each probed point, at most."""

MOST_QUERIES = 64
TURNS = 4
"""The most a point costs unless told otherwise, probe and centre included."""


class Pilot(NamedTuple):
    """What a probe found: the model's own noise, and the sizes of its two parts."""

    noise: float
    odd: float
    even: float
    queries: int

    @property
    def pairs_win(self) -> bool:
        return self.odd >= self.even


def run_pilot(sphere: Sphere, parity: bool) -> Pilot:
    """Ask some points twice and, for the `parity`, some pairs around a few of them.

    Points without an answer tell nothing here; the run that follows names all of them.
    """
    many = len(sphere.region)
    random = generator(sphere.seed, Stream.PILOT)
    rows = np.sort(random.choice(many, min(TWICE, many), replace=False))
    ball = balls.pairs(balls.random(sphere.region.dimension, DIRECTIONS))
    sphere = replace(sphere, ball=ball)
    once, _ = neighbourhood(sphere, rows, [], 1)
    (first, bad), (second, also) = (_ask(sphere, once, rows) for _ in range(2))
    queries, known = 2 * len(rows), ~(bad | also)
    noise = _noise(first[known, 0], second[known, 0])
    few = np.sort(random.permutation(np.flatnonzero(known))[:POINTS])
    if not parity or not len(few):
        return Pilot(noise, 0.0, 0.0, queries)
    around, _ = neighbourhood(sphere, rows[few], [Segment(0, 0, DIRECTIONS)], 0)
    outputs, bad = _ask(sphere, around, rows[few])
    queries, few = queries + outputs.shape[0] * outputs.shape[1], few[~bad]
    centre = first[few]
    outputs = picked(sphere.reduction, centre[:, 0], outputs[~bad])
    odd, even = _parts(
        outputs[:, :DIRECTIONS],
        outputs[:, DIRECTIONS:],
        picked(sphere.reduction, centre[:, 0], centre),
    )
    return Pilot(noise, odd, even, queries)


def _ask(sphere: Sphere, points: Array, rows: Integers) -> tuple[Floats, Flags]:
    outputs, bad = call_with_flags(sphere.caller, points, rows)
    return to_numpy64(outputs), bad


def _parts(plus: Floats, minus: Floats, centre: Floats) -> tuple[float, float]:
    """Variances over directions of the odd and the even part of f around a point."""
    if not len(plus):
        return 0.0, 0.0
    odd, even = (plus - minus) / 2, (plus + minus) / 2 - centre
    spread = even - even.mean(axis=1, keepdims=True)
    freedom = plus.shape[0] * (plus.shape[1] - 1)
    return float(np.mean(np.sum(odd**2, axis=-1))), float(np.sum(spread**2) / freedom)


def _noise(first: Floats, second: Floats) -> float:
    """Standard deviation of one answer; rounding, as on a GPU, counts as none."""
    size = float(np.max(np.abs(first), initial=0.0))
    noise = float(np.sqrt(np.sum((first - second) ** 2) / max(1, 2 * first.size)))
    return noise if noise > 1e-6 * size else 0.0


def automatic(dimension: int, directions: int | None, rotations: int, paired: bool) -> Ball:
    """The default ball: the whole (anti)simplex while it fits, orthonormal directions beyond.

    Up to four turns share what a point may cost; further turns are as large and cost more.
    """
    turns = min(max(1, rotations), TURNS)
    wanted = directions or max(2, (MOST_QUERIES - QUERIES - turns) // turns)
    atomically = balls.antisimplex(dimension) if paired else balls.simplex(dimension)
    name = "orthonormal pairs" if paired else "orthonormal"
    ball = atomically if atomically.count <= wanted else balls.named(name, dimension, wanted)
    return balls.rotated(ball) if rotations else ball
