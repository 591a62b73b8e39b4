"""A few questions before the run: does the model repeat itself, and is it odd or even?

Reflected pairs cancel the odd part of f around a point, single directions see more of the
even part: with equal queries pairs win exactly when var(odd) > var(even). So both parts are
measured at a few points, ten queries each, and the ball is chosen by what was found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from anharmonic import balls
from anharmonic.asking import answers
from anharmonic.deviation import Segment, Sphere, neighbourhood
from anharmonic.protocols import Ball, Floats
from anharmonic.randomness import generator
from anharmonic.reductions import picked

__all__ = ["Probe", "automatic", "probed"]

POINTS = 8
DIRECTIONS = 4
QUERIES = 2 + 2 * DIRECTIONS
"""Queries at each probed point."""

MOST_QUERIES = 64
TURNS = 4
"""The most a point costs unless told otherwise, probe and centre included."""


class Probe(NamedTuple):
    """What a probe found: the model's own noise, and the sizes of its two parts."""

    noise: float
    odd: float
    even: float
    queries: int

    @property
    def pairs_win(self) -> bool:
        return self.odd >= self.even


def probed(sphere: Sphere, parity: bool) -> Probe:
    """Ask a few points twice and, for the `parity`, some pairs around each."""
    many = len(sphere.region)
    random = generator(sphere.seed, 9)
    rows = np.sort(random.choice(many, min(POINTS, many), replace=False))
    ball = balls.pairs(balls.random(sphere.region.dimension, DIRECTIONS))
    sphere = replace(sphere, ball=ball)
    once, _ = neighbourhood(sphere, rows, [], 1)
    first, second = (answers(sphere.question, once, rows)[:, 0] for _ in range(2))
    if not parity:
        return Probe(_noise(first, second), 0.0, 0.0, 2 * len(rows))
    around, _ = neighbourhood(sphere, rows, [Segment(0, 0, DIRECTIONS)], 0)
    outputs = picked(sphere.reduction, first, answers(sphere.question, around, rows))
    centre = picked(sphere.reduction, first, first)
    odd, even = _parts(outputs[:, :DIRECTIONS], outputs[:, DIRECTIONS:], centre[:, None])
    return Probe(_noise(first, second), odd, even, QUERIES * len(rows))


def _parts(plus: Floats, minus: Floats, centre: Floats) -> tuple[float, float]:
    """Variances over directions of the odd and the even part of f around a point."""
    odd, even = (plus - minus) / 2, (plus + minus) / 2 - centre
    spread = even - even.mean(axis=1, keepdims=True)
    freedom = plus.shape[0] * (plus.shape[1] - 1)
    return float(np.mean(np.sum(odd**2, axis=-1))), float(np.sum(spread**2) / freedom)


def _noise(first: Floats, second: Floats) -> float:
    """Standard deviation of one answer; rounding, as on a GPU, counts as none."""
    size = float(np.max(np.abs(first), initial=0.0))
    noise = float(np.sqrt(np.mean((first - second) ** 2) / 2))
    return noise if noise > 1e-6 * size else 0.0


def automatic(dimension: int, directions: int | None, rotations: int, paired: bool) -> Ball:
    """The default ball: the whole (anti)simplex while it fits, orthonormal directions beyond.

    Up to four turns share what a point may cost; further turns are as large and cost more.
    """
    turns = min(max(1, rotations), TURNS)
    wanted = directions or max(2, (MOST_QUERIES - QUERIES - turns) // turns)
    whole = balls.antisimplex(dimension) if paired else balls.simplex(dimension)
    name = "orthonormal pairs" if paired else "orthonormal"
    ball = whole if whole.count <= wanted else balls.named(name, dimension, wanted)
    return balls.rotated(ball) if rotations else ball
