"""What a column is: chosen from its type and its values, or told; results always show it.

A kind says how a column moves:

- by the ball: `number`, and within what the reference has: `bounded`; `share`s of a whole keep
  their sum;
- in steps on its grid, as far to one side as to the other: `whole`, `ordered`, `date`;
- to the value of another row that is like this one in everything else: `category`, `flag`,
  `spiked` (a number that is mostly one value, such as 0), and `one-hot` groups, which move
  together;
- by an edit: `text`, or a function of the user's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.columns import shown
from anharmonic._core.frames import is_ordered
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import SettingsError

__all__ = ["KINDS", "MOVEMENTS", "ColumnKind", "Kinds", "TextChange", "choose_kinds"]

TextChange = Callable[[object, np.random.Generator], object]
"""A user's own: from a cell and a generator to another cell."""
Kinds = Mapping[str, str | TextChange]
"""Kinds by column: a name of `KINDS`, or a function."""

MOVEMENTS: Final[Mapping[str, str]] = {
    "number": "ball",
    "bounded": "ball",
    "share": "ball",
    "whole": "step",
    "ordered": "step",
    "date": "step",
    "category": "redraw",
    "flag": "redraw",
    "spiked": "redraw",
    "one-hot": "redraw",
    "text": "edit",
    "own": "edit",
}
KINDS: Final = tuple(kind for kind in MOVEMENTS if kind != "own")
"""What a column can be told to be."""

FEW = 20
"""So many levels or fewer make whole numbers of a float column a grid."""
SPIKE = 0.5
"""A number is spiked where more than this share of rows is its least or its largest value."""
BOUND = 0.01
"""A number is bounded where at least this share of rows is on its least or largest value."""
WORDS = 3.0
"""Texts of so many words on average are texts; shorter ones that all differ are names."""
NEARLY_ALL = 0.9
MANY = 20
EXACT = 2.0**53
"""Integers beyond it are numbers of things, and would come back as others."""
SUM = 1e-6
"""Shares of a whole add up to the same to this share of it."""


class ColumnKind(NamedTuple):
    """What a column is: its kind, the group it moves with (−1 for none), and a function's name."""

    name: str
    kind: str
    group: int = -1
    change: TextChange | None = None

    @property
    def movement(self) -> str:
        """How it moves: "ball", "step", "redraw" or "edit"."""
        return MOVEMENTS[self.kind]


class ChosenKinds(NamedTuple):
    """What each column is, and the columns that have no kind to move by, such as names."""

    kinds: tuple[ColumnKind, ...]
    held: tuple[str, ...]


def choose_kinds(
    columns: Mapping[str, nw.Series], told: Kinds | None, arrays: bool = False
) -> ChosenKinds:
    """A kind for each column, from the reference's cells; what was told stays.

    In `arrays` all columns are numbers, unless told otherwise: they have no types of their own.
    """
    told = told or {}
    unknown = [name for name in told if name not in columns]
    if unknown:
        raise SettingsError(
            f"kinds= names {shown(unknown)}, and the columns that move are "
            f"{shown(list(columns))}: mend the name, or let it move with moving="
        )
    kinds, held = [], []
    for name, series in columns.items():
        given = told.get(name)
        if callable(given):
            kinds.append(ColumnKind(name, "own", change=given))
        elif given is not None:
            if given not in KINDS:
                raise SettingsError(
                    f"column {name} cannot be {given!r}: choose one of {', '.join(KINDS)}, or "
                    "give a function of a cell and a generator"
                )
            kinds.append(ColumnKind(name, given))
        else:
            kind = "number" if arrays else _kind_of(series)
            if kind is None:
                held.append(name)
            else:
                kinds.append(ColumnKind(name, kind))
    chosen = tuple(kinds)
    if not arrays:
        chosen = _grouped_one_hot(chosen, columns, told)
        if any(kind.kind != "number" for kind in chosen):
            chosen = _within_bounds(chosen, columns, told)
    return ChosenKinds(chosen, tuple(held))


def _kind_of(series: nw.Series) -> str | None:
    """The kind of one column; None for a text that merely names its row."""
    dtype = series.dtype
    if dtype == nw.Boolean:
        return "flag"
    if dtype.is_numeric():
        return _kind_of_numbers(series)
    if dtype.is_temporal() and dtype != nw.Time:
        return "date"
    if is_ordered(series):
        return "ordered"
    if dtype == nw.Object and not all(isinstance(cell, Hashable) for cell in series.to_list()):
        return None
    cells = [str(cell) for cell in series.to_list() if cell is not None and cell == cell]
    levels = len(set(cells))
    if cells and np.mean([cell.count(" ") + 1 for cell in cells[:1000]]) >= WORDS and levels > MANY:
        return "text"
    if levels > max(MANY, NEARLY_ALL * len(cells)):
        return None
    return "category"


def _kind_of_numbers(series: nw.Series) -> str | None:
    """The kind of a column of numbers; None for integers that a float cannot tell apart."""
    values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    present = values[np.isfinite(values)]
    if series.dtype.is_float() and (present[:MANY] != np.round(present[:MANY])).sum() > 2:
        # A few cells say it of most columns: no need to sort them all.
        return "number"
    if series.dtype.is_integer() and np.abs(present).max(initial=0.0) > EXACT:
        return None
    levels, counts = np.unique(present, return_counts=True)
    if len(levels) < 2 and len(present) == len(values):
        # It never varies, and so will be held, whatever it is called.
        return "number"
    if len(levels) <= 2:
        return "flag"
    whole = bool((present == np.round(present)).all())
    gaps = len(present) < len(values)
    if series.dtype.is_float() and not (whole and (gaps or len(levels) <= FEW)):
        return "number"
    return "spiked" if _is_spiked(counts) else "whole"


def _is_spiked(counts: Integers) -> bool:
    """Whether most cells are the least or the largest value, from counts in the values' order."""
    return bool(len(counts) > 2 and max(counts[0], counts[-1]) > SPIKE * counts.sum())


def _grouped_one_hot(
    kinds: tuple[ColumnKind, ...], columns: Mapping[str, nw.Series], told: Kinds
) -> tuple[ColumnKind, ...]:
    """Flags of one beginning of which every row has exactly one: a category in several columns."""
    beginnings: dict[str, list[int]] = {}
    for place, kind in enumerate(kinds):
        if kind.kind == "one-hot" or (kind.kind == "flag" and kind.name not in told):
            for mark in ("_", "=", ".", "-", " "):
                if mark in kind.name:
                    beginnings.setdefault(kind.name.rsplit(mark, 1)[0], []).append(place)
                    break
    grouped, group = list(kinds), 0
    for places in beginnings.values():
        flags = [_flags(columns[kinds[place].name]) for place in places]
        cells = [column for column in flags if column is not None]
        if len(places) < 2 or len(cells) < len(places):
            continue
        if (np.sum(cells, axis=0) == 1).all():
            for place in places:
                grouped[place] = kinds[place]._replace(kind="one-hot", group=group)
            group += 1
    # What was told to be one-hot and is in no group is a flag.
    return tuple(
        kind._replace(kind="flag") if kind.kind == "one-hot" and kind.group < 0 else kind
        for kind in grouped
    )


def _flags(series: nw.Series) -> Floats | None:
    """A column of 0 and 1 as numbers; None for any other."""
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        return None
    values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return values if np.isin(values, (0.0, 1.0)).all() else None


def _within_bounds(
    kinds: tuple[ColumnKind, ...], columns: Mapping[str, nw.Series], told: Kinds
) -> tuple[ColumnKind, ...]:
    """Numbers beside other kinds: spiked, bounded, or shares of a whole, where they look so.

    A table of numbers alone keeps the ball that it always had.
    """
    numbers = [
        place
        for place, kind in enumerate(kinds)
        if kind.kind in ("number", "share") and kind.name not in told
    ]
    chosen = list(kinds)
    shares = _shares_of_a_whole(
        {kinds[place].name: columns[kinds[place].name] for place in numbers}
    )
    for place in numbers:
        name = kinds[place].name
        if name in shares:
            chosen[place] = kinds[place]._replace(kind="share", group=0)
            continue
        values = np.asarray(columns[name].cast(nw.Float64).to_numpy(), dtype=np.float64)
        _, counts = np.unique(values[np.isfinite(values)], return_counts=True)
        if _is_spiked(counts):
            chosen[place] = kinds[place]._replace(kind="spiked")
        elif len(counts) > 1 and max(counts[0], counts[-1]) >= max(2, BOUND * counts.sum()):
            chosen[place] = kinds[place]._replace(kind="bounded")
    return tuple(chosen)


def _shares_of_a_whole(columns: Mapping[str, nw.Series]) -> set[str]:
    """The columns that add up to 1 or to 100 in every row, if all of a beginning do."""
    beginnings = Counter(name.rsplit("_", 1)[0] for name in columns if "_" in name)
    candidates: Sequence[list[str]] = [
        *([name for name in columns if name.rsplit("_", 1)[0] == start] for start in beginnings),
        list(columns),
    ]
    for names in candidates:
        if len(names) < 2:
            continue
        cells = np.stack([columns[name].cast(nw.Float64).to_numpy() for name in names], axis=1)
        total = cells.sum(axis=1)
        if np.isfinite(total).all() and (cells >= 0).all():
            for whole in (1.0, 100.0):
                if np.abs(total - whole).max() <= SUM * whole:
                    return set(names)
    return set()
