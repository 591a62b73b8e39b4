"""Who a row is: its file and its number there, or a key; and the number its randomness hangs on.

The number depends on nothing else, so that a row gets the same random numbers in any batch, on any
worker, in any order. A table in memory and a single file agree: row i has the number i.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Integers
from anharmonic.errors import SettingsError

__all__ = [
    "KEY_BITS",
    "MOST_ROWS",
    "check_whole",
    "file_addresses",
    "is_whole",
    "key_addresses",
    "plain_key",
    "without_fractions",
]

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
    """Numbers of rows by their keys, an arrow array: whole numbers as they are, others hashed.

    A row's number depends on its own key alone, not on those beside it. A missing key has the
    number of an empty one: whoever measures sets such rows aside. Two texts of a million share a
    number with a chance of 1 in 70, and then their directions.

    >>> import pyarrow as pa
    >>> key_addresses(pa.array([5, 3])).tolist(), key_addresses(pa.array([5, -1])).tolist()[0]
    ([5, 3], 5)
    >>> a, b, again = key_addresses(pa.array(["a", "b", "a"])).tolist()
    >>> a == again != b
    True
    """
    import pyarrow as pa

    kind = keys.type
    if pa.types.is_dictionary(kind):
        return key_addresses(keys.dictionary_decode())
    if pa.types.is_floating(kind):
        # pandas makes fractions of whole numbers where one is missing.
        keys = _whole(keys)
    if pa.types.is_integer(keys.type):
        return _of_numbers(keys)
    return _hashed(_texts(keys))


def plain_key(key: object) -> int | str | None:
    r"""A key as JSON holds it; None where there is none, however that is written.

    >>> plain_key(7), plain_key("a"), plain_key(b"a"), plain_key(b"\xff"), plain_key(float("nan"))
    (7, 'a', 'a', 'ff', None)
    """
    if isinstance(key, bytes):
        try:
            return key.decode()
        except UnicodeDecodeError:
            return key.hex()
    if key is None or (isinstance(key, int) and not isinstance(key, bool)):
        return key
    return None if isinstance(key, float) and math.isnan(key) else str(key)


def _of_numbers(keys: Any) -> Integers:
    """Whole numbers as they are; those that are negative or too large to be so, hashed."""
    import pyarrow as pa

    known = keys.fill_null(0).to_numpy(zero_copy_only=False)
    usual = (known >= 0) & (known < 1 << INTEGER_BITS)
    numbers = np.zeros(len(known), dtype=np.int64)
    numbers[usual] = known[usual].astype(np.int64)
    if not usual.all():
        numbers[~usual] = _hashed(keys.filter(pa.array(~usual)))
    return numbers


def _whole(keys: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    check_whole(keys)
    return pc.if_else(pc.is_nan(keys), None, keys).cast(pa.int64())


def is_whole(keys: Any) -> NDArray[np.bool_]:
    """Which keys are no fractions; a missing one, and one that is NaN, is one.

    >>> import pyarrow as pa
    >>> is_whole(pa.array([1.0, 0.5, None])).tolist(), is_whole(pa.array(["a"])).tolist()
    ([True, False, True], [True])
    """
    import pyarrow as pa

    if not pa.types.is_floating(keys.type):
        return np.ones(len(keys), dtype=bool)
    numbers = np.asarray(keys.to_numpy(zero_copy_only=False), dtype=float)
    whole = (np.abs(numbers) < 1 << INTEGER_BITS) & (np.floor(numbers) == numbers)
    return np.asarray(whole | np.isnan(numbers))


def check_whole(keys: Any) -> None:
    """Refuse keys of which some are fractions."""
    if not is_whole(keys).all():
        raise SettingsError(
            "a key is a whole number or a text, and this one is a fraction: give another column"
        )


def without_fractions(keys: Any) -> Any:
    """Keys with nothing in place of fractions: whoever measures sets such rows aside."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = is_whole(keys)
    return keys if whole.all() else pc.if_else(pa.array(whole), keys, None)


def _texts(keys: Any) -> Any:
    """Keys that are no numbers as texts that mean the same on any machine; bytes as they are."""
    import pyarrow as pa

    kind = keys.type
    bare = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    if any(test(kind) for test in bare):
        return keys
    return keys.cast(pa.string()) if pa.types.is_temporal(kind) else keys


def _hashed(keys: Any) -> Integers:
    encoded = keys.dictionary_encode()
    levels = [_hash("" if level is None else level) for level in encoded.dictionary.to_pylist()]
    # A missing key has no level: it is numbered as an empty text is.
    missing = len(levels)
    known = encoded.indices.fill_null(missing).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*levels, _hash("")], dtype=np.int64)[known])


def _hash(key: object) -> int:
    text = key if isinstance(key, bytes) else str(key).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> (64 - KEY_BITS)
