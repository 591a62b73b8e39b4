"""Cells of any type as numbers, and moved numbers as cells again.

A number stands for itself, a date for how many units it is after the first one, a category for
its place in a list of levels, a text for how it was edited: 0 is the text as it came. NaN is a
missing cell, whatever the type. What was not moved comes back as it was, in its own type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from anharmonic._core.frames import (
    Table,
    assemble,
    column_like,
    gather,
    is_ordered,
    missing_cells,
    numbers_in,
)
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.errors import PointsError
from anharmonic.regions.tables.editing import EDITS, edited
from anharmonic.regions.tables.kinds import ColumnKind

__all__ = ["Coding", "ColumnCode", "code_columns"]

LISTED = ("category", "flag", "ordered")
"""Kinds whose cells are coded by their place among the levels, unless they are numbers anyway."""


@dataclass(frozen=True)
class ColumnCode:
    """How one column is coded.

    Parameters
    ----------
    kind
        What the column is.
    levels
        Its cells, once each, where they are coded by place: `listed`.
    origin, unit, stamp
        Of dates: the first one as an integer, what one step is, and numpy's name of the unit.
    """

    kind: ColumnKind
    levels: tuple[object, ...] = ()
    listed: bool = False
    origin: int = 0
    unit: int = 1
    stamp: str = ""
    _palettes: dict[object, nw.Series] = field(default_factory=dict, compare=False, repr=False)

    def encode(self, series: nw.Series) -> Floats:
        """A column's cells as numbers (rows,), NaN where one is missing; −1 for unknown levels."""
        if self.kind.movement == "edit":
            return np.zeros(len(series))
        if self.stamp:
            stamps = _stamps(series).astype(self.stamp)
            steps = (stamps.astype(np.int64) - self.origin) / self.unit
            return cast(Floats, np.where(np.isnat(stamps), np.nan, steps))
        if not self.listed:
            try:
                return numbers_in(series)
            except Exception as problem:
                raise PointsError(
                    f"column {self.kind.name} holds numbers in the reference and {series.dtype} "
                    "here: give it as the reference has it"
                ) from problem
        absent = missing_cells(series)
        if series.implementation.is_pandas_like():
            pandas: Any = series.implementation.to_native_namespace()
            index = pandas.Index(list(self.levels), dtype=object)
            places = index.get_indexer(series.to_native().astype(object))
            return np.where(absent, np.nan, places.astype(np.float64))
        place = {level: float(number) for number, level in enumerate(self.levels)}
        return np.array(
            [
                np.nan if gone else place.get(_plain(cell), -1.0)
                for cell, gone in zip(series.to_list(), absent.tolist(), strict=True)
            ]
        )

    def decode(self, codes: Floats, series: nw.Series, rows: Integers) -> Array:
        """Cells of the points' own type, from codes (queries,) and each query's row."""
        if self.kind.movement == "edit":
            return self._edited(codes, series, rows)
        if self.listed:
            absent = np.isnan(codes)
            palette = self._palette(series, bool(absent.any()))
            places = np.where(absent, len(self.levels), codes).astype(np.int64)
            # A level of a later batch that the reference does not have stays as it came.
            if (places < 0).any():
                return _with_unknown(palette, places, series, rows)
            return gather(palette, places)
        if self.stamp:
            return self._dated(codes, series)
        return _typed(codes, series, self.kind.movement == "ball")

    def _palette(self, series: nw.Series, absent: bool) -> nw.Series:
        """The levels as a column of the points' own type, a missing cell last if there are any."""
        key = (str(series.implementation), getattr(series.to_native(), "dtype", None), absent)
        if key not in self._palettes:
            levels = [*self.levels, None] if absent else list(self.levels)
            self._palettes[key] = column_like(series, levels)
        return self._palettes[key]

    def text(self, code: float) -> str:
        """A code as people read it."""
        if np.isnan(code):
            return "missing"
        if self.listed:
            return str(self.levels[int(code)]) if 0 <= code < len(self.levels) else "unknown"
        if self.stamp:
            stamp = np.array(self.origin + round(code) * self.unit).astype(self.stamp)
            return str(stamp)
        if self.kind.movement == "edit":
            return f"edited {int(code % EDITS)} times" if code else "as it came"
        return f"{code:.6g}"

    def _edited(self, codes: Floats, series: nw.Series, rows: Integers) -> Array:
        cells = series.to_list()
        change = self.kind.change
        changed = [
            edited(cells[row], code, change)
            for code, row in zip(codes.tolist(), rows.tolist(), strict=True)
        ]
        return gather(column_like(series, changed), np.arange(len(changed)))

    def _dated(self, codes: Floats, series: nw.Series) -> Array:
        absent = np.isnan(codes)
        steps = np.where(absent, 0, np.round(codes)).astype(np.int64) * self.unit + self.origin
        stamps = steps.astype(self.stamp)
        stamps[absent] = np.array("NaT", dtype=self.stamp)
        if series.implementation.is_pandas_like():
            native = series.to_native()
            pandas: Any = series.implementation.to_native_namespace()
            dated = pandas.Series(stamps)
            zone = getattr(native.dtype, "tz", None)
            if zone is not None:
                dated = dated.dt.tz_localize("UTC").dt.tz_convert(zone)
            return dated.astype(native.dtype).array
        made = nw.new_series(series.name, stamps, backend=series.implementation)
        return made.cast(series.dtype).to_native()


def _typed(codes: Floats, series: nw.Series, gradual: bool) -> Array:
    """Numbers in the column's own type, as far as that can hold them; `gradual` ones are floats."""
    dtype = series.dtype
    absent = np.isnan(codes)
    if series.implementation.is_pandas_like():
        native = series.to_native()
        if isinstance(native.dtype, np.dtype):
            # numpy's integers have no missing value, and a number that a ball moved is none.
            if native.dtype.kind in "iub" and (gradual or absent.any()):
                return codes
            return codes.astype(native.dtype, copy=False)
        pandas: Any = series.implementation.to_native_namespace()
        return pandas.array(
            [None if gone else cell for cell, gone in zip(codes.tolist(), absent, strict=True)]
            if absent.any()
            else codes.astype(np.int64)
            if dtype.is_integer()
            else codes,
            dtype=native.dtype,
        )
    made = nw.new_series(series.name, codes, backend=series.implementation)
    if gradual and not dtype.is_float():
        return made.to_native()
    if absent.any() and dtype.is_integer():
        made = nw.new_series(
            series.name,
            [None if gone else int(cell) for cell, gone in zip(codes, absent, strict=True)],
            backend=series.implementation,
        )
    return (made.cast(dtype) if dtype.is_numeric() or dtype == nw.Boolean else made).to_native()


def _with_unknown(palette: nw.Series, places: Integers, series: nw.Series, rows: Integers) -> Array:
    """Cells of which some keep what their row has, a level that the palette lacks."""
    known, own = palette.to_list(), series.to_list()
    cells = [
        own[row] if place < 0 else known[place]
        for place, row in zip(places.tolist(), rows.tolist(), strict=True)
    ]
    return gather(column_like(series, cells), np.arange(len(cells)))


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
        return np.stack([column.encode(table[column.kind.name]) for column in self.columns], axis=1)

    def restore(self, table: Table, moved: Floats, rows: Integers) -> Any:
        """Moved numbers (queries, n) as a table like the points', what stays put back."""
        cells: dict[str, Array] = {
            column.kind.name: column.decode(moved[:, place], table[column.kind.name], rows)
            for place, column in enumerate(self.columns)
        }
        for name in table.columns:
            if name not in cells:
                cells[name] = gather(table[name], rows)
        return assemble(cells, table.columns, table)

    def only(self, names: Sequence[str]) -> Coding:
        """The coding of some of the columns, in another order."""
        place = {name: number for number, name in enumerate(self.names)}
        return Coding(tuple(self.columns[place[name]] for name in names))


def code_columns(kinds: Sequence[ColumnKind], points: Table, reference: Table | None) -> Coding:
    """The coding of some columns, whose levels are those of points and reference."""
    tables = [points] if reference is None else [points, reference]
    columns = []
    for kind in kinds:
        parts = [table[kind.name] for table in tables]
        code = ColumnCode(kind)
        if kind.kind in LISTED and not parts[0].dtype.is_numeric():
            code = _listed(code, parts)
        elif kind.kind == "date":
            code = _dated(code, parts)
        columns.append(code)
    return Coding(tuple(columns))


def _listed(code: ColumnCode, parts: Sequence[nw.Series]) -> ColumnCode:
    """The levels in their own order, or by name, so that the rows' order changes nothing."""
    present: dict[object, None] = {}
    for part in parts:
        # Of objects not all can be sorted or hashed by their library.
        cells = part if part.dtype == nw.Object else part.unique()
        gone = missing_cells(cells)
        for cell, missing in zip(cells.to_list(), gone.tolist(), strict=True):
            if not missing:
                present.setdefault(_plain(cell))
    levels = list(present)
    ordered = next((part for part in parts if is_ordered(part)), None)
    if ordered is not None:
        rank = {_plain(level): place for place, level in enumerate(_categories(ordered))}
        levels = [*(level for level in rank if level in present or code.kind.kind == "ordered")]
    else:
        try:
            levels.sort()
        except TypeError:
            levels.sort(key=lambda level: (type(level).__name__, str(level)))
    return replace(code, levels=tuple(levels), listed=True)


def _categories(series: nw.Series) -> list[object]:
    return list(series.cat.get_categories().to_list())


def _dated(code: ColumnCode, parts: Sequence[nw.Series]) -> ColumnCode:
    """Dates as whole steps from the first one: the largest step that reaches all of them."""
    stamps = [_stamps(part) for part in parts]
    stamp = str(stamps[0].dtype)
    numbers = np.concatenate(
        [part[~np.isnat(part)].astype(stamp).astype(np.int64) for part in stamps]
    )
    if not len(numbers):
        return replace(code, stamp=stamp)
    origin = int(numbers.min())
    unit = int(np.gcd.reduce(numbers - origin)) or 1
    return replace(code, origin=origin, unit=unit, stamp=stamp)


def _stamps(series: nw.Series) -> NDArray[Any]:
    """Times or durations as numpy has them, without a zone."""
    dtype = series.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    stamps = np.asarray(series.to_numpy())
    return stamps if stamps.dtype.kind in "mM" else stamps.astype("datetime64[us]")


def _plain(cell: object) -> object:
    """A cell that can be looked up: what cannot be hashed by its text."""
    try:
        hash(cell)
    except TypeError:
        return str(cell)
    return cell
