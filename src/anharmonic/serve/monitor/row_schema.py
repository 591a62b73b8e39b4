"""The schema of a row: which columns, how their cells are sent, and from rows to points."""

from __future__ import annotations

import logging
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from anharmonic._core.frames import column_like, dense, is_missing
from anharmonic._core.protocols import Array
from anharmonic.monitor.rows import Segmenting
from anharmonic.regions import unmoved
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.records import Cell

__all__ = ["MOST_CHARACTERS", "MOST_IN_SEGMENT", "RowSchema"]

MOST_CHARACTERS = 10_000
"""Characters in a value that is text."""
MOST_IN_SEGMENT = 200
"""Characters in the name of a segment, which becomes a label of metrics."""


CellKind = Literal["number", "truth", "text", "typed"]
"""How a cell is sent: as a number, true or false, text, or text that is read as another type."""
LOG = logging.getLogger("anharmonic.serve.monitor")


@dataclass(frozen=True)
class RowSchema:
    """The columns of a reference, which later points must have.

    A missing number is None in a row, and NaN in the points that the model gets.

    >>> row_schema = RowSchema.of(np.zeros((3, 2)))
    >>> row_schema.row([1, 2.5]), row_schema.row([1, None])
    ([1.0, 2.5], [1.0, None])
    >>> row_schema.points([[1.0, 2.5]]).shape
    (1, 2)
    """

    columns: tuple[str, ...]
    kinds: tuple[CellKind, ...]
    shape: tuple[int, ...]
    table: nw.DataFrame[Any] | None = None
    """One row of the reference, where it is a table: for the columns' types."""
    segment: str | None = None
    levels: Mapping[str, Mapping[object, object]] = field(default_factory=dict)
    """Of columns whose levels are not all text: each by its value, and by its name."""

    @classmethod
    def of(cls, reference: object, segment: Segmenting = None) -> RowSchema:
        """The schema of the reference's rows, of which one column may name segments."""
        region = unmoved(reference)
        if not region.is_table:
            names = tuple(str(index) for index in range(int(np.prod(region.shape))))
            number: CellKind = "number"
            return cls(names, (number,) * len(names), region.shape)
        table = region.source
        names = tuple(table.columns)
        kinds = tuple(_kind_of(table[name]) for name in names)
        column = segment if isinstance(segment, str) else None
        levels = {
            name: known
            for name, kind in zip(names, kinds, strict=True)
            if kind == "text" and (known := _levels_of(table[name]))
        }
        return cls(names, kinds, (len(names),), table.head(1), column, levels)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(kind == "number" for kind in self.kinds)

    def rows(self, points: Iterable[object]) -> list[list[Cell]]:
        """Rows of parsed points, up to the first that is invalid: the message says which."""
        rows: list[list[Cell]] = []
        try:
            for point in points:
                rows.append(self.row(point))
        except BadRequest as fault:
            fault.args = (f"point {len(rows)}: {fault}",)
            raise
        return rows

    def row(self, values: object) -> list[Cell]:
        """A point's values in the columns' order, checked: their number, finite, text as text.

        `values` is a list or tuple of them, or a mapping with the columns' names.
        """
        if isinstance(values, Mapping):
            values = self._ordered(values)
        if not isinstance(values, list | tuple):
            raise BadRequest("a point is a list of values, or an object with the columns' names")
        if len(values) != len(self.columns):
            raise BadRequest(_wrong_width(len(values), len(self.columns)))
        if self.table is None:
            return self._numbers(values)
        return [
            self._cell(value, name, kind)
            for value, name, kind in zip(values, self.columns, self.kinds, strict=True)
        ]

    def _cell(self, value: object, name: str, kind: CellKind) -> Cell:
        if kind == "number":
            return _number(value, name)
        if kind == "truth":
            return _truth(value, name)
        if name in self.levels and _is_number(value):
            return self._number_of_level(value, name)
        cell = _text(value, name, name == self.segment)
        if kind == "typed" and cell is not None:
            self._check_typed(cell, name)
        return cell

    def _number_of_level(self, value: object, name: str) -> Cell:
        """A number in a column of categories, some of which are numbers."""
        known: Any = self.levels[name]
        if not any(_is_number(level) for level in known):
            return _text(value, name, False)
        number = _number(value, name)
        # As the reference has it: 3, where a tensor holds 3.0.
        return known.get(number, number)  # type: ignore[no-any-return]

    def _check_typed(self, cell: Cell, name: str) -> None:
        """Refuse text that does not become a cell of the column's type."""
        assert self.table is not None
        dtype = self.table[name].dtype
        try:
            built = self._column(name, "typed", [cell])
            if built.dtype == dtype and not is_missing(built.to_list()[0]):
                return
        except Exception as problem:  # each library has its own errors
            LOG.debug("column %s: %s", name, problem)
        usual = next((str(known) for known in self.table[name].to_list() if known is not None), "")
        example = f", such as {usual!r}" if usual else ""
        raise BadRequest(
            f"column {name} holds {dtype} and got {str(cell)[:40]!r}: send text of that{example}"
        )

    def _numbers(self, values: Sequence[Cell]) -> list[Cell]:
        # Nearly all points are plain floats; checking each value is most of what parsing costs.
        if set(map(type, values)) == {float} and math.isfinite(sum(values)):  # type: ignore[arg-type]
            return list(values)
        return [_number(value, name) for value, name in zip(values, self.columns, strict=True)]

    def _ordered(self, values: Mapping[str, object]) -> list[object]:
        missing = [name for name in self.columns if name not in values]
        if missing or len(values) != len(self.columns):
            unknown = [name for name in values if name not in self.columns]
            which = f"no {', '.join(missing[:5])}" if missing else f"unknown {unknown[0]!r}"
            raise BadRequest(f"a point has {which}: the columns are {', '.join(self.columns[:50])}")
        return [values[name] for name in self.columns]

    def points(self, rows: Sequence[Sequence[Cell]]) -> Array:
        """Rows as the model takes them: an array (rows, *shape), or a table like the reference."""
        if self.table is None:
            return np.array(rows, dtype=np.float64).reshape(len(rows), *self.shape)
        columns = [
            self._column(name, kind, values)
            for name, kind, values in zip(self.columns, self.kinds, _transpose(rows), strict=True)
        ]
        return nw.to_native(columns[0].to_frame().with_columns(*columns[1:]))

    def _column(self, name: str, kind: CellKind, values: list[Cell]) -> nw.Series:
        assert self.table is not None
        if kind == "truth" and None in values:
            # numpy's truth values have no missing one.
            return column_like(self.table[name], values).alias(name)
        if kind in ("text", "typed"):
            return self._column_of_text(name, values)
        dtype = nw.Float64() if kind == "number" else self.table[name].dtype
        return nw.new_series(name, values, dtype, backend=self.table.implementation)

    def _column_of_text(self, name: str, values: Sequence[object]) -> nw.Series:
        """Cells that were sent as text as a column of the reference's own type."""
        assert self.table is not None
        usual = self.table[name]
        if levels := self.levels.get(name):
            # True is 1 to a dictionary.
            values = [cell if isinstance(cell, bool) else levels.get(cell, cell) for cell in values]
        if levels or usual.dtype in (nw.Categorical, nw.Enum):
            # With the reference's categories in their order: a model may go by their places.
            return column_like(usual, values).alias(name)
        if usual.dtype.is_temporal() and usual.implementation.is_pyarrow():
            return column_like(usual, [_moment(cell, usual.dtype) for cell in values]).alias(name)
        return nw.new_series(name, values, usual.dtype, backend=usual.implementation)

    def named(self, values: Sequence[Cell]) -> dict[str, Cell]:
        """A row with its columns' names."""
        return dict(zip(self.columns, values, strict=True))

    def of_tensors(self, tensors: Mapping[str, NDArray[Any]]) -> list[list[Cell]]:
        """Rows of named arrays: one with all features, or one for each column."""
        if len(tensors) == 1 and (len(self.columns) != 1 or set(tensors) != set(self.columns)):
            (array,) = tensors.values()
            self._check_width(array)
            return self.rows(array.reshape(len(array), -1).tolist())
        wide = [name for name, array in tensors.items() if array.size != len(array)]
        if wide:
            raise BadRequest(f"inputs {_listed(wide)} have several values per row: send one each")
        lists = {name: array.reshape(-1).tolist() for name, array in tensors.items()}
        count = len(next(iter(lists.values())))
        return self.rows({name: lists[name][row] for name in lists} for row in range(count))

    def _check_width(self, array: NDArray[Any]) -> None:
        width = array.size // len(array)
        if width != len(self.columns):
            raise BadRequest(_wrong_width(width, len(self.columns)))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


def _transpose(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _wrong_width(values: int, columns: int) -> str:
    return f"a point has {values} values and {columns} are needed: /v1/status lists the columns"


def _number(value: object, name: str) -> float | None:
    if value is None or value != value:  # NaN is how arrays write that a number is missing
        return None
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    shown = str(value)[:40] if isinstance(value, str | float) else type(value).__name__
    raise BadRequest(f"column {name} holds numbers and got {shown!r}: send finite numbers")


def _kind_of(series: nw.Series) -> CellKind:
    """How a column's cells are sent."""
    dtype = series.dtype
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "truth"
    if dtype == nw.Object:
        # Truth values of which some are missing.
        cells = [cell for cell in series.to_list() if cell is not None and cell == cell]
        return "truth" if cells and all(isinstance(cell, bool) for cell in cells) else "text"
    return "typed" if dtype.is_temporal() or dtype == nw.Enum else "text"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _levels_of(series: nw.Series) -> dict[object, object]:
    """Levels by their values and by their names; none where all of them are text."""
    if series.dtype == nw.Categorical:
        cells = series.cat.get_categories().to_list()
    elif series.dtype == nw.Object:
        cells = dense(series).to_list()
    else:
        return {}
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    present = [cell for cell in cells if not is_missing(cell) and isinstance(cell, Hashable)]
    if all(isinstance(cell, str | bool) for cell in present):
        return {}
    by_name: dict[object, object] = {str(cell): cell for cell in present}
    return by_name | {cell: cell for cell in present if not isinstance(cell, bool)}


def _moment(cell: object, dtype: Any) -> object:
    """Text as a time of Python's own: pyarrow reads none."""
    if not isinstance(cell, str):
        return cell
    if dtype == nw.Date:
        return date.fromisoformat(cell)
    if dtype == nw.Time:
        return time.fromisoformat(cell)
    moment = datetime.fromisoformat(cell)
    if moment.tzinfo is not None and dtype.time_zone is None:
        raise ValueError("the reference's times have no zone")
    return moment


def _truth(value: object, name: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float) and math.isnan(value):
        return None
    shown = str(value)[:40] if isinstance(value, str | int | float) else type(value).__name__
    raise BadRequest(f"column {name} holds true and false and got {shown!r}: send one, or null")


def _text(value: object, name: str, names_segment: bool) -> Cell:
    if isinstance(value, bool) or value is None:
        return value
    if not isinstance(value, str):
        raise BadRequest(
            f"column {name} is not numeric and got a {type(value).__name__}: send text"
        )
    most = MOST_IN_SEGMENT if names_segment else MOST_CHARACTERS
    if len(value) > most:
        raise BadRequest(f"column {name} takes at most {most:,} characters and got {len(value):,}")
    # Databases refuse these, and one value must not fail the batch that it is written with.
    if "\x00" in value or not _encodable(value):
        raise BadRequest(f"column {name} got text with a NUL or half a character: send UTF-8")
    return value


def _encodable(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
