"""Tables of any library (pandas, polars, pyarrow …) seen alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Array, Floats, Integers

__all__ = [
    "Table",
    "as_table",
    "assemble",
    "column_like",
    "dense",
    "first_missing",
    "gather",
    "in_order",
    "is_missing",
    "is_ordered",
    "missing_cells",
    "numbers_in",
    "unwrapped",
    "with_cells",
]

Table = nw.DataFrame[Any]
"""A table of any library, as narwhals wraps it."""


def as_table(data: object) -> Table | None:
    """A table as narwhals sees it; None for arrays, lists and whatever else is no table."""
    if isinstance(data, np.ndarray):
        # Asking narwhals takes longer than scoring a row.
        return None
    table = nw.from_native(data, eager_only=True, pass_through=True)
    return table if isinstance(table, nw.DataFrame) else None


def dense(series: nw.Series) -> nw.Series:
    """A column of pandas' sparse type with all of its cells; any other as it is."""
    native: Any = series.to_native()
    if type(getattr(native, "dtype", None)).__name__ != "SparseDtype":
        return series
    return nw.from_native(native.sparse.to_dense(), series_only=True)


def is_ordered(series: nw.Series) -> bool:
    """Whether a column's categories have an order, as pandas' may."""
    return bool(getattr(getattr(series.to_native(), "dtype", None), "ordered", False))


def in_order(series: nw.Series) -> list[object]:
    """The categories of a column whose type knows their order; none for any other."""
    kind = getattr(series.to_native(), "type", None)
    if is_ordered(series) or series.dtype == nw.Enum or getattr(kind, "ordered", False):
        return list(series.cat.get_categories().to_list())
    return []


def is_missing(cell: object) -> bool:
    """Whether a cell of any library is missing: None, NaN, NaT or pandas' NA.

    >>> [is_missing(cell) for cell in (None, float("nan"), "", np.zeros(2))]
    [True, True, False, False]
    """
    if cell is None:
        return True
    try:
        differs: Any = cell != cell
    except Exception:  # cells of libraries that refuse to be compared are there
        return False
    if isinstance(differs, bool | np.bool_):
        return bool(differs)
    # Whatever NA is compared with, the answer is NA itself; of arrays it is an array.
    return differs is cell


def missing_cells(series: nw.Series) -> NDArray[np.bool_]:
    """Which cells of a column are missing, (rows,): null, NaN, NaT or NA."""
    missing = np.array(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_float():
        missing |= np.isnan(numbers_in(series))
    elif series.dtype == nw.Object and not series.implementation.is_pandas_like():
        missing |= np.array([is_missing(cell) for cell in series.to_list()], dtype=bool)
    return missing


def first_missing(series: nw.Series) -> object:
    """The first missing cell as its library has it, such as NaN; None where none is."""
    places = np.flatnonzero(missing_cells(series))
    return series[places[:1].tolist()].to_list()[0] if len(places) else None


def numbers_in(series: nw.Series) -> Floats:
    """A column of numbers or truth values as floats, NaN where a cell is missing."""
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def column_like(series: nw.Series, cells: Sequence[object]) -> nw.Series:
    """Cells as a column of the same library and type; categories may be further ones."""
    native: Any = series.to_native()
    if series.implementation.is_pandas_like():
        return nw.from_native(_pandas_column(series, native, cells), series_only=True)
    if not series.dtype.is_float():
        cells = [None if is_missing(cell) else cell for cell in cells]
    if series.implementation.is_pyarrow():
        return nw.from_native(_arrow_column(native.type, cells), series_only=True)
    made = type(native)(series.name, cells, dtype=native.dtype, strict=False)
    return nw.from_native(made, series_only=True)


def _arrow_column(kind: Any, cells: Sequence[object]) -> Any:
    import pyarrow as pa

    if not pa.types.is_dictionary(kind):
        return pa.chunked_array([pa.array(cells, type=kind)])
    # Not every type of value can be made a dictionary in one go.
    coded = pa.array(cells, type=kind.value_type).dictionary_encode()
    places = coded.indices.cast(kind.index_type)
    ordered = {"ordered": kind.ordered}
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, coded.dictionary, **ordered)])


def _pandas_column(series: nw.Series, native: Any, cells: Sequence[object]) -> Any:
    pandas: Any = series.implementation.to_native_namespace()
    dtype = native.dtype
    if hasattr(dtype, "categories"):
        known = dict.fromkeys([*dtype.categories, *(c for c in cells if not is_missing(c))])
        made = pandas.Categorical(cells, categories=list(known), ordered=dtype.ordered)
        return pandas.Series(made)
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and any(map(is_missing, cells)):
        # numpy's integers and truth values have no missing value.
        dtype = np.dtype(object if dtype.kind == "b" else np.float64)
    return pandas.Series(cells, dtype=dtype)


def unwrapped(series: nw.Series) -> Array:
    """A column as its library has it; of pandas without an index."""
    native = series.to_native()
    return native.array if series.implementation.is_pandas_like() else native


def gather(series: nw.Series, places: Integers) -> Array:
    """Cells of a column by their places, in the column's own type; an index is dropped."""
    if series.implementation.is_pandas_like():
        return unwrapped(series).take(places)
    return series[places.tolist()].to_native()


def with_cells(made: Array, places: Integers, cells: nw.Series) -> Array:
    """A column as `gather` gives them, with other cells of the same type in some places."""
    if cells.implementation.is_pandas_like():
        own = cells.to_native().array
        # A category may have further levels here, of which only cells by themselves are one.
        made[places] = own.tolist() if hasattr(own, "categories") else own
        return made
    if cells.implementation.is_pyarrow():
        both = _arrow_column(cells.to_native().type, [*made.to_pylist(), *cells.to_list()])
        taken = np.arange(len(made))
        taken[places] = len(made) + np.arange(len(places))
        return both.take(taken)
    return nw.from_native(made, series_only=True).scatter(places.tolist(), cells).to_native()


def assemble(columns: Mapping[str, Array], order: Sequence[str], like: Table) -> Any:
    """A table of the same library as another, from columns as `gather` gives them."""
    named = {name: columns[name] for name in order}
    if like.implementation.is_pandas_like():
        pandas: Any = like.implementation.to_native_namespace()
        # Objects that are not said to be would become texts, and None among them NaN.
        typed = {
            name: pandas.Series(cells, dtype=object, copy=False)
            if cells.dtype == "object"
            else cells
            for name, cells in named.items()
        }
        return pandas.DataFrame(typed, copy=False)
    if like.implementation.is_pyarrow():
        import pyarrow as pa

        return pa.table(named)
    return type(like.to_native())(named)
