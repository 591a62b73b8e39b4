"""Random rotations of a ball, exact where that is cheap and structured where it is not.

Whatever is rotated, one vertex lands uniformly on the sphere, so the mean over a rotated
ball estimates the mean over the sphere without bias, and independent turns give an honest
error. Three ways, by dimension:

- up to 6, every row turns by a Haar rotation of its own (a product of reflections);
- up to 256, by a product of Haar rotations, one for each digit of the turn's number and of the
  row's. Every row is exactly uniform and any two rows, or turns, are exactly independent,
  whatever the ball and the model: a mean over rows varies as if each had a rotation of its
  own. Rows that differ in their last digit alone share all other products, so that a row
  costs one product, and four turns of ten thousand rows need 35 random matrices;
- above, where a matrix would not fit: random signs, a random phase for every frequency
  (Fourier), random signs again. Orthogonal to rounding, n·log n, uniform up to O(1/n).

Why two of those products are independent: take the last digit in which they differ, and let C
be what follows it, common to both. One has the factor H there, the other H', independent and
uniform, so A·H·C and A'·H'·C are independent and uniform given A, A' and C. Where one has no
factor (a leading zero has none, so that numbers may have any length), A·C is uniform because
a row's last digit always has one, and A'·H'·C still is given everything else. Four rows whose
digits form a rectangle are not independent, which the variance of a mean cannot see.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic._core.protocols import Array, Draw, Floats, Integers
from anharmonic._core.randomness import haar, like, normals, phases, signs

__all__ = ["rotate", "way"]

OWN = 6
"""The largest dimension in which every row has a Haar rotation of its own."""
PAIRWISE = 256
"""The largest dimension in which rotations are products that rows share."""
BASE = 8
"""Of the numbers' digits: so many rows share all but one product."""


def way(dimension: int) -> str:
    """Which rotation a dimension gets: "haar", "pairwise haar" or "structured".

    >>> way(6), way(7), way(256), way(257)
    ('haar', 'pairwise haar', 'pairwise haar', 'structured')
    """
    if dimension <= OWN:
        return "haar"
    return "pairwise haar" if dimension <= PAIRWISE else "structured"


def rotate(draw: Draw, vectors: Array) -> Array:
    """Turn (rows or 1, count, n) vectors by one random rotation per row: (rows, count, n)."""
    dimension = vectors.shape[-1]
    if dimension <= OWN:
        return _own(draw, vectors)
    if dimension <= PAIRWISE:
        return _pairwise(draw, vectors)
    return _structured(draw, vectors)


def _own(draw: Draw, vectors: Array) -> Array:
    """A Haar rotation for every row, as reflections in ever smaller subspaces (Stewart, 1980)."""
    xp = array_namespace(draw.like)
    dimension = vectors.shape[-1]
    shape = (len(draw.rows), *vectors.shape[1:])
    turned = xp.zeros(shape, dtype=draw.like.dtype, device=device(draw.like))
    turned += vectors
    gaussians = normals(draw, like(draw, np.arange(dimension)), dimension)
    # Smallest subspace first: reversing the order would leave the result less than uniform.
    for size in range(1, dimension + 1):
        # Householder: a normal vector of the subspace's size is its mirror's normal, (rows, size).
        mirror = gaussians[:, size - 1, :size]
        toward = xp.where(mirror[:, :1] >= 0, 1.0, -1.0)
        length = xp.sqrt(xp.sum(mirror * mirror, axis=-1, keepdims=True))
        mirror = xp.concat((mirror[:, :1] + toward * length, mirror[:, 1:]), axis=-1)
        square = xp.sum(mirror * mirror, axis=-1, keepdims=True)
        # x − 2·(x·v)/(v·v)·v on the last `size` coordinates, (rows, count, size).
        block = turned[:, :, dimension - size :]
        along = xp.matmul(block, (mirror * (2.0 / square))[:, :, None])
        # A reflection sends the first axis to minus `toward`; undoing that keeps it uniform.
        turned[:, :, dimension - size :] = -toward[:, None] * (block - along * mirror[:, None, :])
    return turned


def _pairwise(draw: Draw, vectors: Array) -> Array:
    """A product of Haar rotations for every row and turn, any two of them independent."""
    xp = array_namespace(draw.like)
    shape = (len(draw.rows), *vectors.shape[1:])
    turned = xp.empty(shape, dtype=draw.like.dtype, device=device(draw.like))
    # The rows' factors are those of every turn.
    by_turn, by_row = (Factors(draw, number, shape[-1]) for number in ("turn", "row"))
    changes = np.flatnonzero(np.diff(draw.turns)) + 1
    for start, stop in pairwise((0, *changes.tolist(), len(draw.rows))):
        # Rows of one turn: its product comes first and is common to them.
        block = vectors if len(vectors) == 1 else vectors[start:stop]
        by_its_turn = _along(by_turn, np.broadcast_to(draw.turns[start], len(block)), block)
        turned[start:stop] = (_branched if len(vectors) == 1 else _along)(
            by_row, draw.rows[start:stop], by_its_turn
        )
    return turned


class Factors:
    """Haar rotations (n, n) for the digits of one kind of number, where the draw lives."""

    def __init__(self, draw: Draw, number: str, dimension: int) -> None:
        self._draw, self._dimension = draw, dimension
        self._kind = ("row", "turn").index(number)
        self._families: dict[int, Array] = {}

    def of(self, level: int, digit: int) -> Array:
        """The factor of a digit; `level` counts from the last one."""
        return self.family(level)[digit]

    def family(self, level: int) -> Array:
        """The factors of all digits, (BASE, n, n)."""
        if level not in self._families:
            like = self._draw.like
            place = 2 * level + self._kind
            self._families[level] = array_namespace(like).asarray(
                _family(self._draw.seed, place, self._dimension),
                dtype=like.dtype,
                device=device(like),
            )
        return self._families[level]


@lru_cache(maxsize=24)
def _family(seed: int, place: int, dimension: int) -> Floats:
    """The factors of all digits at a place.

    A leading zero may be one of a longer number too, so it has none: the identity.
    """
    others = [haar(seed, place, digit, dimension) for digit in range(1, BASE)]
    # Places 0 and 1 are the last digits of rows and turns, which every number has.
    zero = haar(seed, place, 0, dimension) if place < 2 else np.eye(dimension)
    return np.stack([zero, *others])


def _branched(factors: Factors, numbers: Integers, vectors: Array, level: int = 0) -> Array:
    """The same vectors (1, count, n) times each number's product: (numbers, count, n).

    Numbers that differ in their last digit alone have one parent, which is worked out once.
    """
    xp = array_namespace(vectors)
    above, digits = np.divmod(numbers, BASE)
    # Numbers are sorted: a family begins where all but the last digit changes.
    first = np.flatnonzero(np.diff(above, prepend=-1))
    family = np.repeat(np.arange(len(first)), np.diff(first, append=len(above)))
    parents = _branched(factors, above[first], vectors, level + 1) if above.any() else vectors
    if level and not digits.any():
        # No factor at all: numbers of files leave many such digits before those of rows.
        return parents[family.tolist()]
    if 2 * len(numbers) < BASE * len(first):
        # So few of each family that the others would cost more than a parent for each.
        return _times(factors, level, digits, parents[family.tolist()])
    # (families, 1, count, n) times (1, BASE, n, n): every member of every family.
    members = xp.matmul(parents[:, None], factors.family(level)[None])
    members = members.reshape((-1, *vectors.shape[1:]))
    wanted = BASE * family + digits
    if (np.diff(wanted) == 1).all():
        return members[int(wanted[0]) : int(wanted[-1]) + 1]
    return members[wanted.tolist()]


def _along(factors: Factors, numbers: Integers, vectors: Array) -> Array:
    """Vectors (numbers, count, n), each times its number's product."""
    longest = int(numbers.max())
    levels = next(level for level in range(64) if longest < BASE ** (level + 1))
    for level in range(levels, -1, -1):
        digits = numbers // BASE**level % BASE
        if not level or digits.any():
            vectors = _times(factors, level, digits, vectors)
    return vectors


def _times(factors: Factors, level: int, digits: Integers, vectors: Array) -> Array:
    """Vectors (digits, count, n), each times its digit's factor."""
    xp = array_namespace(vectors)
    turned = xp.empty_like(vectors)
    for digit in np.unique(digits).tolist():
        rows = np.flatnonzero(digits == digit).tolist()
        turned[rows] = xp.matmul(vectors[rows], factors.of(level, digit))
    return turned


def _structured(draw: Draw, vectors: Array) -> Array:
    """Signs, a random phase per frequency, signs: an orthogonal map in n·log n."""
    xp = array_namespace(draw.like)
    dimension = vectors.shape[-1]
    flips = signs(draw, like(draw, np.arange(2)), dimension)
    angles = phases(draw, dimension // 2 + 1)
    # Multiplying each frequency by a unit complex number keeps lengths (Parseval).
    turn = xp.cos(angles) + 1j * xp.sin(angles)
    # The constant, and for even n the fastest alternation, are real: they may only flip.
    for real in (0, -1) if dimension % 2 == 0 else (0,):
        turn[:, real] = xp.where(angles[:, real] < math.pi, 1.0, -1.0) + 0j
    spectrum = xp.fft.rfft(vectors * flips[:, :1, :], axis=-1)
    spectrum = spectrum * xp.astype(turn, spectrum.dtype)[:, None, :]
    mixed = xp.fft.irfft(spectrum, n=dimension, axis=-1)
    return xp.astype(mixed, draw.like.dtype) * flips[:, 1:, :]
