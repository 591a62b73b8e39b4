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
    "gather",
    "is_ordered",
    "missing_cells",
    "numbers_in",
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


def is_ordered(series: nw.Series) -> bool:
    """Whether a column's categories have an order, as pandas' may."""
    return bool(getattr(getattr(series.to_native(), "dtype", None), "ordered", False))


def missing_cells(series: nw.Series) -> NDArray[np.bool_]:
    """Which cells of a column are missing, (rows,): null, NaN or NaT."""
    missing = np.array(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_float():
        missing |= np.isnan(numbers_in(series))
    elif series.dtype == nw.Object:
        missing |= np.array([cell is None or cell != cell for cell in series.to_list()], dtype=bool)
    return missing


def numbers_in(series: nw.Series) -> Floats:
    """A column of numbers or truth values as floats, NaN where a cell is missing."""
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def column_like(series: nw.Series, cells: Sequence[object]) -> nw.Series:
    """Cells as a column of the same library and type; categories may be further ones."""
    native: Any = series.to_native()
    if series.implementation.is_pandas_like():
        return nw.from_native(_pandas_column(series, native, cells), series_only=True)
    if series.implementation.is_pyarrow():
        import pyarrow as pa

        made = pa.chunked_array([pa.array(cells, type=native.type)])
        return nw.from_native(made, series_only=True)
    made = type(native)(series.name, cells, dtype=native.dtype, strict=False)
    return nw.from_native(made, series_only=True)


def _pandas_column(series: nw.Series, native: Any, cells: Sequence[object]) -> Any:
    pandas: Any = series.implementation.to_native_namespace()
    dtype = native.dtype
    if hasattr(dtype, "categories"):
        known = list(dtype.categories)
        further = dict.fromkeys(cell for cell in cells if cell is not None and cell == cell)
        known += [cell for cell in further if cell not in set(known)]
        return pandas.Series(pandas.Categorical(cells, categories=known, ordered=dtype.ordered))
    whole = isinstance(dtype, np.dtype) and dtype.kind in "iub"
    # numpy's integers and truth values have no missing value.
    return pandas.Series(cells, dtype=object if whole and None in cells else dtype)


def gather(series: nw.Series, places: Integers) -> Array:
    """Cells of a column by their places, in the column's own type; an index is dropped."""
    if series.implementation.is_pandas_like():
        native = series.to_native()
        return native.array.take(places)
    return series[places.tolist()].to_native()


def assemble(columns: Mapping[str, Array], order: Sequence[str], like: Table) -> Any:
    """A table of the same library as another, from columns as `gather` gives them."""
    named = {name: columns[name] for name in order}
    if like.implementation.is_pandas_like():
        frame = like.implementation.to_native_namespace().DataFrame
        return frame(named, copy=False)
    if like.implementation.is_pyarrow():
        import pyarrow as pa

        return pa.table(named)
    return type(like.to_native())(named)
