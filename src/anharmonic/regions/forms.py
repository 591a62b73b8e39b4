"""What models take that is no table: lists of texts, arrays of objects, sparse matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, cast

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from anharmonic._core import tables
from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import PointsError

__all__ = [
    "TEXT",
    "as_objects",
    "as_texts",
    "as_they_came",
    "dense_numbers",
    "formed",
    "is_objects",
    "is_texts",
    "with_form",
]

TEXT_TYPES = ("object", "str", "string")
"""Types of columns that hold texts where they hold anything."""
MOST_BYTES = 2 << 30
"""Numbers of a sparse matrix that are held at once."""
TEXT = "text"
"""The name of the column that a list of texts becomes."""


def is_texts(data: object) -> bool:
    """Whether data are texts, one per point: a list, a Series or an array of strings.

    Some may be missing.

    >>> [is_texts(data) for data in (["a"], [None, "a"], [None], [float("nan")], "a", {"a": [1]})]
    [True, True, True, False, False, False]
    """
    if isinstance(data, str | Mapping | Set) or not hasattr(data, "__len__"):
        return False
    if hasattr(data, "columns") or getattr(data, "ndim", 1) != 1 or not len(data):
        return False
    first = next((cell for cell in _cells(data) if not is_missing(cell)), None)
    if first is None:
        # All are missing: gaps among numbers are NaN in an array of floats.
        return None in _cells(data) or str(getattr(data, "dtype", "")) in TEXT_TYPES
    return isinstance(first, str)


def as_texts(data: Any) -> Any:
    """Texts as a table of one column."""
    index = getattr(data, "index", None)
    texts = [None if is_missing(text) else str(text) for text in _cells(data)]
    frame = tables.frame(tables.arrow({TEXT: texts}, {}))
    if index is not None and not callable(index) and hasattr(frame, "set_axis"):
        return frame.set_axis(index, axis=0)
    return frame


def _cells(data: Any) -> Iterable[object]:
    """The cells of a list, a Series or an array; arrow's are no texts before they are asked."""
    return cast(Iterable[object], data.to_pylist() if hasattr(data, "to_pylist") else data)


def with_form(data: object) -> tuple[object, str, Array | None]:
    """Data as a table or an array, and the form that the model takes them in, if it is neither.

    Beside these the cells as they came, where a table's types change them.
    """
    if is_texts(data):
        own = np.array(list(_cells(data)), dtype=object)
        gaps = any(is_missing(cell) for cell in own.tolist())
        return as_texts(data), "texts", own if gaps else None
    if is_objects(data):
        return as_objects(cast(Array, data)), "objects", data
    if sparse.issparse(data):
        return dense_numbers(data), "sparse", None
    return data, "", None


def is_objects(data: object) -> bool:
    """Whether data are an array of cells that are not all numbers."""
    return isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "OUS"


def as_objects(data: Array) -> Any:
    """An array of objects as a table, each column of the type that its cells have."""
    import pyarrow as pa

    columns, several = {}, []
    for place in range(data.shape[1]):
        cells = [None if is_missing(cell) else cell for cell in data[:, place].tolist()]
        try:
            column = pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            column = pa.array([None if cell is None else str(cell) for cell in cells])
        columns[str(place)] = column
        if column.null_count and pa.types.is_string(column.type):
            several.append(place)
    frame: Any = tables.frame(pa.table(columns))
    if hasattr(frame, "assign"):
        # A missing text stays what it is, None or NaN: a column of objects can hold both.
        for place in several:
            series = frame[str(place)]
            frame[str(place)] = type(series)(data[:, place], dtype=object)
    return frame


def as_they_came(cells: Array, own: Array) -> Array:
    """Objects (rows, columns), or texts (rows,), each that equals the row's own as that came.

    A table's types make 1 of True, 1.0 of 1 beside a gap, and NaN of None.
    """
    for place in np.ndindex(cells.shape):
        if _is_same(cells[place], own[place]):
            cells[place] = own[place]
    return cells


def _is_same(cell: object, before: object) -> bool:
    if is_missing(before):
        return is_missing(cell)
    try:
        return bool(cell == before)
    except ValueError:  # arrays, which are equal in parts
        return False


def dense_numbers(data: Any) -> Floats:
    """A sparse matrix as an array of numbers, if that fits in memory."""
    if 8 * data.shape[0] * data.shape[1] > MOST_BYTES:
        raise PointsError(
            f"a sparse matrix of {data.shape[0]:,} × {data.shape[1]:,} numbers takes more than "
            "2 GB when its rows are moved: measure at fewer rows at a time"
        )
    return np.asarray(data.toarray(), dtype=np.float64)


def formed(form: str, points: Array) -> Array:
    """Moved points in the form that the model takes."""
    if form == "sparse":
        return sparse.csr_matrix(points)
    if not form:
        return points
    table = nw.from_native(points, eager_only=True)
    if form == "texts":
        return np.array(table[TEXT].to_list(), dtype=object)
    cells = [table[name].to_list() for name in table.columns]
    return np.array([list(row) for row in zip(*cells, strict=True)], dtype=object)
