"""From rows of a source to a region: settled once on a sample, then applied to any rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.frames import missing_cells, numbers_in
from anharmonic._core.protocols import Floats, Model
from anharmonic.errors import (
    AnharmonicError,
    InputError,
    MeasurementStopped,
    PointsError,
    first_line,
)
from anharmonic.measures.setup.batching import call_with_flags
from anharmonic.measures.setup.scale import read_columns, with_neighbourhood
from anharmonic.measures.setup.settling import Setup
from anharmonic.regions import Region, as_region
from anharmonic.sources import Aside, Rows
from anharmonic.sources.identity import is_whole

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Frames", "Placing", "answered_rows", "light", "outputs_at", "without_unanswered"]

GAPS = 64
"""Rows with missing cells that a model is asked for, to see whether it takes such rows."""
ASKED = 256
"""Rows of the sample among which a model's answers are looked for, where it fails at some."""


@dataclass(frozen=True)
class Frames:
    """Arrow tables as the frames that models know: alike in every batch.

    A column of whole numbers or truth values that has gaps in the sample is one of fractions
    everywhere; one that has none there keeps its type, and rows with a gap are set aside.
    Categories have the same levels in the same order everywhere, those of the sample; what a batch
    has beyond comes behind them. Texts are categories where the sample has categories.
    """

    with_gaps: tuple[str, ...]
    without_gaps: tuple[str, ...]
    levels: Mapping[str, Any] = field(default_factory=dict)
    ordered: tuple[str, ...] = ()

    @classmethod
    def like(cls, *tables: pa.Table) -> Frames:
        """As the tables of a sample, or of a reference too, say."""
        import pyarrow as pa

        categories = [field.name for field in tables[0].schema if _is_category(field.type)]

        typed = [
            field.name
            for field in tables[0].schema
            if pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)
        ]
        gaps = {
            name
            for table in tables
            for name in typed
            if name in table.column_names and table[name].null_count
        }
        return cls(
            tuple(name for name in typed if name in gaps),
            tuple(name for name in typed if name not in gaps),
            {
                name: _levels(
                    [table[name] for table in tables if name in table.column_names],
                    tables[0][name].type.value_type,
                    name,
                )
                for name in categories
            },
            tuple(name for name in categories if tables[0][name].type.ordered),
        )

    def gaps(self, table: pa.Table) -> NDArray[np.bool_]:
        """Rows with a gap in a column that knows none, (rows,)."""
        flags = np.zeros(len(table), dtype=bool)
        for name in self.without_gaps:
            if table[name].null_count:
                flags |= np.asarray(table[name].is_null().to_numpy())
        return flags

    def frame(self, table: pa.Table) -> Any:
        """The table as pandas where that is installed, else as it is."""
        import pyarrow as pa

        # A reference need not have what the model does not read.
        there = {name: place for place, name in enumerate(table.column_names)}
        for name, place in ((name, there[name]) for name in self.with_gaps if name in there):
            # What fractions cannot hold is rounded, as wherever whole numbers have gaps.
            table = table.set_column(place, name, table[name].cast(pa.float64(), safe=False))
        for name, levels in self.levels.items():
            if name in there:
                cells = _with_levels(table[name], levels, name, name in self.ordered)
                table = table.set_column(there[name], name, cells)
        return table.to_pandas() if find_spec("pandas") else table


@dataclass(frozen=True)
class Placing:
    """What a sample settled, for all rows: which columns move, in which units, within what.

    Parameters
    ----------
    setup
        As `light` leaves it.
    frames
        How tables become frames.
    """

    setup: Setup
    frames: Frames

    def place(self, rows: Rows) -> tuple[Setup | None, Rows, list[Aside]]:
        """The setup at these rows (None where none is left), the rows, and rows set aside."""
        aside: list[Aside] = []

        def without(flags: NDArray[np.bool_], reason: str) -> None:
            nonlocal rows
            if flags.any():
                aside.extend(rows.set_aside(flags, reason))
                rows = rows.take(~flags)

        if rows.keys is not None:
            missing = rows.keys.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
            without(np.asarray(missing), "the row has no key")
            without(~is_whole(rows.keys), "the row's key is a fraction")
        gaps = self.frames.gaps(rows.table)
        without(gaps, "a cell is missing in a column where none is in the sample")
        if not len(rows):
            return None, rows, aside
        region = self.moving(as_region(self.frames.frame(rows.table)))
        unusable, outside = region.unusable(), self._outside(region)
        kept = ~(unusable | outside)
        aside += rows.set_aside(unusable, self._why(region))
        aside += rows.set_aside(outside & ~unusable, "the row lies outside the bounds")
        if not kept.all():
            rows, region = rows.take(kept), region.rows(np.flatnonzero(kept))
        if not len(rows):
            return None, rows, aside
        return self.setup.at(replace(region, addresses=rows.addresses)), rows, aside

    def moving(self, region: Region) -> Region:
        """A region with the columns moving that the sample said."""
        law = self.setup.region.neighbourhood
        if law is not None:
            return with_neighbourhood(region, law)
        region = region.along(self.setup.region.columns)
        return replace(region, settled=True, plain=True)

    def _outside(self, region: Region) -> NDArray[np.bool_]:
        limits = self.setup.limits
        if limits is None:
            return np.zeros(len(region), dtype=bool)
        values = to_numpy64(region.values)
        return np.asarray(((values < limits[0]) | (values > limits[1])).any(axis=1))

    def _why(self, region: Region) -> str:
        if region.neighbourhood is None:
            return "NaN or infinity in a column that moves"
        return "infinity, or a cell is missing in a column where none is in the reference"


def _is_category(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind))


def _levels(columns: Sequence[Any], kind: Any, name: str) -> Any:
    """All levels of some columns, in the order they come in."""
    import pyarrow as pa

    found = [
        chunk.dictionary if _is_category(chunk.type) else chunk.unique().drop_null()
        for column in columns
        for chunk in column.chunks
    ]
    try:
        levels = [part.cast(kind) for part in found]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
        raise InputError(
            f"column {name} has categories of {kind} in the sample, and elsewhere it holds "
            f"something else ({first_line(problem)}): write it alike everywhere"
        ) from problem
    return pa.chunked_array(levels, kind).unique().drop_null()


def _with_levels(column: Any, levels: Any, name: str, ordered: bool) -> Any:
    """Categories with these levels first, and then those that only this column has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    own = _levels([column], levels.type, name)
    further = own.filter(pc.invert(pc.is_in(own, levels)))
    cells = column.cast(levels.type).combine_chunks()
    used = further.filter(pc.is_in(further, cells.unique()))
    every = pa.concat_arrays([levels, used.take(pc.sort_indices(used))])
    ordered = ordered or (_is_category(column.type) and column.type.ordered)
    return pa.DictionaryArray.from_arrays(pc.index_in(cells, every), every, ordered=ordered)


def light(setup: Setup) -> Setup:
    """The setup at a single row and without its reference: small enough to be sent around."""
    one = setup.region.rows(np.array([0]))
    return replace(setup, region=one, reference=one, caller=setup.caller._replace(region=one))


def without_unanswered(model: Model, region: Region, numbers: bool) -> tuple[Region, int]:
    """A sample without rows that nothing can be settled on, and how many queries that took.

    Missing cells are values like any other to a model that answers rows with them; to a model
    that does not, and where only `numbers` may move, such rows are set aside here and later.
    """
    read = read_columns(region, [model])
    names = [name for name in region.names if read is None or name in read]
    infinite = np.zeros(len(region), dtype=bool)
    gaps = infinite.copy()
    for name in names:
        series = region.source[name]
        gaps |= missing_cells(series)
        if series.dtype.is_float():
            infinite |= np.isinf(numbers_in(series))
    asked = region.rows(np.flatnonzero(gaps & ~infinite)[:GAPS])
    queries = 0
    if len(asked) and not numbers:
        queries = len(asked)
        if _answers(model, asked):
            gaps[:] = False
    kept = np.flatnonzero(~(gaps | infinite))
    if not len(kept):
        raise PointsError("every row of the sample has a missing cell: fill them, or drop a column")
    return region if len(kept) == len(region) else region.rows(kept), queries


def outputs_at(setup: Setup, region: Region) -> Floats | None:
    """A model's outputs at some rows, (rows, columns); None where it fails at any of them."""
    rows = np.arange(len(region))
    try:
        outputs, bad = call_with_flags(
            setup.caller._replace(region=region), region.values[:, None], rows
        )
    except MeasurementStopped:
        return None
    return None if bad.any() else to_numpy64(outputs)[:, 0]


def answered_rows(setup: Setup, problem: Exception) -> Region:
    """Rows of a sample that the model answers, looked for among a few of them.

    `problem` is what it said when it was asked for all.
    """
    step = max(1, len(setup.region) // ASKED)
    waiting, good = [np.arange(0, len(setup.region), step)], []
    while waiting:
        part = waiting.pop()
        if outputs_at(setup, setup.region.rows(part)) is not None:
            good.append(part)
        elif len(part) > 1:
            waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
    if not good:
        raise MeasurementStopped(
            f"the model fails at every row of a sample that was tried: {first_line(problem)}",
            "mend it and start again",
        ) from problem
    return setup.region.rows(np.sort(np.concatenate(good)))


def _answers(model: Model, region: Region) -> bool:
    """Whether a model has a number for every one of some rows."""
    try:
        return bool(np.isfinite(to_numpy64(model(region.source.to_native()))).all())
    except AnharmonicError:
        raise
    except Exception:  # models refuse missing cells in ways of their own
        return False
