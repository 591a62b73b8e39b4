"""Cells of any type as numbers.

A number stands for itself, a date for how many units it is after the first one, a category for
its place in a list of levels, a text for how it was edited: 0 is the text as it came. NaN is a
missing cell, whatever the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.frames import Table, dense, first_missing, missing_cells, numbers_in
from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.regions.tables.dates import Calendar
from anharmonic.regions.tables.editing import EDITS
from anharmonic.regions.tables.kinds import ColumnKind
from anharmonic.regions.tables.levels import levels_of, plain_cell

__all__ = ["Coding", "ColumnCode", "code_columns"]

LEVELLED = ("category", "flag", "ordered")
"""Kinds whose cells are coded by their place among the levels, unless they are numbers anyway."""


@dataclass(frozen=True)
class ColumnCode:
    """How one column is coded.

    Parameters
    ----------
    kind
        What the column is.
    levels
        Its cells, once each, where they are coded by their place: `by_level`.
    calendar
        Of dates: where they begin, and in which steps they go on.
    missing
        What a missing cell is where its type has several, such as None and NaN.
    like
        No cells of the reference's type, for points that have none in this column; None where the
        coding comes from a file.
    """

    kind: ColumnKind
    levels: tuple[object, ...] = ()
    by_level: bool = False
    calendar: Calendar | None = None
    missing: object = None
    like: nw.Series | None = field(default=None, compare=False, repr=False)

    def encode(self, series: nw.Series) -> Floats:
        """A column's cells as numbers (rows,), NaN where one is missing; −1 for unknown levels."""
        if self.kind.movement == "edit":
            return np.zeros(len(series))
        if self.by_level:
            return self._places(series)
        if not self._suits(series):
            if missing_cells(series).all():
                return np.full(len(series), np.nan)
            what = "numbers" if self.calendar is None else self.calendar.what
            raise PointsError(
                f"column {self.kind.name} holds {what} in the reference and {series.dtype} in the "
                f"points: give the points {what} too, or the reference what the points have"
            )
        return numbers_in(series) if self.calendar is None else self.calendar.steps(series)

    def _suits(self, series: nw.Series) -> bool:
        """Whether a column's type is one that its cells can be coded from."""
        dtype = series.dtype
        if self.calendar is not None:
            return self.calendar.suits(series)
        if dtype == nw.Object:
            return not any(isinstance(cell, str | bytes) for cell in series.to_list())
        return dtype.is_numeric() or dtype == nw.Boolean

    def _places(self, series: nw.Series) -> Floats:
        absent = missing_cells(series)
        if series.implementation.is_pandas_like():
            pandas: Any = series.implementation.to_native_namespace()
            objects = {"dtype": object, "tupleize_cols": False}
            cells = pandas.Index(series.to_native().astype(object).to_numpy(), **objects)
            places = pandas.Index(list(self.levels), **objects).get_indexer(cells)
            return np.where(absent, np.nan, places.astype(np.float64))
        place = {level: float(number) for number, level in enumerate(self.levels)}
        return np.array(
            [
                np.nan if gone else place.get(plain_cell(cell), -1.0)
                for cell, gone in zip(series.to_list(), absent.tolist(), strict=True)
            ]
        )

    def text(self, code: float) -> str:
        """A code as people read it."""
        if np.isnan(code):
            return "missing"
        if self.by_level:
            return str(self.levels[int(code)]) if 0 <= code < len(self.levels) else "unknown"
        if self.calendar is not None:
            return str(self.calendar.times(np.array([code]))[0])
        if self.kind.movement == "edit":
            return f"edited {int(code % EDITS)} times" if code else "as it came"
        return f"{code:.6g}"


@dataclass(frozen=True)
class Coding:
    """How the moving columns of a table are coded, in the order they move in."""

    columns: tuple[ColumnCode, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.kind.name for column in self.columns)

    def encode(self, table: Table) -> Floats:
        """The moving columns as numbers, (rows, n)."""
        missing = [name for name in self.names if name not in table.columns]
        if missing:
            raise PointsError(f"no column {', '.join(missing)}: give the reference's columns")
        if not self.columns:
            return np.empty((len(table), 0))
        cells = [column.encode(dense(table[column.kind.name])) for column in self.columns]
        return np.stack(cells, axis=1)

    def only(self, names: Sequence[str]) -> Coding:
        """The coding of some of the columns, in another order."""
        place = {name: number for number, name in enumerate(self.names)}
        return Coding(tuple(self.columns[place[name]] for name in names))


def code_columns(kinds: Sequence[ColumnKind], points: Table | None, reference: Table) -> Coding:
    """The coding of some columns, whose types and levels are the reference's.

    What only the points have is known too; None where they are the reference.
    """
    return Coding(tuple(_code(kind, points, reference) for kind in kinds))


def _code(kind: ColumnKind, points: Table | None, reference: Table) -> ColumnCode:
    known = dense(reference[kind.name])
    mine = None
    if points is not None and kind.name in points.columns:
        mine = dense(points[kind.name])
    code = ColumnCode(kind, missing=_missing_token(known, mine), like=known.head(0))
    if kind.kind == "date":
        return replace(code, calendar=Calendar.of(known, mine))
    if kind.kind in LEVELLED and not known.dtype.is_numeric():
        return replace(code, levels=levels_of(kind, known, mine), by_level=True)
    return code


def _missing_token(reference: nw.Series, points: nw.Series | None) -> object:
    """What a missing cell is: as in the points, or else in the reference."""
    own = None if points is None else first_missing(points)
    return first_missing(reference) if own is None else own
