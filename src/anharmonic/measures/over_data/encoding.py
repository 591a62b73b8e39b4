"""Rows of any kind as numbers: what a tree can split and what a distance can compare.

Numbers, dates and truth values are one column each; categories and short texts are one column
per level. A missing cell stays missing for trees, and for distances it is the column's mean with
a column beside it that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from numbers import Real
from typing import Any, NamedTuple, cast

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import is_id, is_index
from anharmonic._core.frames import Table, is_missing, missing_cells
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import PointsError
from anharmonic.regions import Region

__all__ = ["Column", "Encoded", "Rule", "encode", "stamped_numbers", "times"]

MOST_LEVELS = 16
"""Levels of a category that get a column of their own: the most frequent ones."""
NEARLY_ALL = 0.9
"""A text that differs in more than this share of rows names its row, and compares nothing."""


class Column(NamedTuple):
    """A column as numbers (rows,), with NaN where a cell is missing.

    `levels` is how many a category has, numbered from 0 in the order of their names, `texts`; 0
    for numbers. `unit` is what times are counted in, as numpy writes it.
    """

    name: str
    values: Floats
    levels: int
    texts: tuple[str, ...] = ()
    unit: str = ""


class Rule(NamedTuple):
    """How a column became features: what was learnt of its rows, and holds for further ones.

    Parameters
    ----------
    kept : (levels,)
        The levels that trees have a feature for.
    middle, spread
        Of numbers; the spread is 0 where they never vary.
    gaps
        Whether cells are missing.
    """

    kept: Integers
    middle: float
    spread: float
    gaps: bool

    @classmethod
    def of(cls, whole: Column, known: int = 0) -> Rule:
        """From the rows from `known` on."""
        column = whole._replace(values=whole.values[known:])
        if column.levels:
            return cls(_frequent(column), 0.0, 0.0, bool(np.isnan(column.values).any()))
        absent = ~np.isfinite(column.values)
        present = column.values[~absent]
        middle = spread = 0.0
        if len(present) and float(present.std()) > 1e-12 * float(np.abs(present).max()):
            # Sorted first, so that rounding does not depend on the rows' order.
            ordered = np.sort(present)
            middle, spread = float(ordered.mean()), float(ordered.std())
        # A column without any number says nothing by its gaps.
        return cls(np.empty(0, np.int64), middle, spread, bool(absent.any() and len(present)))


@dataclass(frozen=True)
class Encoded:
    """Rows as numbers, and below them perhaps those of a reference.

    Parameters
    ----------
    columns
        One for each column of the table that is used.
    used, left_out
        The names of those, and of the others.
    known
        From which row on units and frequent levels are taken: the reference's first.
    """

    columns: tuple[Column, ...]
    used: tuple[str, ...]
    left_out: tuple[str, ...]
    known: int = 0

    def __len__(self) -> int:
        return len(self.columns[0].values)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """What further rows need, to become the same features: see `encode_further`."""
        return tuple(Rule.of(column, self.known) for column in self.columns)

    def for_trees(self, rules: Sequence[Rule] | None = None) -> Floats:
        """(rows, features) with NaN where a cell is missing, in single precision as trees read.

        `rules` are those of other rows, whose features these shall be.
        """
        parts = [
            column.values[:, None] if not column.levels else _one_hot(column, rule, missing=np.nan)
            for column, rule in zip(self.columns, rules or self.rules, strict=True)
        ]
        # A number too large for single precision is as good as the largest one.
        most = float(np.finfo(np.float32).max)
        return np.clip(np.concatenate(parts, axis=1), -most, most).astype(np.float32)

    def for_distances(self, rules: Sequence[Rule] | None = None) -> Floats:
        """(rows, features): numbers in units of their spread, a level as far from another as two
        numbers are from one another on average (√2 units).
        """
        pairs = zip(self.columns, rules or self.rules, strict=True)
        parts = [part for column, rule in pairs for part in _comparable(column, rule)]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(self), 1))

    def words(self) -> np.typing.NDArray[np.int64]:
        """The cells as integers, (rows, columns): equal where and only where cells are."""
        stacked = np.stack([column.values for column in self.columns], axis=1)
        # One zero and one missing value: −0 + 0 is 0.
        clean = np.where(np.isnan(stacked), np.nan, stacked) + 0.0
        return clean.view(np.int64)


def encode(parts: Sequence[Region], names: Sequence[str] | None) -> Encoded:
    """Regions below one another as numbers, by the columns of these names, or all features."""
    first = parts[0]
    known = len(first) if len(parts) > 1 else 0
    if not first.is_table:
        width = len(first.names)
        if any(part.is_table or len(part.names) != width for part in parts):
            raise PointsError("the reference has other columns than the rows: give both alike")
        values = np.concatenate([to_numpy64(part.source) for part in parts])
        chosen = [str(name) for name in names] if names is not None else list(first.names)
        columns = [Column(name, values[:, int(name)], 0) for name in chosen]
        return Encoded(tuple(columns), tuple(chosen), (), known)
    tables = [cast(Table, part.source) for part in parts]
    if any(not part.is_table for part in parts):
        raise PointsError("the rows are a table and the reference is none: give both alike")
    offered = [name for name in first.names if not is_index(name)]
    if names is None:
        chosen = [name for name in offered if not is_id(name)] or offered
    else:
        chosen = [name for name in first.names if name in set(names)]
    missing = [name for name in chosen for table in tables if name not in table.columns]
    if missing:
        raise PointsError(f"the reference has no column {missing[0]}: give it the rows' columns")
    columns, used = [], []
    for name in chosen:
        column = _column(name, [table[name] for table in tables])
        if column is not None:
            columns.append(column)
            used.append(name)
    if not columns:
        raise PointsError(
            "no column can be compared: each is a text that differs in every row; turn the texts "
            "into vectors and give those to gamma_data(vectors, outputs)"
        )
    return Encoded(
        tuple(columns), tuple(used), tuple(name for name in first.names if name not in used), known
    )


def _column(name: str, parts: Sequence[nw.Series]) -> Column | None:
    """One column of all tables as numbers; None for a text that differs in nearly every row."""
    try:
        numbers = _numbers_or_times(name, parts)
    except Exception:  # one table has texts, or numbers, where the other has none: all are levels
        numbers = None
    if numbers is not None:
        return numbers
    cells = [cell for part in parts for cell in part.to_list()]
    if _are_numbers(cells):
        found = [np.nan if is_missing(cell) else cell for cell in cells]
        return Column(name, np.array(found, dtype=np.float64), 0)
    texts = [None if is_missing(cell) else str(cell) for cell in cells]
    levels = sorted({text for text in texts if text is not None})
    if len(levels) > max(MOST_LEVELS, NEARLY_ALL * len(texts)):
        return None
    number = {level: float(index) for index, level in enumerate(levels)}
    codes = [np.nan if text is None else number[text] for text in texts]
    return Column(name, np.array(codes), max(1, len(levels)), texts=tuple(levels))


def _numbers_or_times(name: str, parts: Sequence[nw.Series]) -> Column | None:
    """A column of numbers or times; None for others. A table that has no cell in it says nothing
    of its type.
    """
    empty = [bool(missing_cells(part).all()) for part in parts]
    there = [part for part, is_empty in zip(parts, empty, strict=True) if not is_empty] or parts
    kind, unit = there[0].dtype, ""
    read: Callable[[nw.Series], Floats] = _numbers
    if kind.is_temporal() and kind != nw.Time:
        # All in the unit of the first: tables may count in other ones.
        unit = str(times(there[0]).dtype)
        read = partial(_stamps, unit=unit)
    elif not (kind.is_numeric() or kind == nw.Boolean):
        return None
    values = [
        np.full(len(part), np.nan) if is_empty else read(part)
        for part, is_empty in zip(parts, empty, strict=True)
    ]
    return Column(name, np.concatenate(values), 0, unit=unit)


def _are_numbers(cells: Sequence[object]) -> bool:
    """Whether cells of a column of objects are numbers, as of a database or beside None; truth
    values alone are levels.
    """
    present = [cell for cell in cells if not is_missing(cell)]
    return all(isinstance(cell, Real | Decimal) for cell in present) and not all(
        isinstance(cell, bool | np.bool_) for cell in present
    )


def _numbers(series: nw.Series) -> Floats:
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _stamps(series: nw.Series, unit: str) -> Floats:
    return stamped_numbers(times(series).astype(unit))


def times(series: nw.Series) -> NDArray[Any]:
    """Times or durations as numpy has them."""
    stamps = np.asarray(series.to_numpy())
    return stamps if stamps.dtype.kind in "mM" else stamps.astype("datetime64[us]")


def stamped_numbers(stamps: NDArray[Any]) -> Floats:
    """Times as numbers; missing ones as NaN."""
    numbers = np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64))
    return np.asarray(numbers, dtype=np.float64)


def _frequent(column: Column) -> Integers:
    """The levels that get a feature; two levels need one alone."""
    known = np.isfinite(column.values)
    counts = np.bincount(column.values[known].astype(np.int64), minlength=column.levels)
    # The most frequent first; of equally frequent ones the first by name.
    kept = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    return np.asarray(kept[:1] if column.levels <= 2 else kept)


def _one_hot(column: Column, rule: Rule, missing: float) -> Floats:
    """A column per frequent level, (rows, levels)."""
    hot = np.asarray(column.values[:, None] == rule.kept, dtype=np.float64)
    hot[~np.isfinite(column.values)] = missing
    return hot


def _comparable(column: Column, rule: Rule) -> list[Floats]:
    """A column in units that distances can add up; nothing where it never varies."""
    if column.levels:
        hot = (column.values[:, None] == np.arange(min(column.levels, 4 * MOST_LEVELS))).astype(
            np.float64
        )
        return [hot] if column.levels > 1 or rule.gaps else []
    absent = ~np.isfinite(column.values)
    parts = []
    if rule.spread:
        scaled = (column.values - rule.middle) / rule.spread
        parts.append(np.where(absent, 0.0, scaled)[:, None])
    if rule.gaps:
        parts.append(absent.astype(np.float64)[:, None])
    return parts
