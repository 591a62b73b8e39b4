"""The form points have: which columns, numbers or text, and how rows become points again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic.regions import as_region
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.monitor.records import Cell

__all__ = ["MOST_CHARACTERS", "MOST_IN_SEGMENT", "RowSchema"]

MOST_CHARACTERS = 10_000
"""In a value that is text."""
MOST_IN_SEGMENT = 200
"""In the name of a segment, which becomes a label of metrics."""


@dataclass(frozen=True)
class RowSchema:
    """What a reference says of the points to come.

    A number that is missing is None in a row, and NaN in what the model is given.

    >>> row_schema = RowSchema.of(np.zeros((3, 2)))
    >>> row_schema.row([1, 2.5]), row_schema.row([1, None])
    ([1.0, 2.5], [1.0, None])
    >>> row_schema.points([[1.0, 2.5]]).shape
    (1, 2)
    """

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    shape: tuple[int, ...]
    table: Any = None
    segment: str | None = None

    @classmethod
    def of(cls, reference: Any, segment: Any = None) -> RowSchema:
        """The form of the reference's rows, of which one column may name segments."""
        region = as_region(reference)
        if not region.is_table:
            names = tuple(str(index) for index in range(int(np.prod(region.shape))))
            return cls(names, (True,) * len(names), region.shape)
        table = region.source
        names = tuple(table.columns)
        numeric = tuple(table[name].dtype.is_numeric() for name in names)
        named = segment if isinstance(segment, str) else None
        return cls(names, numeric, (len(names),), table.head(1), named)

    def rows(self, several: Iterable[Any]) -> list[list[Cell]]:
        """Rows of anything, up to the first that is none: the message says which."""
        found: list[list[Cell]] = []
        try:
            for values in several:
                found.append(self.row(values))
        except BadRequest as fault:
            fault.args = (f"point {len(found)}: {fault}",)
            raise
        return found

    def row(self, values: Sequence[Cell] | Mapping[str, Cell]) -> list[Cell]:
        """Values in the columns' order, checked: as many as there are, finite, text as text."""
        if isinstance(values, Mapping):
            values = self._ordered(values)
        if not isinstance(values, list | tuple):
            raise BadRequest("a point is a list of values, or an object with the columns' names")
        if len(values) != len(self.columns):
            raise BadRequest(_too_many(len(values), len(self.columns)))
        if self.table is None:
            return self._numbers(values)
        return [
            _number(value, name) if numeric else _word(value, name, name == self.segment)
            for value, name, numeric in zip(values, self.columns, self.numeric, strict=True)
        ]

    def _numbers(self, values: Sequence[Cell]) -> list[Cell]:
        # Nearly all points are plain floats; looking at each is most of what reading costs.
        if set(map(type, values)) == {float} and math.isfinite(sum(values)):  # type: ignore[arg-type]
            return list(values)
        return [_number(value, name) for value, name in zip(values, self.columns, strict=True)]

    def _ordered(self, values: Mapping[str, Cell]) -> list[Cell]:
        missing = [name for name in self.columns if name not in values]
        if missing or len(values) != len(self.columns):
            unknown = [name for name in values if name not in self.columns]
            which = f"no {', '.join(missing[:5])}" if missing else f"unknown {unknown[0]!r}"
            raise BadRequest(f"a point has {which}: the columns are {', '.join(self.columns[:50])}")
        return [values[name] for name in self.columns]

    def points(self, rows: Sequence[Sequence[Cell]]) -> Any:
        """Rows as the model knows them: an array, or a table like the reference."""
        if self.table is None:
            return np.array(rows, dtype=np.float64).reshape(len(rows), *self.shape)
        backend = self.table.implementation
        columns = [
            nw.new_series(
                *(name, values, nw.Float64() if numeric else self.table[name].dtype),
                backend=backend,
            )
            for name, numeric, values in zip(self.columns, self.numeric, _turned(rows), strict=True)
        ]
        return nw.to_native(columns[0].to_frame().with_columns(*columns[1:]))

    def named(self, values: Sequence[Cell]) -> dict[str, Cell]:
        """A row with its columns' names."""
        return dict(zip(self.columns, values, strict=True))

    def of_tensors(self, tensors: Mapping[str, Any]) -> list[list[Cell]]:
        """Rows of named arrays: one with all features, or one for each column."""
        if len(tensors) == 1 and (len(self.columns) != 1 or set(tensors) != set(self.columns)):
            (array,) = tensors.values()
            self._check_width(array)
            return self.rows(array.reshape(len(array), -1).tolist())
        wide = [name for name, array in tensors.items() if array.size != len(array)]
        if wide:
            raise BadRequest(
                f"inputs {listed_names(wide)} have several values per row: send one each"
            )
        lists = {name: array.reshape(-1).tolist() for name, array in tensors.items()}
        many = len(next(iter(lists.values())))
        return self.rows({name: lists[name][row] for name in lists} for row in range(many))

    def _check_width(self, array: Any) -> None:
        width = array.size // len(array)
        if width != len(self.columns):
            raise BadRequest(_too_many(width, len(self.columns)))


def listed_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


def _turned(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _too_many(values: int, columns: int) -> str:
    return f"a point has {values} values and {columns} are needed: /v1/status lists the columns"


def _number(value: Any, name: str) -> float | None:
    if value is None or value != value:  # NaN is how arrays write that a number is missing
        return None
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    said = str(value)[:40] if isinstance(value, str | float) else type(value).__name__
    raise BadRequest(f"column {name} holds numbers and got {said!r}: send finite numbers")


def _word(value: Any, name: str, names_segment: bool) -> Cell:
    if isinstance(value, bool) or value is None:
        return value
    if not isinstance(value, str):
        raise BadRequest(
            f"column {name} is not numeric and got a {type(value).__name__}: send text"
        )
    most = MOST_IN_SEGMENT if names_segment else MOST_CHARACTERS
    if len(value) > most:
        raise BadRequest(f"column {name} takes at most {most:,} characters and got {len(value):,}")
    # No database keeps these, and one value must not fail those it is written together with.
    if "\x00" in value or not _encodable(value):
        raise BadRequest(f"column {name} got text with a NUL or half a character: send UTF-8")
    return value


def _encodable(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
