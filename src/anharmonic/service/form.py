"""The form points have: which columns, numbers or text, and how rows become points again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic.regions import as_region
from anharmonic.service.faults import Refused
from anharmonic.service.records import Cell

__all__ = ["Form"]


@dataclass(frozen=True)
class Form:
    """What a reference says of the points to come.

    >>> form = Form.of(np.zeros((3, 2)))
    >>> form.row([1, 2.5])
    [1.0, 2.5]
    >>> form.points([[1.0, 2.5]]).shape
    (1, 2)
    """

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    shape: tuple[int, ...]
    table: Any = None

    @classmethod
    def of(cls, reference: Any) -> Form:
        """The form of the reference's rows."""
        region = as_region(reference)
        if not region.is_table:
            names = tuple(str(index) for index in range(int(np.prod(region.shape))))
            return cls(names, (True,) * len(names), region.shape)
        table = region.source
        names = tuple(table.columns)
        numeric = tuple(table[name].dtype.is_numeric() for name in names)
        return cls(names, numeric, (len(names),), table.head(1))

    def row(self, values: Sequence[Cell] | Mapping[str, Cell]) -> list[Cell]:
        """Values in the columns' order, checked: as many as there are, finite, text as text."""
        if isinstance(values, Mapping):
            values = self._ordered(values)
        if len(values) != len(self.columns):
            raise Refused(
                f"a point has {len(values)} values and {len(self.columns)} are needed: /v1/status "
                "lists the columns"
            )
        if self.table is None:
            return self._numbers(values)
        return [
            _number(value, name) if numeric else _word(value, name)
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
            raise Refused(f"a point has {which}: the columns are {', '.join(self.columns[:50])}")
        return [values[name] for name in self.columns]

    def points(self, rows: Sequence[Sequence[Cell]]) -> Any:
        """Rows as the model knows them: an array, or a table like the reference."""
        if self.table is None:
            return np.array(rows, dtype=np.float64).reshape(len(rows), *self.shape)
        backend = self.table.implementation
        columns = [
            nw.new_series(
                name, values, None if numeric else self.table[name].dtype, backend=backend
            )
            for name, numeric, values in zip(self.columns, self.numeric, _turned(rows), strict=True)
        ]
        return nw.to_native(columns[0].to_frame().with_columns(*columns[1:]))

    def named(self, values: Sequence[Cell]) -> dict[str, Cell]:
        """A row with its columns' names."""
        return dict(zip(self.columns, values, strict=True))

    def of_tensors(self, tensors: Mapping[str, Any]) -> list[list[Cell]]:
        """Rows of named arrays: one with all features, or one for each column."""
        rows = {len(array) if array.ndim else 0 for array in tensors.values()}
        if len(rows) != 1 or 0 in rows:
            raise Refused("every input needs the same number of rows, at least one")
        if len(tensors) == 1 and (len(self.columns) != 1 or set(tensors) != set(self.columns)):
            (array,) = tensors.values()
            return [self.row(row) for row in array.reshape(len(array), -1).tolist()]
        narrow = {name: array.reshape(len(array), -1) for name, array in tensors.items()}
        wide = [name for name, array in narrow.items() if array.shape[1] != 1]
        if wide:
            raise Refused(f"inputs {listed_names(wide)} have several values a row: send one each")
        lists = {name: array[:, 0].tolist() for name, array in narrow.items()}
        many = next(iter(rows))
        return [self.row({name: lists[name][row] for name in lists}) for row in range(many)]


def listed_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


def _turned(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _number(value: Cell, name: str) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise Refused(f"column {name} holds numbers and got {str(value)[:40]!r}: send finite numbers")


def _word(value: Cell, name: str) -> Cell:
    if isinstance(value, bool | str) or value is None:
        return value
    raise Refused(f"column {name} is not numeric and got the number {value}: send text")
