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
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.directions import Directions as Directions
from anharmonic._core.directions import basis, rows_of, waves
from anharmonic._core.protocols import Array, Ball, Draw, Floats
from anharmonic._core.randomness import integers, normals, signs
from anharmonic._core.rotations import rotate
from anharmonic.errors import SettingsError

# And every ball that is made known by name, below.
__all__ = ["centrality", "fixed", "isotropy", "named", "pairs", "rotated", "sampled"]

HELD_NUMBERS = 100_000
"""The most numbers of a ball that is worked out once and kept as a matrix."""

DIRECTIONS = 12
"""How many directions a ball of no natural size has, where nobody says."""


Build = Callable[[int, int, bool], Directions]
"""From the dimension, the directions wanted (of pairs: pairs) and whether reflections will be
added, to a ball."""

Whole = TypeVar("Whole", bound=Callable[[int], Directions])
Sized = TypeVar("Sized", bound=Callable[[int, int], Directions])
Constructor = TypeVar("Constructor", bound=Callable[..., Directions])

_BUILDERS: dict[str, Build] = {}


def _built_by(build: Build) -> Callable[[Constructor], Constructor]:
    """Make a ball public, and known to `named` by its constructor's name."""

    def register(constructor: Constructor) -> Constructor:
        _BUILDERS[constructor.__name__] = build
        __all__.append(constructor.__name__)
        return constructor

    return register


def _whole(constructor: Whole) -> Whole:
    """The same for a ball that the dimension alone determines."""
    return _built_by(lambda dimension, count, paired: constructor(dimension))(constructor)


def _sized(constructor: Sized) -> Sized:
    """The same for a ball of any number of directions."""
    return _built_by(lambda dimension, count, paired: constructor(dimension, count))(constructor)


def _check_size(dimension: int, count: int = 1) -> None:
    if dimension < 1 or count < 1:
        raise SettingsError(
            f"a ball needs at least one dimension and one direction, got {dimension} and {count}"
        )


@_sized
def random(dimension: int, count: int) -> Directions:
    """Directions drawn uniformly on the sphere, independently: the papers' baseline.

    Parameters
    ----------
    dimension, count
        Of the space, and how many directions.
    """
    _check_size(dimension, count)
    rule = partial(_random, dimension=dimension)
    return Directions("random", dimension, count, rule, fresh=True, rotates=False)


def _random(draw: Draw, indices: Array, dimension: int) -> Array:
    # Normal vectors have no preferred direction, so scaled to length 1 they are uniform.
    xp = array_namespace(draw.like)
    gaussian = normals(draw, indices, dimension)
    return gaussian / xp.sqrt(xp.sum(gaussian * gaussian, axis=-1, keepdims=True))


@_whole
def simplex(dimension: int) -> Directions:
    """The n+1 vertices of the regular simplex, a spherical 2-design, in closed form.

    Parameters
    ----------
    dimension
        Of the space, n.
    """
    _check_size(dimension)
    return Directions("simplex", dimension, dimension + 1, partial(_simplex, dimension=dimension))


def _simplex(draw: Draw, indices: Array, dimension: int) -> Array:
    # Vertex k < n is √(1+1/n)·e_k − (√(n+1)+1)/n^(3/2)·(1,…,1), the last is (1,…,1)/√n:
    # n+1 unit vectors, any two at cosine −1/n.
    root = math.sqrt(dimension)
    shift = -(math.sqrt(dimension + 1) + 1) / (dimension * root)
    xp = array_namespace(draw.like)
    last = xp.astype(indices == dimension, draw.like.dtype)[..., None]
    vertices = basis(draw, indices, dimension) * math.sqrt(1 + 1 / dimension)
    return vertices + (last * (1 / root - shift) + shift)


@_whole
def antisimplex(dimension: int) -> Directions:
    """Simplex and reflected simplex: 2(n+1) directions, a spherical 3-design.

    Parameters
    ----------
    dimension
        Of the space, n.
    """
    return pairs(simplex(dimension))


@_whole
def cross(dimension: int) -> Directions:
    """Both directions along every axis: 2n, a spherical 3-design.

    Parameters
    ----------
    dimension
        Of the space, n.
    """
    return pairs(onehot(dimension))


def _onehot_by_name(dimension: int, count: int, paired: bool) -> Directions:
    """Some of the axes, not rotated, as the paper samples images: singles have random signs."""
    if paired:
        return replace(sampled(onehot(dimension), count), rotates=False)
    rule = partial(_signed_onehot, dimension=dimension)
    _check_size(dimension, count)
    name = "sampled onehot singles"
    return Directions(name, dimension, count, rule, fresh=True, rotates=False)


@_built_by(_onehot_by_name)
def onehot(dimension: int) -> Directions:
    """The n coordinate axes. Not centred: single points from it let the slope leak in.

    Parameters
    ----------
    dimension
        Of the space, n.
    """
    _check_size(dimension)
    return Directions("onehot", dimension, dimension, partial(basis, dimension=dimension))


def _signed_onehot(draw: Draw, indices: Array, dimension: int) -> Array:
    """Points of the cross-polytope, each with a sign of its own."""
    # One number below 2n holds both the axis and the sign.
    vertex = integers(draw, indices, 2 * dimension)
    xp = array_namespace(draw.like)
    sign = xp.astype(1 - 2 * (vertex % 2), draw.like.dtype)[..., None]
    return basis(draw, vertex // 2, dimension) * sign


def _orthonormal_by_name(dimension: int, count: int, paired: bool) -> Directions:
    return orthonormal(dimension, min(count, dimension))


@_built_by(_orthonormal_by_name)
def orthonormal(dimension: int, count: int) -> Directions:
    """`count` orthonormal directions: cosines and sines, so that coordinates weigh alike.

    Parameters
    ----------
    dimension, count
        Of the space, and how many directions, at most as many.
    """
    _check_size(dimension, count)
    if count > dimension:
        raise SettingsError(
            f"{count} orthonormal directions do not fit in {dimension} dimensions: "
            f"ask for at most {dimension}"
        )
    # An odd number needs one wave without a partner, and all n need every wave: the constant.
    constant = count % 2 == 1 or count == dimension
    rule = partial(waves, dimension=dimension, constant=constant)
    return Directions("orthonormal", dimension, count, rule)


@_sized
def dense(dimension: int, count: int) -> Directions:
    """Random directions with every coordinate ±1/√n: cheap, and steady on images.

    A mean over the corners of a cube, not over the sphere.

    Parameters
    ----------
    dimension, count
        Of the space, n, and how many directions.
    """
    _check_size(dimension, count)
    rule = partial(_dense, dimension=dimension)
    return Directions("dense", dimension, count, rule, fresh=True, rotates=False)


def _dense(draw: Draw, indices: Array, dimension: int) -> Array:
    return signs(draw, indices, dimension) * dimension**-0.5


NAMES = tuple(_BUILDERS)
"""What `named` knows, with " pairs" after it or without."""


def fixed(vectors: Floats, name: str = "fixed") -> Directions:
    """Your own directions; their lengths are kept.

    Parameters
    ----------
    vectors
        One row per direction, (count, n).
    name
        As results should record it.
    """
    matrix = np.asarray(vectors, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise SettingsError("directions must be a finite matrix: one row per direction")
    return Directions(name, matrix.shape[1], matrix.shape[0], partial(rows_of, matrix=matrix))


def pairs(ball: Directions) -> Directions:
    """The ball and its reflection, each direction beside its opposite: odd parts cancel.

    Parameters
    ----------
    ball
        Any; one that is paired already stays as it is.
    """
    if ball.paired:
        return ball
    name = {"simplex": "antisimplex", "onehot": "cross"}.get(ball.name, f"{ball.name} pairs")
    return replace(ball, name=name, count=2 * ball.count, paired=True)


def sampled(ball: Directions, count: int) -> Directions:
    """`count` directions picked at random from the ball, afresh for every row and turn.

    From a ball of pairs whole pairs are picked. Being picked does not make a direction uniform:
    gamma rotates what was picked as it rotates the whole. Single coordinates that are not
    rotated, as the paper samples images, are `named("onehot", …)`.

    Parameters
    ----------
    ball
        To pick from.
    count
        How many directions, reflections included.
    """
    _check_size(ball.dimension, count)
    below = ball.count // 2 if ball.paired else ball.count
    picked = count // 2 if ball.paired else count
    _check_size(ball.dimension, picked)
    rule = partial(_sampled, ball=ball, below=below)
    total = 2 * picked if ball.paired else picked
    return replace(ball, name=f"sampled {ball.name}", count=total, rule=rule, fresh=True)


def _sampled(draw: Draw, indices: Array, ball: Directions, below: int) -> Array:
    return ball.rule(draw, integers(draw, indices, below))


def rotated(ball: Directions) -> Directions:
    """The ball turned at random, independently for every row and turn.

    Parameters
    ----------
    ball
        Any; one that is rotated already stays as it is.
    """
    if ball.name.startswith("rotated"):
        return ball
    rule = partial(_rotated, ball=_as_matrix_if_small(ball))
    return replace(ball, name=f"rotated {ball.name}", rule=rule, fresh=True, rotates=False)


def _as_matrix_if_small(ball: Directions) -> Directions:
    """A small ball that never changes is worked out once."""
    if ball.fresh or ball.count * ball.dimension > HELD_NUMBERS:
        return ball
    vectors = ball.vectors()
    matrix = vectors[::2] if ball.paired else vectors
    return replace(ball, rule=partial(rows_of, matrix=matrix))


def _rotated(draw: Draw, indices: Array, ball: Directions) -> Array:
    return rotate(draw, ball.rule(draw, indices))


def named(name: str, dimension: int, directions: int | None = None) -> Directions:
    """A ball by its name.

    Parameters
    ----------
    name
        One of `NAMES`, with " pairs" after it for reflections.
    dimension
        Of the space.
    directions
        Bounds the size of the ball.

    Examples
    --------
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
    wanted = DIRECTIONS if directions is None else directions
    half = max(1, wanted // 2) if paired else wanted
    built = _BUILDERS[plain](dimension, half, paired)
    ball = pairs(built) if paired else built
    return sampled(ball, directions) if directions and directions < ball.count else ball


def centrality(ball: Ball | Floats, seed: int = 0) -> float:
    """Length of the sum of the directions: 0 when centred.

    Parameters
    ----------
    ball
        A ball, or its directions as a matrix (count, n).
    seed
        Of what is random about it.

    References
    ----------
    Harmonic Machine Learning Models are Robust, supplement, Fig. 4.
    """
    return float(np.linalg.norm(_matrix(ball, seed).sum(axis=0)))


def isotropy(ball: Ball | Floats, toward: Floats | None = None, seed: int = 0) -> float:
    """How unevenly the directions cover space: 0 for every spherical 2-design.

    Parameters
    ----------
    ball
        A ball, or its directions as a matrix (count, n).
    toward
        None for the relative distance of the directions' second moments from the sphere's. A
        vector (n,) for the supplement's figure instead: the spread of their angles to it, in
        radians.
    seed
        Of what is random about the ball.

    References
    ----------
    Harmonic Machine Learning Models are Robust, supplement, Fig. 4.
    """
    vectors = _matrix(ball, seed)
    count, dimension = vectors.shape
    if toward is not None:
        along = vectors @ (np.asarray(toward) / np.linalg.norm(toward))
        return float(np.std(np.arccos(np.clip(along / np.linalg.norm(vectors, axis=1), -1, 1))))
    # The frame potential Σ (u·v)² over count²/n is 1 for a 2-design and above 1 for all else;
    # the Gram matrix and the matrix of second moments have the same sum of squares.
    smaller = vectors.T @ vectors if dimension < count else vectors @ vectors.T
    potential = dimension * float(np.sum(smaller**2)) / count**2
    return math.sqrt(max(0.0, potential - 1.0))


def _matrix(ball: Ball | Floats, seed: int) -> Floats:
    return ball.vectors(seed) if isinstance(ball, Directions) else np.asarray(ball)
