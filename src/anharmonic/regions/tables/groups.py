"""Columns that belong together: a category in several of them, and shares of a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.frames import numbers_in
from anharmonic._core.protocols import Floats
from anharmonic.regions.tables.kinds import ColumnKind, Kinds
from anharmonic.regions.tables.looking import is_spiked

__all__ = ["grouped_one_hot", "within_bounds"]

MARKS = "_=.- "
"""What stands between a beginning and a level, as in town_Ulm or town=Ulm."""
BOUND = 0.01
"""A number is bounded where at least this share of rows is on its least or largest value."""
SUM = 1e-6
"""Shares of a whole add up to the same to this share of it."""


def grouped_one_hot(
    kinds: tuple[ColumnKind, ...], columns: Mapping[str, nw.Series], told: Kinds
) -> tuple[ColumnKind, ...]:
    """Flags of one beginning of which every row has exactly one: a category in several columns.

    A level may have marks in it (work_self_emp), so that every beginning is tried, long ones first.
    """
    free = [
        place
        for place, kind in enumerate(kinds)
        if kind.kind == "one-hot" or (kind.kind == "flag" and kind.name not in told)
    ]
    beginnings: dict[str, list[int]] = {}
    for place in free:
        for beginning in _beginnings(kinds[place].name):
            beginnings.setdefault(beginning, []).append(place)
    shared = {place for places in beginnings.values() if len(places) > 1 for place in places}
    flags = {place: _flags(columns[kinds[place].name]) for place in shared}
    groups: list[list[int]] = []
    grouped: set[int] = set()
    for beginning in sorted(beginnings, key=len, reverse=True):
        places = [place for place in beginnings[beginning] if place not in grouped]
        if len(places) > 1 and _one_each([flags[place] for place in places]):
            groups.append(places)
            grouped.update(places)
    chosen = list(kinds)
    for group, places in enumerate(sorted(groups)):
        for place in places:
            chosen[place] = kinds[place]._replace(kind="one-hot", group=group)
    # What was told to be one-hot and is in no group is a flag.
    return tuple(
        kind._replace(kind="flag") if kind.kind == "one-hot" and kind.group < 0 else kind
        for kind in chosen
    )


def _beginnings(name: str) -> Iterator[str]:
    """What a name begins with, before any of its marks.

    >>> list(_beginnings("work_self_emp"))
    ['work_self', 'work']
    """
    return (name[:place] for place in range(len(name) - 1, 0, -1) if name[place] in MARKS)


def _one_each(flags: Sequence[Floats | None]) -> bool:
    """Whether every row has exactly one of some flags."""
    known = [column for column in flags if column is not None]
    return len(known) == len(flags) and bool((np.sum(known, axis=0) == 1).all())


def _flags(series: nw.Series) -> Floats | None:
    """A column of 0 and 1 as numbers; None for any other."""
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        return None
    values = numbers_in(series)
    return values if np.isin(values, (0.0, 1.0)).all() else None


def within_bounds(
    kinds: tuple[ColumnKind, ...], columns: Mapping[str, nw.Series], told: Kinds
) -> tuple[ColumnKind, ...]:
    """Numbers beside other kinds: shares of a whole, spiked, bounded, where they look so.

    A table of numbers alone keeps the ball that it always had.
    """
    numbers = [kind.name for kind in kinds if kind.kind == "number" and kind.name not in told]
    claimed = [kind.name for kind in kinds if kind.kind == "share"]
    whole_of = _wholes(numbers, claimed, columns)
    chosen = list(kinds)
    for place, kind in enumerate(kinds):
        if kind.name in whole_of:
            chosen[place] = kind._replace(kind="share", group=whole_of[kind.name])
        elif kind.name in numbers:
            values = numbers_in(columns[kind.name])
            _, counts = np.unique(values[np.isfinite(values)], return_counts=True)
            if is_spiked(counts):
                chosen[place] = kind._replace(kind="spiked")
            elif len(counts) > 1 and max(counts[0], counts[-1]) >= max(2, BOUND * counts.sum()):
                chosen[place] = kind._replace(kind="bounded")
    return tuple(chosen)


def _wholes(
    numbers: Sequence[str], claimed: Sequence[str], columns: Mapping[str, nw.Series]
) -> dict[str, int]:
    """Which whole each share is part of: those that look so, and those that were told to be.

    What was told falls into the wholes that can be seen, and the rest of it is one: so a table
    that is told what it was taken for moves as it did.
    """
    found = [_shares_of_a_whole({name: columns[name] for name in numbers})]
    left = list(claimed)
    while left:
        found.append(_shares_of_a_whole({name: columns[name] for name in left}) or set(left))
        left = [name for name in left if name not in found[-1]]
    names = list(columns)
    in_order = sorted((whole for whole in found if whole), key=lambda w: min(map(names.index, w)))
    return {name: group for group, whole in enumerate(in_order) for name in whole}


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
        cells = np.stack([numbers_in(columns[name]) for name in names], axis=1)
        total = cells.sum(axis=1)
        if np.isfinite(total).all() and (cells >= 0).all():
            for whole in (1.0, 100.0):
                if np.abs(total - whole).max() <= SUM * whole:
                    return set(names)
    return set()
