"""Random numbers that depend on (seed, row, turn, position) alone.

A counter-based generator: every number is a hash of its own address, so a point draws
the same numbers in any batch, thread or process, and on any device. Written with integer
arithmetic that numpy and torch share, so both give the same bits.
"""

from __future__ import annotations

import math
from enum import IntEnum
from functools import lru_cache
from typing import cast

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from anharmonic._core.protocols import Array, Draw, Floats, Integers
from anharmonic._core.streams import RowStream, Stream
from anharmonic.errors import SettingsError

__all__ = [
    "generator",
    "haar",
    "hashed",
    "integers",
    "like",
    "nested",
    "normals",
    "phases",
    "signs",
    "uniforms",
]


def _signed(constant: int) -> int:
    """A 64-bit constant as the signed integer both libraries can hold."""
    return constant - (1 << 64) if constant >= 1 << 63 else constant


# SplitMix64 (Steele, Lea and Flood, 2014): 2⁶⁴/φ and the two multipliers of Stafford's mix 13.
_GOLDEN = _signed(0x9E3779B97F4A7C15)
_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)


def _mixed(words: Array) -> Array:
    """Scramble 64-bit words by SplitMix64's finaliser."""
    # Signed integers shift arithmetically: the masks clear the copies of the sign bit.
    words = (words ^ ((words >> 30) & ((1 << 34) - 1))) * _FIRST
    words = (words ^ ((words >> 27) & ((1 << 37) - 1))) * _SECOND
    return words ^ ((words >> 31) & ((1 << 33) - 1))


@lru_cache(maxsize=1024)
def _start(seed: int, stream: int, turn: int) -> int:
    """Where a turn's streams begin, well apart for neighbouring seeds."""
    state = np.random.SeedSequence((_checked_seed(seed), int(stream), turn)).generate_state(
        1, np.uint64
    )
    return _signed(int(state[0]))


def _words(draw: Draw, stream: RowStream, positions: Array) -> Array:
    """One random word for each row of the draw and position: (rows, *positions.shape)."""
    # Each (row, turn) has a stream of its own, (rows,); a position steps along it by _GOLDEN.
    starts = [_start(draw.seed, stream, turn) for turn in range(int(draw.turns.max()) + 1)]
    streams = _mixed(draw.rows * _GOLDEN + np.array(starts)[draw.turns])
    shaped = streams.reshape((-1,) + (1,) * positions.ndim)
    return _mixed(like(draw, shaped) + (positions + 1) * _GOLDEN)


def like(draw: Draw, values: Array) -> Array:
    """Integers on the draw's device."""
    if is_numpy_array(draw.like):
        return np.asarray(values)
    return array_namespace(draw.like).asarray(values, device=device(draw.like))


def _range(count: int, draw: Draw) -> Array:
    return like(draw, np.arange(count))


def _uniform(words: Array, draw: Draw) -> Array:
    """Numbers strictly between 0 and 1 from the upper bits."""
    xp = array_namespace(words)
    # Apple's GPUs have no double precision.
    wide = xp.float32 if "mps" in str(device(draw.like)) else xp.float64
    bits = 24 if wide == xp.float32 else 53
    upper = (words >> (64 - bits)) & ((1 << bits) - 1)
    # The middle of each of 2^bits cells, so that neither 0 nor 1 occurs.
    return (xp.astype(upper, wide) + 0.5) * 2.0**-bits


def normals(draw: Draw, indices: Array, dimension: int) -> Array:
    """Standard normals, one vector for each row and index: (rows, indices, dimension)."""
    # Box and Muller (1958): two uniforms make two normals, a length and an angle.
    xp = array_namespace(draw.like)
    half = (dimension + 1) // 2
    # (indices, half), and with the draw's rows in front (rows, indices, half).
    positions = indices[:, None] * half + _range(half, draw)[None, :]
    length = xp.sqrt(
        -2.0 * xp.log(_uniform(_words(draw, RowStream.NORMAL_LENGTH, positions), draw))
    )
    angle = (2.0 * math.pi) * _uniform(_words(draw, RowStream.NORMAL_ANGLE, positions), draw)
    both = xp.concat((length * xp.cos(angle), length * xp.sin(angle)), axis=-1)
    return xp.astype(both[..., :dimension], draw.like.dtype)


def uniforms(
    draw: Draw, indices: Array, dimension: int, stream: RowStream = RowStream.UNIFORM
) -> Array:
    """Strictly between 0 and 1, one vector for each row and index: (rows, indices, dimension)."""
    xp = array_namespace(draw.like)
    positions = indices[:, None] * dimension + _range(dimension, draw)[None, :]
    return xp.astype(_uniform(_words(draw, stream, positions), draw), draw.like.dtype)


def signs(draw: Draw, indices: Array, dimension: int) -> Array:
    """Fair ±1, one vector for each row and index: (rows, indices, dimension)."""
    xp = array_namespace(draw.like)
    # One bit for each sign, 64 of them in a word.
    count = -(-dimension // 64)
    positions = indices[:, None] * count + _range(count, draw)[None, :]
    words = _words(draw, RowStream.SIGN, positions)
    if is_numpy_array(words):
        flat = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
    else:
        bits = (words[..., None] >> _range(64, draw)) & 1
        flat = xp.reshape(bits, (*words.shape[:-1], 64 * count))
    return xp.astype(flat[..., :dimension], draw.like.dtype) * 2 - 1


def phases(draw: Draw, count: int) -> Array:
    """Angles uniform on the circle: (rows, count)."""
    return (2.0 * math.pi) * _uniform(_words(draw, RowStream.PHASE, _range(count, draw)), draw)


def integers(draw: Draw, indices: Array, below: int) -> Array:
    """Integers uniform below a limit, one for each row and index: (rows, indices)."""
    words = _words(draw, RowStream.INTEGER, indices)
    # The modulo's bias is below/2**62: nothing at any size that fits in memory.
    return (words & ((1 << 62) - 1)) % below


def nested(rows: Integers, count: int, index: Integers) -> Integers:
    """Numbers of their own for the parts of rows, `index` of `count` each: (rows,).

    Addresses that were hashed may leave 64 bits, and come back within the first 62.
    """
    return np.asarray((rows * count + index) & ((1 << 62) - 1))


def hashed(words: Integers, seed: int, stream: IntEnum) -> Integers:
    """One random-looking word for each row of words (rows, columns): equal for equal rows."""
    keys = np.full(len(words), _start(seed, stream, 0))
    for column in range(words.shape[1]):
        keys = _mixed(keys * _GOLDEN + words[:, column])
    return np.asarray(keys)


def generator(seed: int, stream: IntEnum, *address: int) -> np.random.Generator:
    """Numpy's generator for whatever is drawn once per run, on the host.

    Parameters
    ----------
    seed
        The run's.
    stream
        From a register (`streams.Stream`), so that no two uses share an address.
    address
        Whatever tells apart several generators of one stream.
    """
    return np.random.default_rng((_checked_seed(seed), int(stream), *address))


def _checked_seed(seed: int) -> int:
    """The seed as a plain integer, if it is a whole number from 0 on."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise SettingsError(f"seed {seed!r}: give a whole number from 0 on")
    return int(seed)


def haar(seed: int, place: int, digit: int, dimension: int) -> Floats:
    """A uniformly random orthogonal matrix (n, n): Q of the QR of a normal one (Mezzadri, 2007)."""
    normal = generator(seed, Stream.ROTATION, place, digit).standard_normal((dimension, dimension))
    orthogonal, upper = np.linalg.qr(normal)
    # Without the signs, QR's convention would favour some rotations over others.
    return cast(Floats, orthogonal * np.sign(np.diag(upper)))
