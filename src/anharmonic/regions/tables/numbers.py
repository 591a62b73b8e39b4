"""Moved numbers in the types that a column has."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.frames import dense
from anharmonic._core.protocols import Array, Floats

__all__ = ["number_cells"]


def number_cells(codes: Floats, series: nw.Series, gradual: bool, missing: object) -> Array:
    """Numbers in a column's own type, as far as that can hold them; `gradual` ones are floats.

    A missing cell is the type's own; of a float that knows null and NaN it is as `missing` is.
    """
    if series.implementation.is_pandas_like():
        return _pandas_numbers(codes, series, gradual)
    made, dtype = nw.new_series(series.name, codes, backend=series.implementation), series.dtype
    if not (isinstance(missing, float) and dtype.is_float()):
        made = made.fill_nan(None)
    if (gradual and not dtype.is_float()) or not (dtype.is_numeric() or dtype == nw.Boolean):
        return made.to_native()
    return made.cast(dtype).to_native()


def _pandas_numbers(codes: Floats, series: nw.Series, gradual: bool) -> Array:
    native: Any = series.to_native()
    beyond_whole = gradual or bool(np.isnan(codes).any())
    if isinstance(native.dtype, np.dtype):
        # numpy's integers have no missing value, and a number that a ball moved is none.
        if native.dtype.kind in "iub" and beyond_whole:
            return codes
        return codes.astype(native.dtype, copy=False)
    none = series.head(0)
    if not dense(none).dtype.is_float():
        if beyond_whole and dense(none) is not none:
            return codes
        if gradual:
            native = none.cast(nw.Float64).to_native()
    pandas: Any = series.implementation.to_native_namespace()
    return pandas.array(codes, dtype=native.dtype)
