"""The one implementation of a ball, and rules that several share; `anharmonic.balls` uses them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic._core.protocols import Array, Draw, Floats

__all__ = ["Directions", "basis", "rows_of", "waves"]


@dataclass(frozen=True)
class Directions:
    """The one implementation of `Ball`: a rule, and what is known about it.

    Parameters
    ----------
    name
        As results record it.
    dimension
        Of the space, n.
    count
        Directions in one copy, reflections included.
    rule
        From a draw and indices to directions, (rows or 1, indices, n); of pairs one of the two.
    paired
        Whether every direction comes with its reflection.
    fresh
        Whether each turn draws anew.
    rotates
        Whether gamma turns each copy at random. A ball that lies uniformly already need not be;
        the papers' image balls must not be, because they mean another average.
    """

    name: str
    dimension: int
    count: int
    rule: Callable[[Draw, Array], Array]
    paired: bool = False
    fresh: bool = False
    rotates: bool = True

    def draw(self, draw: Draw, indices: Array) -> Array:
        """Directions `indices` for every row and turn of the draw, (rows or 1, indices, n)."""
        return self.rule(draw, indices)

    def vectors(self, seed: int = 0, row: int = 0, turn: int = 0) -> Floats:
        """All directions as a matrix, (count, dimension), reflections beside their originals.

        Parameters
        ----------
        seed, row, turn
            What randomness may depend on: the run's seed, the point's number, the copy's number.
        """
        draw = Draw(seed, np.array([row]), np.array([turn]), np.empty(0))
        indices = np.arange(self.count // 2 if self.paired else self.count)
        drawn = self.rule(draw, indices)[0]
        if self.paired:
            drawn = np.stack((drawn, -drawn), axis=1).reshape(self.count, self.dimension)
        return cast(Floats, drawn)


def basis(draw: Draw, indices: Array, dimension: int) -> Array:
    """Rows of the identity, zero past the last: (rows or 1, indices, n)."""
    xp = array_namespace(draw.like)
    wanted = indices if indices.ndim == 2 else indices[None, :]
    vectors = xp.zeros((*wanted.shape, dimension), dtype=draw.like.dtype, device=device(draw.like))
    inside = wanted < dimension
    block, position = xp.nonzero(inside)
    vectors[block, position, wanted[inside]] = 1.0
    return vectors


def rows_of(draw: Draw, indices: Array, matrix: Floats) -> Array:
    """Rows of a matrix (count, n): (rows or 1, indices, n)."""
    xp = array_namespace(draw.like)
    vectors = xp.asarray(matrix, dtype=draw.like.dtype, device=device(draw.like))[indices]
    return vectors if indices.ndim == 2 else vectors[None, ...]


def waves(draw: Draw, indices: Array, dimension: int, constant: bool) -> Array:
    """Rows of a real Fourier basis, cosine beside sine, from the constant or the slowest wave."""
    xp = array_namespace(draw.like)
    coordinates = xp.arange(dimension, dtype=xp.int64, device=device(draw.like))
    order = indices if constant else indices + 1
    frequency = (order + 1) // 2
    # Reducing the product modulo n keeps cos and sin exact to rounding in high dimensions.
    steps = xp.astype((frequency[..., None] * coordinates) % dimension, draw.like.dtype)
    angle = steps * (2 * math.pi / dimension)
    # The constant and the fastest alternation have no sine, and length √2 as cosines.
    single = ((frequency == 0) | (2 * frequency == dimension))[..., None]
    cosine = (order % 2 == 1)[..., None] | single
    wave = xp.where(cosine, xp.cos(angle), xp.sin(angle)) * (2 / dimension) ** 0.5
    normed = xp.where(single, wave * 0.5**0.5, wave)
    return normed if indices.ndim == 2 else normed[None, ...]
