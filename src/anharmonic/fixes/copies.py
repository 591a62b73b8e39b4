"""Which rows are copies of one another: what is found on one must not be measured on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from anharmonic._core.frames import Table
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import InputError, PointsError
from anharmonic.fixes.rows import Data
from anharmonic.measures.over_data.distinct import row_keys
from anharmonic.measures.over_data.encoding import Encoded, encode
from anharmonic.regions import Region, unmoved

__all__ = [
    "are_texts_alone",
    "comparable",
    "keys_of",
    "numbered",
    "with_keys",
    "without_copies_of",
]


def with_keys(parts: Sequence[Data], seed: int) -> list[Data]:
    """The same with a key for each row, equal for copies, within a part and between parts."""
    keys = row_keys(_words(parts), seed)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return [replace(part, keys=own) for part, own in zip(parts, np.split(keys, ends), strict=True)]


def keys_of(data: Data, seed: int) -> Integers:
    """A key for each row, (rows,), equal for copies."""
    known = data if data.keys is not None else with_keys([data], seed)[0]
    assert known.keys is not None
    return known.keys


def without_copies_of(reference: Data, held_out: Data) -> Data:
    """Held-out rows of which the reference has no copy; both have keys."""
    assert reference.keys is not None
    assert held_out.keys is not None
    kept = np.flatnonzero(~np.isin(held_out.keys, reference.keys))
    if not len(kept):
        raise InputError(
            f"all {len(held_out):,} held-out rows are copies of reference rows, which the model "
            "has seen: give others, or leave held_out= out"
        )
    return held_out if len(kept) == len(held_out) else held_out.take(kept)


def numbered(keys: Integers) -> Integers:
    """Keys as numbers from 0 on, (rows,), in the order of their first rows.

    >>> numbered(np.array([7, 3, 7, 9])).tolist()
    [0, 1, 0, 2]
    """
    first, of_row = np.unique(keys, return_index=True, return_inverse=True)[1:]
    return np.asarray(np.argsort(np.argsort(first))[of_row.reshape(-1)], dtype=np.int64)


def comparable(*tables: object) -> Encoded | None:
    """Rows below one another as numbers; None of texts alone that differ in nearly every row."""
    regions = [unmoved(table) for table in tables]
    try:
        return encode(regions, None)
    except PointsError:
        if not all(_has_texts_alone(region, regions[0].names) for region in regions):
            raise
        return None


def are_texts_alone(table: object) -> bool:
    """Whether rows are texts that differ in nearly every row, of which nothing can be compared."""
    region = unmoved(table)
    return _has_texts_alone(region, region.names) and comparable(table) is None


def _words(parts: Sequence[Data]) -> Integers:
    """The cells as integers, (rows, columns): equal where and only where cells are."""
    encoded = comparable(*(part.rows for part in parts))
    if encoded is not None:
        return encoded.words()
    regions = [unmoved(part.rows) for part in parts]
    tables = [cast(Table, region.source) for region in regions]
    columns = [_codes([table[name].to_list() for table in tables]) for name in regions[0].names]
    return np.stack(columns, axis=1).view(np.int64)


def _has_texts_alone(region: Region, names: tuple[str, ...]) -> bool:
    if not region.is_table or region.names != names:
        return False
    columns = [cast(Table, region.source)[name] for name in names]
    return all(
        cell is None or isinstance(cell, str) for column in columns for cell in column.to_list()
    )


def _codes(parts: Sequence[Sequence[object]]) -> Floats:
    """Each text as its place in the order of all of them."""
    texts = np.array(["" if cell is None else str(cell) for part in parts for cell in part])
    return np.unique(texts, return_inverse=True)[1].reshape(-1).astype(np.float64)
