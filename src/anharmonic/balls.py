"""Unit directions around a point.

A ball is a rule from an index to a direction, never a matrix: `simplex(100_000)` costs
nothing until some of its vertices are asked for. Which to use: `docs/balls.md`, or "auto".

>>> simplex(2).vectors().round(3).tolist()
[[0.259, -0.966], [-0.966, 0.259], [0.707, 0.707]]
>>> pairs(simplex(3)).count
8
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic._core.protocols import Array, Ball, Draw, Floats
from anharmonic._core.randomness import integers, normals, signs
from anharmonic._core.rotations import rotate
from anharmonic.errors import SettingsError

__all__ = [
    "antisimplex",
    "centrality",
    "cross",
    "dense",
    "fixed",
    "isotropy",
    "named",
    "onehot",
    "orthonormal",
    "pairs",
    "random",
    "rotated",
    "sampled",
    "simplex",
]

HELD_NUMBERS = 100_000
NAMES = ("random", "simplex", "antisimplex", "cross", "onehot", "orthonormal", "dense")


@dataclass(frozen=True)
class Directions:
    """The one implementation of `Ball`: a rule, and what is known about it.

    `rotates` says whether gamma turns each copy at random. A ball that lies uniformly already
    need not be; the papers' image balls must not be, because they mean another average.
    """

    name: str
    dimension: int
    count: int
    rule: Callable[[Draw, Array], Array]
    paired: bool = False
    fresh: bool = False
    rotates: bool = True

    def draw(self, draw: Draw, indices: Array) -> Array:
        return self.rule(draw, indices)

    def vectors(self, seed: int = 0, row: int = 0, turn: int = 0) -> Floats:
        """All directions as a matrix, (count, dimension), reflections beside their originals."""
        draw = Draw(seed, np.array([row]), np.array([turn]), np.empty(0))
        indices = np.arange(self.count // 2 if self.paired else self.count)
        drawn = self.rule(draw, indices)[0]
        if self.paired:
            drawn = np.stack((drawn, -drawn), axis=1).reshape(self.count, self.dimension)
        return cast(Floats, drawn)


def _checked(dimension: int, count: int = 1) -> None:
    if dimension < 1 or count < 1:
        raise SettingsError(
            f"a ball needs at least one dimension and one direction, got {dimension} and {count}"
        )


def random(dimension: int, count: int) -> Directions:
    """Directions drawn uniformly on the sphere, independently: the papers' baseline."""
    _checked(dimension, count)
    rule = partial(_random, dimension=dimension)
    return Directions("random", dimension, count, rule, fresh=True, rotates=False)


def _random(draw: Draw, indices: Array, dimension: int) -> Array:
    xp = array_namespace(draw.like)
    gaussian = normals(draw, indices, dimension)
    return gaussian / xp.sqrt(xp.sum(gaussian * gaussian, axis=-1, keepdims=True))


def dense(dimension: int, count: int) -> Directions:
    """Random directions with every coordinate ±1/√n: cheap, and steady on images.

    A mean over the corners of a cube, not over the sphere.
    """
    _checked(dimension, count)
    rule = partial(_dense, dimension=dimension)
    return Directions("dense", dimension, count, rule, fresh=True, rotates=False)


def _dense(draw: Draw, indices: Array, dimension: int) -> Array:
    return signs(draw, indices, dimension) * dimension**-0.5


def simplex(dimension: int) -> Directions:
    """The n+1 vertices of the regular simplex, a spherical 2-design, in closed form."""
    _checked(dimension)
    return Directions("simplex", dimension, dimension + 1, partial(_simplex, dimension=dimension))


def _simplex(draw: Draw, indices: Array, dimension: int) -> Array:
    root = math.sqrt(dimension)
    shift = -(math.sqrt(dimension + 1) + 1) / (dimension * root)
    xp = array_namespace(draw.like)
    last = xp.astype(indices == dimension, draw.like.dtype)[..., None]
    vertices = _basis(draw, indices, dimension) * math.sqrt(1 + 1 / dimension)
    return vertices + (last * (1 / root - shift) + shift)


def onehot(dimension: int) -> Directions:
    """The n coordinate axes. Not centred: single points from it let the slope leak in."""
    _checked(dimension)
    return Directions("onehot", dimension, dimension, partial(_basis, dimension=dimension))


def _basis(draw: Draw, indices: Array, dimension: int) -> Array:
    """Rows of the identity, zero past the last: (rows or 1, indices, n)."""
    xp = array_namespace(draw.like)
    wanted = indices if indices.ndim == 2 else indices[None, :]
    vectors = xp.zeros((*wanted.shape, dimension), dtype=draw.like.dtype, device=device(draw.like))
    inside = wanted < dimension
    block, position = xp.nonzero(inside)
    vectors[block, position, wanted[inside]] = 1.0
    return vectors


def orthonormal(dimension: int, count: int) -> Directions:
    """`count` orthonormal directions: cosines and sines, so that coordinates weigh alike."""
    _checked(dimension, count)
    if count > dimension:
        raise SettingsError(
            f"{count} orthonormal directions do not fit in {dimension} dimensions: "
            f"ask for at most {dimension}"
        )
    constant = count % 2 == 1 or count == dimension
    rule = partial(_waves, dimension=dimension, constant=constant)
    return Directions("orthonormal", dimension, count, rule)


def _waves(draw: Draw, indices: Array, dimension: int, constant: bool) -> Array:
    """Rows of a real Fourier basis, cosine beside sine, from the constant or the slowest wave."""
    xp = array_namespace(draw.like)
    places = xp.arange(dimension, dtype=xp.int64, device=device(draw.like))
    order = indices if constant else indices + 1
    frequency = (order + 1) // 2
    # Reducing the product modulo n keeps cos and sin exact to rounding in high dimensions.
    steps = xp.astype((frequency[..., None] * places) % dimension, draw.like.dtype)
    angle = steps * (2 * math.pi / dimension)
    single = ((frequency == 0) | (2 * frequency == dimension))[..., None]
    cosine = (order % 2 == 1)[..., None] | single
    wave = xp.where(cosine, xp.cos(angle), xp.sin(angle)) * (2 / dimension) ** 0.5
    waves = xp.where(single, wave * 0.5**0.5, wave)
    return waves if indices.ndim == 2 else waves[None, ...]


def fixed(vectors: Floats, name: str = "fixed") -> Directions:
    """Your own directions, (count, n); their lengths are kept."""
    matrix = np.asarray(vectors, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise SettingsError("directions must be a finite matrix: one row a direction")
    return Directions(name, matrix.shape[1], matrix.shape[0], partial(_fixed, matrix=matrix))


def _fixed(draw: Draw, indices: Array, matrix: Floats) -> Array:
    xp = array_namespace(draw.like)
    vectors = xp.asarray(matrix, dtype=draw.like.dtype, device=device(draw.like))[indices]
    return vectors if indices.ndim == 2 else vectors[None, ...]


def pairs(ball: Directions) -> Directions:
    """The ball and its reflection, each direction beside its opposite: odd parts cancel."""
    if ball.paired:
        return ball
    name = {"simplex": "antisimplex", "onehot": "cross"}.get(ball.name, f"{ball.name} pairs")
    return replace(ball, name=name, count=2 * ball.count, paired=True)


def antisimplex(dimension: int) -> Directions:
    """Simplex and reflected simplex: 2(n+1) directions, a spherical 3-design."""
    return pairs(simplex(dimension))


def cross(dimension: int) -> Directions:
    """Both directions along every axis: 2n, a spherical 3-design."""
    return pairs(onehot(dimension))


def sampled(ball: Directions, count: int) -> Directions:
    """`count` directions picked at random from the ball, afresh for every row and turn.

    From a ball of pairs whole pairs are picked. Being picked does not make a direction uniform:
    gamma rotates what was picked as it rotates the whole. Single coordinates that are not
    rotated, as the paper samples images, are `named("onehot", …)`.
    """
    _checked(ball.dimension, count)
    below = ball.count // 2 if ball.paired else ball.count
    picked = count // 2 if ball.paired else count
    _checked(ball.dimension, picked)
    rule = partial(_sampled, ball=ball, below=below)
    total = 2 * picked if ball.paired else picked
    return replace(ball, name=f"sampled {ball.name}", count=total, rule=rule, fresh=True)


def _sampled(draw: Draw, indices: Array, ball: Directions, below: int) -> Array:
    return ball.rule(draw, integers(draw, indices, below))


def _signed_onehot(draw: Draw, indices: Array, dimension: int) -> Array:
    """Points of the cross-polytope, each with a sign of its own."""
    either = integers(draw, indices, 2 * dimension)
    xp = array_namespace(draw.like)
    sign = xp.astype(1 - 2 * (either % 2), draw.like.dtype)[..., None]
    return _basis(draw, either // 2, dimension) * sign


def rotated(ball: Directions) -> Directions:
    """The ball turned at random, independently for every row and turn."""
    if ball.name.startswith("rotated"):
        return ball
    rule = partial(_rotated, ball=_held(ball))
    return replace(ball, name=f"rotated {ball.name}", rule=rule, fresh=True, rotates=False)


def _held(ball: Directions) -> Directions:
    """A small ball that never changes is worked out once."""
    if ball.fresh or ball.count * ball.dimension > HELD_NUMBERS:
        return ball
    vectors = ball.vectors()
    matrix = vectors[::2] if ball.paired else vectors
    return replace(ball, rule=partial(_fixed, matrix=matrix))


def _rotated(draw: Draw, indices: Array, ball: Directions) -> Array:
    return rotate(draw, ball.rule(draw, indices))


def named(name: str, dimension: int, directions: int | None = None) -> Directions:
    """A ball by its name, with " pairs" after it for reflections; `directions` bounds its size.

    >>> named("random pairs", 5, 12).count
    12
    >>> named("onehot", 10_000, 20).name
    'sampled onehot singles'
    """
    plain = name.removesuffix(" pairs")
    if plain not in NAMES:
        raise SettingsError(
            f'there is no ball {name!r}: choose "auto" or one of {", ".join(NAMES)}, '
            'with " pairs" after it for reflections'
        )
    paired = name.endswith(" pairs")
    wanted = 12 if directions is None else directions
    half = max(1, wanted // 2) if paired else wanted
    if plain == "onehot" and not paired:
        rule = partial(_signed_onehot, dimension=dimension)
        _checked(dimension, wanted)
        name = "sampled onehot singles"
        return Directions(name, dimension, wanted, rule, fresh=True, rotates=False)
    built = {
        "random": lambda: random(dimension, half),
        "dense": lambda: dense(dimension, half),
        "orthonormal": lambda: orthonormal(dimension, min(half, dimension)),
        "onehot": lambda: replace(sampled(onehot(dimension), half), rotates=False),
        "simplex": lambda: simplex(dimension),
        "antisimplex": lambda: antisimplex(dimension),
        "cross": lambda: cross(dimension),
    }[plain]()
    ball = pairs(built) if paired else built
    return sampled(ball, directions) if directions and directions < ball.count else ball


def centrality(ball: Ball | Floats, seed: int = 0) -> float:
    """Length of the sum of the directions: 0 when centred (supplement, Fig. 4)."""
    return float(np.linalg.norm(_matrix(ball, seed).sum(axis=0)))


def isotropy(ball: Ball | Floats, toward: Floats | None = None, seed: int = 0) -> float:
    """How unevenly the directions cover space: 0 for every spherical 2-design.

    The relative distance of their second moments from the sphere's. With `toward`, the
    supplement's figure instead: the spread of their angles, in radians, to that vector.
    """
    vectors = _matrix(ball, seed)
    count, dimension = vectors.shape
    if toward is not None:
        along = vectors @ (np.asarray(toward) / np.linalg.norm(toward))
        return float(np.std(np.arccos(np.clip(along / np.linalg.norm(vectors, axis=1), -1, 1))))
    smaller = vectors.T @ vectors if dimension < count else vectors @ vectors.T
    potential = dimension * float(np.sum(smaller**2)) / count**2
    return math.sqrt(max(0.0, potential - 1.0))


def _matrix(ball: Ball | Floats, seed: int) -> Floats:
    return ball.vectors(seed) if isinstance(ball, Directions) else np.asarray(ball)
