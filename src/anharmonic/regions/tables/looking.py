"""What a column looks like: a kind from its type and its values."""

from __future__ import annotations

from collections.abc import Hashable

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.frames import is_ordered, missing_cells
from anharmonic._core.protocols import Integers

__all__ = ["is_spiked", "looks_like", "unchangeable"]

FEW = 20
"""So many levels or fewer make whole numbers of a float column a grid."""
SPIKE = 0.5
"""A number is spiked where more than this share of rows is its least or its largest value."""
WORDS = 3.0
"""Texts of so many words on average are texts where they mostly differ, and names where nearly all
of them do and they are shorter."""
MOSTLY, NEARLY_ALL = 0.5, 0.9
"""Levels as a share of cells."""
MANY = 20
EXACT = 2.0**53
"""Integers beyond it are numbers of things, and would come back as others."""


def looks_like(series: nw.Series) -> str | None:
    """The kind of one column; None for a text that merely names its row, and for lists."""
    dtype = series.dtype
    if dtype == nw.Boolean:
        return "flag"
    if dtype.is_numeric():
        return _kind_of_numbers(series)
    if dtype.is_temporal() and dtype != nw.Time:
        return "date"
    if is_ordered(series):
        return "ordered"
    if unchangeable(series):
        return None
    there = ~missing_cells(series)
    cells = [str(cell) for cell, is_there in zip(series.to_list(), there, strict=True) if is_there]
    levels = len(set(cells))
    words = np.mean([cell.count(" ") + 1 for cell in cells[:1000]]) if cells else 0.0
    if words >= WORDS and levels > MANY and levels >= MOSTLY * len(cells):
        return "text"
    if levels > max(MANY, NEARLY_ALL * len(cells)):
        return None
    return "category"


def unchangeable(series: nw.Series) -> bool:
    """Whether cells are lists, structures or other things that no kind can change."""
    dtype = series.dtype
    if dtype == nw.Object:
        return not all(isinstance(cell, Hashable) for cell in series.to_list())
    # Of arrow's own further types, such as maps, nothing can be looked up.
    return dtype.is_nested() or (dtype == nw.Unknown and series.implementation.is_pyarrow())


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
    return "spiked" if is_spiked(counts) else "whole"


def is_spiked(counts: Integers) -> bool:
    """Whether most cells are the least or the largest value, from counts in the values' order."""
    return bool(len(counts) > 2 and max(counts[0], counts[-1]) > SPIKE * counts.sum())
