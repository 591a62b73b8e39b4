"""A few queries before the run: does the model repeat itself, and is it odd or even?

Reflected pairs cancel the odd part of f around a point, single directions see more of the
even part: with equal queries pairs win exactly when var(odd) > var(even). So both parts are
measured at a few points, ten queries each, and the ball is chosen by the result. More points
are asked for twice, because noise may be in one corner only.
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
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.batching import Flags, call_with_flags
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.sphere import Sphere, neighbourhood
from anharmonic.measures.setup.table_rows import table_ball

__all__ = ["Pilot", "choose_ball", "run_pilot"]

POINTS, TWICE = 8, 64
"""Points whose parity is probed, and points that are asked for twice.

Noise in a share p of the space is noticed with probability 1 − (1 − p)⁶⁴: 99.9% for a tenth,
96% for a twentieth, 47% for a hundredth."""
DIRECTIONS = 4
QUERIES = 2 + 2 * DIRECTIONS
"""Queries at each probed point, at most."""

MOST_QUERIES = 64
TURNS = 4
"""The most a point costs by default, probe and centre included, and the turns it is shared by."""


class Pilot(NamedTuple):
    """What the pilot measured: the model's own noise, and the sizes of its two parts."""

    noise: float
    odd: float
    even: float
    queries: int

    @property
    def pairs_win(self) -> bool:
        """Whether pairs have the smaller variance at equal queries."""
        return self.odd >= self.even


def run_pilot(sphere: Sphere, parity: bool) -> Pilot:
    """Call the model twice at some points and, for the `parity`, at pairs around a few of them.

    Points without an answer say nothing here; the run that follows names all of them.
    """
    count = len(sphere.region)
    random = generator(sphere.seed, Stream.PILOT)
    rows = np.sort(random.choice(count, min(TWICE, count), replace=False))
    numbers = sphere.region.dimension if sphere.table is None else len(sphere.table.law.numbers)
    # Where no number moves, the ball only counts neighbours.
    ball = (
        balls.pairs(balls.random(numbers, DIRECTIONS))
        if numbers
        else table_ball(None, 2 * DIRECTIONS, paired=True)
    )
    sphere = replace(sphere, ball=ball)
    points, _ = neighbourhood(sphere, rows, [], 1)
    # Outputs (rows, 1, columns) of two identical calls.
    (first, bad), (second, also_bad) = (_call(sphere, points, rows) for _ in range(2))
    queries, answered = 2 * len(rows), ~(bad | also_bad)
    noise = _noise(first[answered], second[answered])
    probed = np.sort(random.permutation(np.flatnonzero(answered))[:POINTS])
    if not parity or not len(probed):
        return Pilot(noise, 0.0, 0.0, queries)
    # Of every pair the one side, then of every pair the other: (rows, 2 · directions, columns).
    around, _ = neighbourhood(sphere, rows[probed], [Segment(0, 0, DIRECTIONS)], 0)
    outputs, bad = _call(sphere, around, rows[probed])
    queries, probed = queries + outputs.shape[0] * outputs.shape[1], probed[~bad]
    centre = first[probed]
    outputs = picked(sphere.reduction, centre, outputs[~bad])
    odd, even = _parts(
        outputs[:, :DIRECTIONS],
        outputs[:, DIRECTIONS:],
        picked(sphere.reduction, centre, centre),
    )
    return Pilot(noise, odd, even, queries)


def _call(sphere: Sphere, points: Array, rows: Integers) -> tuple[Floats, Flags]:
    outputs, bad = call_with_flags(sphere.caller, points, rows)
    return to_numpy64(outputs), bad


def _parts(plus: Floats, minus: Floats, centre: Floats) -> tuple[float, float]:
    """Variances over directions of the odd and the even part of f around a point.

    Arrays are (rows, directions, columns). The odd part's mean over a sphere is 0, so its mean
    square is its variance; the even part's mean is gamma itself and is taken out.
    """
    if not len(plus):
        return 0.0, 0.0
    odd, even = (plus - minus) / 2, (plus + minus) / 2 - centre
    spread = even - even.mean(axis=1, keepdims=True)
    freedom = plus.shape[0] * (plus.shape[1] - 1)
    return float(np.mean(np.sum(odd**2, axis=-1))), float(np.sum(spread**2) / freedom)


def _noise(first: Floats, second: Floats) -> float:
    """Standard deviation of one answer; rounding, as on a GPU, counts as none."""
    size = float(np.max(np.abs(first), initial=0.0))
    # Two answers differ with twice the variance of one.
    noise = float(np.sqrt(np.sum((first - second) ** 2) / (2 * max(1, first.size))))
    return noise if noise > 1e-6 * size else 0.0


def choose_ball(
    ball: str | Ball,
    dimension: int,
    directions: int | None,
    rotations: int,
    paired: bool,
    table: bool = False,
) -> Ball:
    """The ball to use: chosen, looked up by name, or as given; each copy turned if it is to be.

    A `table` has columns beside those numbers that a ball moves.
    """
    if isinstance(ball, str) and ball.startswith("auto"):
        pairs = paired if ball == "auto" else ball == "auto pairs"
        return _automatic_ball(dimension, directions, rotations, pairs, table)
    if not dimension and isinstance(ball, str):
        raise SettingsError(
            f"no number moves, so that the ball {ball!r} has nothing to move: leave it out"
        )
    chosen = balls.named(ball, dimension, directions) if isinstance(ball, str) else ball
    if chosen.dimension != dimension:
        raise SettingsError(
            f"the ball has {chosen.dimension} dimensions and {dimension} columns move: "
            f"build it with {dimension}"
        )
    if rotations and isinstance(chosen, balls.Directions) and chosen.rotates:
        return balls.rotated(chosen)
    return chosen


def _automatic_ball(
    dimension: int, directions: int | None, rotations: int, paired: bool, table: bool
) -> Ball:
    """The default ball: the whole (anti)simplex while it fits, orthonormal directions beyond.

    Up to four turns share what a point may cost; further turns are as large and cost more.
    """
    turns = min(max(1, rotations), TURNS)
    wanted = directions or (MOST_QUERIES - QUERIES - turns) // turns
    if not dimension:
        return table_ball(None, wanted, paired)
    whole = balls.antisimplex(dimension) if paired else balls.simplex(dimension)
    name = "orthonormal pairs" if paired else "orthonormal"
    ball = whole if whole.count <= wanted else balls.named(name, dimension, wanted)
    if table:
        ball = table_ball(ball, wanted, paired)
    return balls.rotated(ball) if rotations else ball
