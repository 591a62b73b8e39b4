"""Where some rows lie, in words: the column and the range or level that sets them apart best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.auditing.wording import cell_of, column_named, quoted
from anharmonic.measures.over_data.encoding import Column, Encoded

__all__ = ["Place", "describe_rows"]

BINS = 20


class Place(NamedTuple):
    """A column, words for the part of it, which rows are there, and how well that fits (F1)."""

    column: str
    words: str
    rows: NDArray[np.bool_]
    fit: float


def describe_rows(part: Encoded, inside: NDArray[np.bool_]) -> Place:
    """The single column, and the range or level of it, that best tells some rows from others."""
    places = [_place(column, inside) for column in part.columns]
    return max(places, key=lambda place: place.fit)


def _place(column: Column, inside: NDArray[np.bool_]) -> Place:
    where = column_named(column.name)
    if column.levels:
        codes = np.where(np.isnan(column.values), column.levels, column.values).astype(np.int64)
        counts = np.bincount(codes[inside], minlength=column.levels + 1)
        level = int(np.argmax(counts))
        rows = codes == level
        name = "missing" if level == column.levels else quoted(column.texts[level])
        return Place(column.name, f"{where} is {name}", rows, _fit(rows, inside))
    low, high = _range(column.values, inside)
    rows = (column.values >= low) & (column.values <= high)
    words = (
        f"{where} is {cell_of(column, low)}"
        if low == high
        else f"{where} is from {cell_of(column, low)} to {cell_of(column, high)}"
    )
    return Place(column.name, words, rows, _fit(rows, inside))


def _range(values: Floats, inside: NDArray[np.bool_]) -> tuple[float, float]:
    """The range that fits best, its ends among quantiles of the rows inside."""
    cells = values[inside & np.isfinite(values)]
    if not len(cells):
        return np.nan, np.nan
    ends = np.unique(np.quantile(cells, np.linspace(0, 1, BINS + 1), method="nearest"))
    best, fit = (float(ends[0]), float(ends[-1])), -1.0
    for place, low in enumerate(ends):
        for high in ends[place:]:
            found = _fit((values >= low) & (values <= high), inside)
            if found > fit:
                best, fit = (float(low), float(high)), found
    return best


def _fit(rows: NDArray[np.bool_], inside: NDArray[np.bool_]) -> float:
    """F1: the harmonic mean of how much of the rows is inside, and of the inside in the rows."""
    both = float((rows & inside).sum())
    return 2 * both / max(1.0, float(rows.sum() + inside.sum()))
