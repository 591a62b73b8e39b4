"""Who a row is: its file and its number there, or a key; and the number its randomness hangs on.

The number depends on nothing else, so that a row gets the same random numbers in any batch, on any
worker, in any order. A table in memory and a single file agree: row i has the number i.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic.errors import SettingsError

__all__ = ["KEY_BITS", "MOST_ROWS", "file_addresses", "key_addresses"]

ROW_BITS, KEY_BITS, INTEGER_BITS = 40, 45, 62
MOST_ROWS = 1 << ROW_BITS
"""Of one file."""


def file_addresses(place: int, rows: Integers) -> Integers:
    """Numbers of rows by the place of their file among the sorted names, and their row there.

    >>> file_addresses(0, np.array([0, 7])).tolist(), file_addresses(2, np.array([1])).tolist()
    ([0, 7], [2199023255553])
    """
    return np.asarray((place << ROW_BITS) + rows, dtype=np.int64)


def key_addresses(keys: Any) -> Integers:
    """Numbers of rows by their keys, an arrow array: whole numbers as they are, texts hashed.

    A missing key has the number of an empty one: whoever measures sets such rows aside. Two texts
    of a million share a number with a chance of 1 in 70, and then their directions.

    >>> import pyarrow as pa
    >>> key_addresses(pa.array([5, 3])).tolist()
    [5, 3]
    >>> a, b, again = key_addresses(pa.array(["a", "b", "a"])).tolist()
    >>> a == again != b
    True
    """
    import pyarrow as pa

    kind = keys.type
    if keys.null_count and not pa.types.is_dictionary(kind):
        keys = keys.fill_null(0 if pa.types.is_integer(kind) else "")
    if pa.types.is_integer(kind):
        numbers = keys.to_numpy(zero_copy_only=False)
        if not len(numbers) or (numbers.min() >= 0 and numbers.max() < 1 << INTEGER_BITS):
            return np.asarray(numbers, dtype=np.int64)
    elif pa.types.is_floating(kind):
        raise SettingsError("a key is a whole number or a text, and this one is a fraction")
    encoded = keys.dictionary_encode() if not pa.types.is_dictionary(kind) else keys
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    levels = np.array([_hash(level) for level in encoded.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(levels[encoded.indices.to_numpy(zero_copy_only=False)])


def _hash(key: object) -> int:
    digest = blake2b(str(key).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - KEY_BITS)
