"""Whether two measurements were made at the same points."""

from __future__ import annotations

import json
from hashlib import blake2b

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.regions import Region

__all__ = ["fingerprint", "fingerprint_of_words"]

NUMBERS = 1 << 20
"""How many are taken at a time: few enough to need little memory."""


def fingerprint(region: Region, units: Floats) -> str:
    """A short text that is the same for the same points, moved in the same columns and units.

    Columns that stay count by name, in whatever order and type they came.

    >>> import numpy as np
    >>> from anharmonic.regions import points
    >>> one, other = points([[1.0, 2.0]]), points(np.array([[1.0, 2.0]], dtype=np.float32))
    >>> fingerprint(one, np.ones(2)) == fingerprint(other, np.ones(2))
    True
    """
    still = sorted(region.still)
    digest = blake2b(json.dumps([region.columns, still]).encode(), digest_size=16)
    digest.update(np.asarray(units, dtype="<f8").tobytes())
    digest.update(str(_checksum(region.values)).encode())
    for name in still:
        digest.update("\x1f".join(_texts(region, name)).encode())
    return digest.hexdigest()


def fingerprint_of_words(words: Integers) -> str:
    """The same for cells that were made integers, (rows, columns)."""
    return blake2b(np.asarray(words, dtype="<i8").tobytes(), digest_size=16).hexdigest()


def _checksum(values: Array) -> int:
    """A number that any change of the values changes, computed on their device.

    Multiply-and-add hashing modulo 2⁶⁴: integer sums are the same in any order, so on any device.
    """
    xp = array_namespace(values)
    count, width = values.shape
    # Odd multipliers, which have an inverse modulo 2⁶⁴: no bit is lost.
    odd = np.random.default_rng(0).integers(1 << 62, size=width, dtype=np.int64) * 2 + 1
    weights = xp.asarray(odd, device=device(values))
    total = xp.zeros(1, dtype=xp.int64, device=device(values))
    step = max(1, NUMBERS // width)
    for start in range(0, count, step):
        # 0 and −0 are the same number and differ in a bit; a sum makes them one.
        chunk = xp.astype(values[start : start + step], xp.float64) + 0.0
        bits = chunk.view(xp.int64)
        # Small integers as float64 have only zeros in their low 32 bits, and multiplication moves
        # differences upwards only: mix the high bits into the low ones first.
        rows = xp.sum((bits ^ (bits >> 32)) * weights, axis=1)
        rows = (rows ^ (rows >> 29)) * 0x1F85E9EF5BB13A2D
        # Weighted by the row's number, so that the order of rows counts.
        number = xp.arange(start, start + len(rows), dtype=xp.int64, device=device(values))
        total = total + xp.sum(rows * (2 * number + 1))
    return int(total[0])


def _texts(region: Region, name: str) -> list[str]:
    """The values of a column that stays, as text."""
    if region.is_table:
        return [str(value) for value in region.source[name].to_list()]
    column = to_numpy64(region.source[:, region.names.index(name)])
    return [str(value) for value in column.tolist()]
