"""Moved numbers as cells again, in the types that the points have.

What was not moved comes back as it was, the way in which its cell is missing included: to an
encoder None and NaN are two things.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from anharmonic._core.frames import (
    Table,
    assemble,
    column_like,
    gather,
    missing_cells,
    unwrapped,
    with_cells,
)
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.regions.tables.coding import Coding, ColumnCode
from anharmonic.regions.tables.dates import dated_cells
from anharmonic.regions.tables.editing import edited
from anharmonic.regions.tables.numbers import number_cells

__all__ = ["ColumnCells", "TableCells"]

EXACT = 2.0**53
"""Whole steps beyond it are not told apart by a float."""


@dataclass(frozen=True)
class ColumnCells:
    """A column of the points, and how codes become cells of its type.

    Parameters
    ----------
    code
        How it is coded.
    series
        Its cells.
    """

    code: ColumnCode
    series: nw.Series

    def of(self, codes: Floats, rows: Integers) -> Array:
        """Cells from codes (queries,) and each query's row."""
        if self.code.kind.movement == "edit":
            return self._edited(codes, rows)
        absent = np.isnan(codes)
        kept = self._kept(codes, rows, absent)
        if self.code.by_level:
            # Only a column with a missing cell in it may need a type that has one.
            palette = self._levels_and_missing if absent.any() else self._levels
            places = np.where(absent, len(self.code.levels), np.maximum(codes, 0))
            made = gather(palette, places.astype(np.int64))
        elif self.code.calendar is not None:
            made = dated_cells(self.code.calendar.times(codes), self.typed)
        else:
            gradual = self.code.kind.movement == "ball"
            made = number_cells(codes, self.typed, gradual, self.code.missing)
        if not len(kept):
            return made
        return with_cells(made, kept, self.typed[rows[kept].tolist()])

    @cached_property
    def typed(self) -> nw.Series:
        """The column; of the reference's type where none of its cells is there to have one."""
        like = self.code.like
        if like is None or like.implementation != self.series.implementation:
            like = self._of_the_code
        if like is None or like.dtype == self.series.dtype:
            return self.series
        if not missing_cells(self.series).all():
            return self.series
        return column_like(like, [None] * len(self.series))

    @property
    def _of_the_code(self) -> nw.Series | None:
        """What the code itself says of the type: levels, or times."""
        cells: Any = None
        if self.code.by_level:
            cells = list(self.code.levels)
        elif self.code.calendar is not None:
            cells = np.empty(0, dtype=self.code.calendar.stamp)
        if cells is None:
            return None
        return nw.new_series(self.series.name, cells, backend=self.series.implementation)

    @cached_property
    def _levels(self) -> nw.Series:
        return column_like(self.typed, self.code.levels)

    @cached_property
    def _levels_and_missing(self) -> nw.Series:
        return column_like(self.typed, [*self.code.levels, self.code.missing])

    @cached_property
    def _texts(self) -> list[object]:
        return self.series.to_list()

    @cached_property
    def _several_ways(self) -> bool:
        """Whether cells of this type can be missing in several ways, such as null and NaN."""
        dtype = getattr(self.typed.to_native(), "dtype", None)
        if isinstance(dtype, np.dtype):
            return dtype.kind == "O"
        return self.typed.dtype.is_float()

    @cached_property
    def _own_codes(self) -> Floats | None:
        """The column's own codes, where they say less than its cells: of dates between two steps,
        or too far from the first one for a float; of objects that equal a level of another type.
        """
        if self.code.calendar is not None:
            own = self.code.encode(self.series)
            there = own[np.isfinite(own)]
            exact = (there % 1 == 0).all() and np.abs(there).max(initial=0.0) <= EXACT
            return None if exact else own
        if self.code.by_level and self.series.dtype == nw.Object:
            own = self.code.encode(self.series)
            known = np.flatnonzero(own >= 0).tolist()
            levels, cells = self.code.levels, self.series.to_list()
            if any(type(levels[int(own[row])]) is not type(cells[row]) for row in known):
                return own
        return None

    def _kept(self, codes: Floats, rows: Integers, absent: NDArray[np.bool_]) -> Integers:
        """Queries whose own cell stays as it came, as no code says what it was."""
        if self._own_codes is not None:
            own = self._own_codes[rows]
            return np.flatnonzero((codes == own) | (absent & np.isnan(own)))
        if self.code.by_level and (codes < 0).any():
            # A level of a later batch that the reference does not have.
            absent = absent | (codes < 0)
        elif not self._several_ways:
            return np.empty(0, dtype=np.int64)
        places = np.flatnonzero(absent)
        if not len(places):
            return places
        gone = missing_cells(self.typed[rows[places].tolist()])
        return places[gone | (codes[places] < 0)]

    def _edited(self, codes: Floats, rows: Integers) -> Array:
        change = self.code.kind.change
        changed = [
            edited(self._texts[row], code, change)
            for code, row in zip(codes.tolist(), rows.tolist(), strict=True)
        ]
        return unwrapped(column_like(self.series, changed))


@dataclass(frozen=True)
class TableCells:
    """A table of points, and how coded rows become rows like its own."""

    table: Table
    columns: tuple[ColumnCells, ...]

    @classmethod
    def of(cls, coding: Coding, table: Table) -> TableCells:
        """A table whose moving columns a coding is of."""
        return cls(
            table,
            tuple(ColumnCells(code, table[code.kind.name]) for code in coding.columns),
        )

    def rows(self, moved: Floats, rows: Integers) -> Any:
        """Moved numbers (queries, n) as a table like the points', what stays put back."""
        cells: dict[str, Array] = {
            column.code.kind.name: column.of(moved[:, place], rows)
            for place, column in enumerate(self.columns)
        }
        for name in self.table.columns:
            if name not in cells:
                cells[name] = gather(self.table[name], rows)
        return assemble(cells, self.table.columns, self.table)
