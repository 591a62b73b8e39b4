"""Further rows as the numbers that earlier rows became: each row by itself, whatever its batch."""

from __future__ import annotations

from typing import cast

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import shown
from anharmonic._core.frames import Table, is_missing
from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.measures.over_data.encoding import Column, Encoded, stamped_numbers, times
from anharmonic.regions import Region

__all__ = ["encode_further"]

UNKNOWN = -1.0
"""The code of a level that earlier rows do not have: a feature of its own has none of them."""


def encode_further(region: Region, earlier: Encoded) -> Encoded:
    """Rows with the levels and time units of earlier ones; take their features by its `rules`."""
    if region.is_table:
        table = cast(Table, region.source)
        missing = [name for name in earlier.used if name not in table.columns]
        if missing:
            raise PointsError(f"no column {', '.join(missing)}: give the reference's columns")
        values = [_values(table[column.name], column) for column in earlier.columns]
    else:
        cells = to_numpy64(region.source)
        if not all(column.name.isdigit() for column in earlier.columns):
            raise PointsError(
                f"the reference is a table with {shown(earlier.used)}: give rows that are the same"
            )
        numbers = [int(column.name) for column in earlier.columns]
        if max(numbers) >= cells.shape[1]:
            raise PointsError(
                f"a row has {cells.shape[1]} numbers and the reference has column {max(numbers)}: "
                "give rows like the reference's"
            )
        values = [cells[:, number] for number in numbers]
    columns = [
        earlier_column._replace(values=cells)
        for earlier_column, cells in zip(earlier.columns, values, strict=True)
    ]
    return Encoded(tuple(columns), earlier.used, earlier.left_out)


def _values(series: nw.Series, column: Column) -> Floats:
    """A column's cells by what the earlier one was: levels, times or numbers."""
    if column.levels:
        number = {text: float(index) for index, text in enumerate(column.texts)}
        codes = [
            np.nan if is_missing(cell) else number.get(str(cell), UNKNOWN)
            for cell in series.to_list()
        ]
        return np.array(codes)
    try:
        if column.unit and series.dtype.is_temporal():
            # The same unit, or a day would count as another number of days.
            return stamped_numbers(times(series).astype(column.unit))
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        # A batch in which every cell of a column is missing has no type to tell numbers by.
        return np.array([np.nan if cell is None else float(cell) for cell in series.to_list()])
    except (TypeError, ValueError) as problem:
        what = "times" if column.unit else "numbers"
        raise PointsError(
            f"column {column.name} holds {what} in the reference and {series.dtype} here: give "
            "it as the reference has it"
        ) from problem
