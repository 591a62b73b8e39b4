"""Rows as they come: one or many, arrays or tables, some of them not fit to be scored.

Points are an array or a tensor (rows, …), a table of any library that narwhals knows, a sparse
matrix, or texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.frames import as_table, is_missing
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.errors import PointsError, SettingsError
from anharmonic.regions import Region
from anharmonic.regions.forms import dense_numbers, is_objects, is_texts

__all__ = [
    *("Segmenting", "as_rows", "count_of", "label_cells", "rows_of", "segment_names"),
    *("segments_of", "spread_over", "taken", "unusable"),
]

Segmenting = str | int | Callable[[Array], Array] | None
"""A column's name or number, or a function from points to labels."""
EXACT = 2.0**53
"""Floats below it are as exact as integers."""


def as_rows(points: Array) -> Array:
    """Points as something that rows can be taken from by their numbers.

    >>> as_rows(["a text", None])
    array(['a text', None], dtype=object)
    """
    if isinstance(points, Region) or as_table(points) is not None:
        return points
    if sparse.issparse(points):
        return points.tocsr()
    if is_texts(points):
        texts = points.to_pylist() if hasattr(points, "to_pylist") else list(points)
        return np.array(texts, dtype=object)
    return points if hasattr(points, "ndim") else np.asarray(points)


def rows_of(points: Array, shape: tuple[int, ...]) -> Array:
    """Points as rows; a single one, of the shape that the reference's have, becomes a row."""
    rows = as_rows(points)
    if as_table(rows) is not None:
        return rows
    rows = rows[None] if rows.ndim == len(shape) else rows
    # Of tables and texts the reference has no shape.
    texts = isinstance(rows, np.ndarray) and is_texts(rows.reshape(-1)[:1])
    if shape and (texts or tuple(rows.shape[1:]) != tuple(shape)):
        was = "numbers" if len(shape) == 1 else "arrays"
        raise PointsError(
            f"a row of the reference is {' × '.join(map(str, shape))} {was}, and these have the "
            f"shape {tuple(rows.shape)}: give rows like the reference's"
        )
    return rows


def count_of(points: Array) -> int:
    """How many rows."""
    return int(points.shape[0]) if hasattr(points, "shape") else len(points)


def taken(points: Array, rows: Integers) -> Array:
    """Some of the rows."""
    table = as_table(points)
    if table is not None:
        # pandas would keep the old index, which is no row number any more.
        return nw.maybe_reset_index(table[rows.tolist()]).to_native()
    return points[rows.tolist()]


def spread_over(count: int, chosen: Integers, values: Floats) -> Floats:
    """Values of some rows, (chosen, …), among all of them, NaN elsewhere: (count, …)."""
    whole = np.full((count, *values.shape[1:]), np.nan)
    whole[chosen] = values
    return whole


def unusable(points: Array, columns: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which rows hold NaN or infinity where the model is moved along."""
    table = as_table(points)
    if table is not None:
        missing = [name for name in columns if name not in table.columns]
        if missing:
            raise PointsError(f"no column {', '.join(missing)}: give the reference's columns")
        values = table.select(columns).to_numpy()
        return np.asarray(~np.isfinite(np.asarray(values, dtype=np.float64)).all(axis=1))
    if is_texts(points):
        raise PointsError(f"no column {', '.join(columns)}: give the reference's columns")
    cells = dense_numbers(points) if sparse.issparse(points) else to_numpy64(points)
    flat = cells.reshape(count_of(points), -1)
    return np.asarray(~np.isfinite(flat).all(axis=1))


def label_cells(labels: Array) -> NDArray[Any]:
    """Labels one by one, as they are: numpy would make the text "nan" of a gap in a list of texts.

    >>> label_cells(["north", float("nan")]).tolist()
    ['north', nan]
    """
    return np.asarray(labels, dtype=object if isinstance(labels, list | tuple) else None)


def segment_names(labels: NDArray[Any]) -> NDArray[np.str_]:
    """Labels as text, "" for a missing one, which is of no segment.

    >>> segment_names(np.array(["north", None, float("nan"), 3], dtype=object)).tolist()
    ['north', '', '', '3']
    """
    names = labels.astype(str)
    if labels.dtype.kind in "fcOmM":
        names[np.array([is_missing(label) for label in labels.tolist()], dtype=bool)] = ""
    return names


def segments_of(points: Array, rule: Segmenting) -> NDArray[np.str_] | None:
    """Each row's segment as text, "" for none; None where nobody asked for segments."""
    if rule is None:
        return None
    if callable(rule):
        labels = label_cells(rule(points))
    else:
        table = as_table(points)
        if table is not None:
            if str(rule) not in table.columns:
                raise SettingsError(
                    f"segment {rule!r} is no column: there are {', '.join(table.columns)}"
                )
            labels = _whole_as_integers(table[str(rule)].to_numpy())
        else:
            labels = _column(points, rule)
    if labels.shape != (count_of(points),):
        raise SettingsError("segment= must give one label for each point")
    return segment_names(labels)


def _column(points: Array, rule: str | int) -> NDArray[Any]:
    """A column of rows that have no names."""
    rows = points if points.ndim > 1 else points[:, None]
    width = math.prod(rows.shape[1:])
    try:
        place = int(rule)
    except ValueError:
        place = width
    if not -width <= place < width:
        raise SettingsError(
            f"segment {rule!r} is no column: the points are an array with columns 0 to {width - 1}"
        )
    if sparse.issparse(rows):
        return np.asarray(rows[:, [place]].toarray()).ravel()
    cells = rows if is_objects(rows) else to_numpy64(rows)
    return np.asarray(cells.reshape(len(cells), -1)[:, place])


def _whole_as_integers(cells: NDArray[Any]) -> NDArray[Any]:
    """A table's cells; whole floats as text of integers, which a gap or a service makes floats."""
    if cells.dtype.kind != "f":
        return cells
    whole = (np.abs(cells) < EXACT) & (cells == np.round(cells))
    labels = segment_names(cells)
    labels[whole] = cells[whole].astype(np.int64).astype(str)
    return labels
