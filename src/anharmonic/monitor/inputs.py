"""A model's inputs as streams of numbers: every column's values, gaps and levels, and all at once.

Middles, units and the covariance are taken from the first part of a reference, which is then no
sample of the streams that need them: so ranks of the rest are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import is_id, is_index, shown
from anharmonic._core.frames import as_table, missing_cells
from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import PointsError
from anharmonic.monitor.rank_evidence import ASIDE
from anharmonic.regions.forms import TEXT, with_form
from anharmonic.regions.tables.choosing import choose_kinds
from anharmonic.regions.tables.coding import Coding, code_columns
from anharmonic.regions.tables.kinds import ColumnKind, Kinds

__all__ = ["ALL_COLUMNS", "InputStream", "Inputs", "fit_inputs"]

ALL_COLUMNS = "all columns together"
"""The name of the stream that looks at whole rows."""
MOST_LEVELS = 8
"""Levels of a category that are watched one by one: the most frequent."""
MOST_COLUMNS = 64
"""Columns that are watched one by one; of more, their principal components are."""
COMPONENTS = 32
MOST_WHITENED = 256
"""Columns whose covariance is taken out; of more, only their units."""
FARTHEST = 8.0
"""Standard deviations beyond which a number is no farther from the middle."""
SHRINKAGE = 0.1
"""The part of a covariance that is its diagonal's."""
SPIKE = 0.5
"""A value that more than this share of cells has is watched by itself."""
LEVELS = ("category", "flag", "one-hot")
"""Kinds whose levels have no order."""


class InputStream(NamedTuple):
    """What one stream is about: a column, and its "value", "size" (distance from the middle),
    "missing" cells, "unseen" cells, one "level", a "component" or the "distance" of whole rows.

    The level of a value is the one that is left out of it.
    """

    column: str
    aspect: str
    level: float = float("nan")


@dataclass(frozen=True)
class Inputs:
    """How rows become streams, settled on a reference.

    Parameters
    ----------
    kinds
        What each column is.
    coding
        How a table's cells become numbers; None for arrays.
    streams
        What is watched.
    gaps : (columns,)
        Whether the reference has missing cells.
    levels
        Of columns without order, the levels of the part that is set aside; empty for others.
    surprise
        Of the same columns, −log of each level's share, and for other levels.
    middles, units : (columns,)
        Of the numbers that rows are compared by.
    axes : (columns, directions)
        From these to independent ones of unit length.
    """

    kinds: tuple[ColumnKind, ...]
    coding: Coding | None
    streams: tuple[InputStream, ...]
    gaps: Array
    levels: tuple[Floats, ...]
    surprise: tuple[Floats, ...]
    middles: Floats
    units: Floats
    axes: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(kind.name for kind in self.kinds)

    def text(self, place: int, code: float) -> str:
        """A column's code as people read it."""
        if self.coding is None:
            return f"{code:.4g}"
        column = self.coding.columns[place]
        return column.text(code) if column.calendar is None else column.calendar.shown(code)

    def codes(self, points: Array) -> Floats:
        """Cells as numbers, (rows, columns): NaN where one is missing, −1 for unknown levels."""
        data, _, _ = with_form(points)
        table = as_table(data)
        if self.coding is not None:
            if table is None:
                raise PointsError("the reference is a table: give rows as a table with its columns")
            codes = self.coding.encode(table)
            for place, kind in enumerate(self.kinds):
                if kind.movement == "edit":
                    codes[:, place] = _lengths(table[kind.name])
            return codes
        if table is not None:
            missing = [name for name in self.names if name not in table.columns]
            if missing:
                raise PointsError(f"no column {shown(missing)}: give rows as the reference's")
            return np.asarray(table.select(self.names).to_numpy(), dtype=np.float64)
        values = to_numpy64(data)
        return np.asarray(values.reshape(len(values), -1))

    def values(self, points: Array) -> Floats:
        """The streams' values, (rows, streams); NaN where a row has nothing to say."""
        return self.of_codes(self.codes(points))

    def of_codes(self, codes: Floats) -> Floats:
        """The same from coded rows."""
        place = {name: number for number, name in enumerate(self.names)}
        standard = self._standard(codes)
        whole = _turned(standard, self.axes)
        values = np.empty((len(codes), len(self.streams)))
        for number, (column, aspect, level) in enumerate(self.streams):
            if aspect == "distance":
                values[:, number] = np.sqrt(np.mean(whole**2, axis=1))
            elif aspect == "component":
                values[:, number] = whole[:, int(level)]
            else:
                cells = codes[:, place[column]]
                values[:, number] = self._aspect(cells, place[column], aspect, level)
        return values

    def distances(self, points: Array) -> Floats:
        """How far rows are from the usual ones, (rows,): 1 on average, all columns together."""
        whole = _turned(self._standard(self.codes(points)), self.axes)
        return np.asarray(np.sqrt(np.mean(whole**2, axis=1)))

    def _aspect(self, cells: Floats, place: int, aspect: str, level: float) -> Floats:
        missing = np.isnan(cells)
        if aspect == "missing":
            return np.asarray(missing, dtype=np.float64)
        if aspect == "unseen":
            return np.asarray(self._unseen(cells, place), dtype=np.float64)
        if aspect == "level":
            return np.where(missing, np.nan, cells == level)
        # A value beside a spike is that of all others.
        finite = np.where(np.isinf(cells) | (cells == level), np.nan, cells)
        return finite if aspect == "value" else np.abs(finite - self.middles[place])

    def _unseen(self, cells: Floats, place: int) -> Array:
        """Cells that are new or rare: infinite, missing where none is, or of another level."""
        missing = np.isnan(cells)
        unseen = np.isinf(cells) | (missing & (not self.gaps[place]))
        if len(self.levels[place]):
            unseen |= ~missing & ~np.isin(cells, self.levels[place])
        return unseen

    def _standard(self, codes: Floats) -> Floats:
        """Numbers that rows are compared by, 0 in the middle: (rows, columns)."""
        numbers = _numbers(codes, self.levels, self.surprise)
        standard = np.nan_to_num((numbers - self.middles) / self.units, posinf=np.inf)
        return np.clip(standard, -FARTHEST, FARTHEST)


def fit_inputs(
    reference: Array, columns: Collection[str] | None = None, kinds: Kinds | None = None
) -> Inputs:
    """Streams of a reference's columns.

    Parameters
    ----------
    reference
        A table or an array, in its own order.
    columns
        Which of a table's; all but indices and ids if not given.
    kinds
        Of columns that somebody knows better.
    """
    data, form, _ = with_form(reference)
    table = as_table(data)
    if table is None:
        values = to_numpy64(data)
        flat = np.asarray(values.reshape(len(values), -1))
        chosen = tuple(ColumnKind(str(place), "number") for place in range(flat.shape[1]))
        return _settled(chosen, None, flat)
    offered = [
        name
        for name in table.columns
        if not (is_index(name) or is_id(name)) and (columns is None or name in columns)
    ]
    told = {name: kind for name, kind in (kinds or {}).items() if name in offered}
    if form == "texts":
        told = {TEXT: "text"} | told
    found = choose_kinds({name: table[name] for name in offered}, told).kinds
    if not found:
        raise PointsError("no column of the reference can be watched: all of them name rows")
    coding = code_columns(found, None, table)
    blank = Inputs(found, coding, (), np.empty(0), (), (), np.empty(0), np.empty(0), np.empty(0))
    return _settled(found, coding, blank.codes(table.to_native()))


def _settled(kinds: tuple[ColumnKind, ...], coding: Coding | None, codes: Floats) -> Inputs:
    aside = codes[: max(2, int(ASIDE * len(codes)))]
    gaps = np.isnan(codes).any(axis=0)
    # Of the part that is set aside, so that the rest says how often a level is new to it.
    levels = tuple(
        _levels(first, cells) if _without_order(kind, cells) else np.empty(0)
        for kind, first, cells in zip(kinds, aside.T, codes.T, strict=True)
    )
    surprise = tuple(_surprise(cells, known) for cells, known in zip(aside.T, levels, strict=True))
    numbers = _numbers(aside, levels, surprise)
    finite = np.where(np.isfinite(numbers), numbers, np.nan)
    present = np.isfinite(finite).any(axis=0)
    middles, units = np.zeros(len(kinds)), np.ones(len(kinds))
    middles[present] = np.nanmedian(finite[:, present], axis=0)
    spread = np.nanstd(finite[:, present], axis=0)
    units[present] = np.where(spread > 0, spread, 1.0)
    standard = np.clip(np.nan_to_num((finite - middles) / units), -FARTHEST, FARTHEST)
    axes = _axes(standard)
    streams = _streams(kinds, levels, gaps, aside, axes.shape[1])
    return Inputs(kinds, coding, streams, gaps, levels, surprise, middles, units, axes)


def _without_order(kind: ColumnKind, cells: Floats) -> bool:
    """Whether a column's levels are watched: categories, and what never varies."""
    present = cells[np.isfinite(cells)]
    return kind.kind in LEVELS or not len(present) or bool(present.min() == present.max())


def _levels(first: Floats, cells: Floats) -> Floats:
    """The levels of a column's first cells; of all of them where the first are missing."""
    known = np.unique(first[~np.isnan(first)])
    return known if len(known) else np.unique(cells[~np.isnan(cells)])


def _streams(
    kinds: tuple[ColumnKind, ...],
    levels: tuple[Floats, ...],
    gaps: Array,
    aside: Floats,
    components: int,
) -> tuple[InputStream, ...]:
    streams = [InputStream(ALL_COLUMNS, "distance")]
    if len(kinds) > MOST_COLUMNS:
        count = min(COMPONENTS, components)
        streams += [InputStream(f"component {k + 1}", "component", float(k)) for k in range(count)]
        return tuple(streams)
    for place, kind in enumerate(kinds):
        if len(levels[place]):
            cells = aside[:, place]
            counts = [int(np.sum(cells == level)) for level in levels[place]]
            order = np.argsort(-np.array(counts), kind="stable")[:MOST_LEVELS]
            # Of two levels one says it all.
            shown = order[:1] if len(levels[place]) == 2 else order
            if len(levels[place]) > 1:
                streams += [InputStream(kind.name, "level", levels[place][k]) for k in shown]
        else:
            spike = _spike(aside[:, place])
            if spike is not None:
                streams.append(InputStream(kind.name, "level", spike))
            streams.append(
                InputStream(kind.name, "value", float("nan") if spike is None else spike)
            )
            streams.append(InputStream(kind.name, "size"))
        if gaps[place]:
            streams.append(InputStream(kind.name, "missing"))
        streams.append(InputStream(kind.name, "unseen"))
    return tuple(streams)


def _spike(cells: Floats) -> float | None:
    """The value that more than half of a column's cells have."""
    middle = float(np.nanmedian(cells)) if np.isfinite(cells).any() else np.nan
    return middle if np.nanmean(cells == middle) > SPIKE else None


def _surprise(cells: Floats, levels: Floats) -> Floats:
    """−log of the share of each level, then of missing cells, then of levels never seen."""
    if not len(levels):
        return np.empty(0)
    counts = [np.sum(cells == level) for level in levels] + [np.sum(np.isnan(cells)), 0]
    # Half a row more than there is, so that what was never seen is not infinitely surprising.
    return -np.log((np.array(counts, dtype=np.float64) + 0.5) / (len(cells) + 0.5))


def _numbers(codes: Floats, levels: Sequence[Floats], surprise: Sequence[Floats]) -> Floats:
    """Codes with categories replaced by how surprising their level is, (rows, columns)."""
    numbers = codes.copy()
    for place, known in enumerate(levels):
        if len(known):
            cells = codes[:, place]
            at = np.minimum(np.searchsorted(known, cells), len(known) - 1)
            at = np.where(known[at] == cells, at, len(known) + 1)
            numbers[:, place] = surprise[place][np.where(np.isnan(cells), len(known), at)]
    return numbers


def _axes(standard: Floats) -> Floats:
    """From standardised columns to independent directions of unit length, the longest first."""
    columns = standard.shape[1]
    if columns > MOST_WHITENED:
        # Principal axes by a thin decomposition; the rest of the space is left out.
        centred = standard - standard.mean(axis=0)
        _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
        kept = min(COMPONENTS, int(np.sum(lengths > 1e-9 * max(lengths[0], 1e-300))))
        return np.asarray((axes[:kept] / (lengths[:kept, None] / np.sqrt(len(standard)))).T)
    covariance = np.atleast_2d(np.cov(standard, rowvar=False))
    # A column that never varied counts in its own units: it has no spread to be divided by.
    still = np.flatnonzero(np.diag(covariance) <= 1e-6)
    covariance[still, still] = 1.0
    diagonal = np.diag(np.diag(covariance))
    mixed = (1 - SHRINKAGE) * covariance + SHRINKAGE * diagonal
    values, vectors = np.linalg.eigh(mixed)
    order = np.argsort(-values)
    return np.asarray(vectors[:, order] / np.sqrt(values[order]))


def _turned(standard: Floats, axes: Floats) -> Floats:
    """Rows (rows, columns) along the axes (columns, directions): the same bits in any batch.

    A product of matrices adds up one row otherwise than many, and a row that the reference has too
    would then lie beside it and not be tied with it. Here each number is a sum of its own, over
    neighbours in memory.
    """
    rows, directions = np.ascontiguousarray(standard), np.ascontiguousarray(axes.T)
    return np.asarray(np.einsum("rc,dc->rd", rows, directions, order="C", optimize=False))


def _lengths(series: nw.Series) -> Floats:
    """Characters of each text, NaN where it is missing."""
    gone = missing_cells(series).tolist()
    cells = zip(series.to_list(), gone, strict=True)
    return np.array([np.nan if missing else float(len(str(cell))) for cell, missing in cells])
