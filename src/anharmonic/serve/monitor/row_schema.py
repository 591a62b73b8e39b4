"""The schema of a row: which columns, numbers or text; and from rows to points for the model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

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
    numeric: tuple[bool, ...]
    shape: tuple[int, ...]
    table: nw.DataFrame[Any] | None = None
    """One row of the reference, where it is a table: for the columns' types."""
    segment: str | None = None

    @classmethod
    def of(cls, reference: object, segment: Segmenting = None) -> RowSchema:
        """The schema of the reference's rows, of which one column may name segments."""
        region = unmoved(reference)
        if not region.is_table:
            names = tuple(str(index) for index in range(int(np.prod(region.shape))))
            return cls(names, (True,) * len(names), region.shape)
        table = region.source
        names = tuple(table.columns)
        numeric = tuple(table[name].dtype.is_numeric() for name in names)
        column = segment if isinstance(segment, str) else None
        return cls(names, numeric, (len(names),), table.head(1), column)

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
            _number(value, name) if numeric else _text(value, name, name == self.segment)
            for value, name, numeric in zip(values, self.columns, self.numeric, strict=True)
        ]

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
        backend = self.table.implementation
        columns = [
            nw.new_series(
                *(name, values, nw.Float64() if numeric else self.table[name].dtype),
                backend=backend,
            )
            for name, numeric, values in zip(
                self.columns, self.numeric, _transpose(rows), strict=True
            )
        ]
        return nw.to_native(columns[0].to_frame().with_columns(*columns[1:]))

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
