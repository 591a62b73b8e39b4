"""Points, and how to move them and put them back into the form the model knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import narwhals.stable.v1 as nw
import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import is_id, named_rows, shown
from anharmonic._core.frames import Table, dense
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.errors import PointsError, listed
from anharmonic.regions.forms import as_they_came, formed
from anharmonic.regions.tables import Kinds, TableCells, TableNeighbourhood

if TYPE_CHECKING:
    import pandas

__all__ = ["Region", "numbers_of", "require_finite"]


@dataclass(frozen=True)
class Region:
    """Points to measure at, and how to move them.

    Parameters
    ----------
    kind
        "points", "grid", "hull" or "window".
    source
        What the points came as: an array (points, all coordinates), or a table.
    values
        The coordinates that move, (points, n), whatever the points came as.
    columns, still
        The names of what moves and of what stays; their numbers for arrays.
    shape
        Of one point, for arrays.
    volume
        Of the region, where it is known.
    settled
        Whether `columns` is final: somebody said what moves, or the model was asked. Until then
        it is all that may be a feature, and what is `still` may yet move.
    steps
        Cells along each axis of a whole grid.
    told, plain
        What somebody said that columns are, and whether it is final that all that moves is
        numbers: then nothing is coded, and `neighbourhood` stays None.
    form, objects
        What the model takes where that is no table: "texts", "objects" or "sparse"; and the
        objects themselves, whose types a table changes.
    neighbourhood
        How rows move that are not all numbers; `values` are coded then.
    addresses
        The number of each row that its random numbers depend on, (points,); where there are
        none, its place among the points.
    """

    kind: str
    source: Array | Table
    values: Array
    columns: tuple[str, ...]
    still: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    volume: float | None = None
    settled: bool = False
    steps: tuple[int, ...] = ()
    told: Kinds | None = None
    plain: bool = False
    form: str = ""
    objects: Array | None = None
    neighbourhood: TableNeighbourhood | None = None
    addresses: Integers | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def dimension(self) -> int:
        return int(self.values.shape[1])

    @property
    def one_unit(self) -> bool:
        """Whether all coordinates share a unit: an image, or a grid given in its own units."""
        return len(self.shape) > 1 or self.kind == "grid"

    @property
    def is_table(self) -> bool:
        return isinstance(self.source, nw.DataFrame)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns of a point as the model sees it, moving or not."""
        if self.is_table:
            return tuple(self.source.columns)
        width = int(np.prod(self.shape))
        return self.columns if not self.still else tuple(str(index) for index in range(width))

    @property
    def index(self) -> pandas.Index | None:
        """The rows' labels, of a pandas frame."""
        return getattr(self.source.to_native(), "index", None) if self.is_table else None

    @property
    def row_names(self) -> tuple[str, ...] | None:
        """What rows are called: the labels of a pandas frame, or a column of ids; None if neither.

        Labels that only count rows from 0 are no names, and neither are ids that occur twice.
        """
        if not self.is_table:
            return None
        labels = named_rows(self.index)
        if labels is not None:
            return labels
        for name in self.source.columns:
            if is_id(name) and name not in self.columns:
                ids = [str(cell) for cell in self.source[name].to_list()]
                if len(set(ids)) == len(ids):
                    return tuple(ids)
        return None

    def restored(self, moved: Array, rows: Integers) -> Array:
        """Moved coordinates (queries, n) as the model takes them: what stays is put back.

        Parameters
        ----------
        moved
            The coordinates that moved.
        rows
            The point that each query belongs to, (queries,).
        """
        if self.is_table:
            made = formed(self.form, _restored_table(self, moved, rows))
            return made if self.objects is None else as_they_came(made, self.objects[rows])
        if self.still:
            moved = _restored_array(self, moved, rows)
        if self.form:
            return formed(self.form, moved)
        return moved.reshape((-1, *self.shape)) if len(self.shape) > 1 else moved

    @cached_property
    def cells(self) -> TableCells | None:
        """How coded rows become rows of the table again, where they are coded."""
        coding = None if self.neighbourhood is None else self.neighbourhood.coding
        return None if coding is None else TableCells.of(coding, self.source)

    def rows(self, indices: Integers) -> Region:
        """The same region at some of its points."""
        chosen = indices.tolist()
        addresses = None if self.addresses is None else self.addresses[chosen]
        return replace(
            self,
            source=self.source[chosen],
            values=self.values[chosen],
            steps=(),
            addresses=addresses,
            objects=None if self.objects is None else self.objects[chosen],
        )

    def addresses_of(self, rows: Integers) -> Integers:
        """The numbers that random numbers of some rows depend on, (rows,)."""
        return rows if self.addresses is None else np.asarray(self.addresses[rows])

    def unusable(self) -> NDArray[np.bool_]:
        """Rows that hold infinity, or a gap in a column where the reference has none, (rows,)."""
        values = to_numpy64(self.values)
        if self.neighbourhood is None:
            return np.asarray(~np.isfinite(values).all(axis=1))
        gaps = np.isnan(values) & ~self.neighbourhood.gaps
        return np.asarray((np.isinf(values) | gaps).any(axis=1))

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns of numbers."""
        if not self.is_table:
            return self.names
        return tuple(name for name in self.names if dense(self.source[name]).dtype.is_numeric())

    def holding(self, still: Sequence[str]) -> Region:
        """The same region with some columns held still."""
        return self.along([name for name in self.columns if name not in still]) if still else self

    def along(self, names: Sequence[str]) -> Region:
        """The same region with just these columns moving, in this order."""
        if tuple(names) == self.columns:
            return self
        if self.neighbourhood is not None:
            raise PointsError(
                "how these rows move is settled: give the table itself, and moving= for its columns"
            )
        if set(names) <= set(self.columns):
            values = self.values[:, [self.columns.index(name) for name in names]]
        elif self.is_table:
            # What is no number is coded once the reference is known.
            numeric = set(self.numeric)
            values = (
                numbers_of(self.source, names)
                if numeric.issuperset(names)
                else np.zeros((len(self.source), len(names)))
            )
        else:
            values = self.source[:, [self.names.index(name) for name in names]]
        still = tuple(name for name in (*self.still, *self.columns) if name not in names)
        return replace(self, values=values, columns=tuple(names), still=still)


def numbers_of(table: Table, names: Sequence[str]) -> Floats:
    """Columns of numbers as an array, (rows, columns)."""
    if not names:
        return np.empty((len(table), 0))
    return np.asarray(table.select(names).to_numpy(), dtype=np.float64)


def require_finite(region: Region, what: str) -> None:
    """Refuse NaN and infinity in columns that move.

    Parameters
    ----------
    region, what
        To look at, and what it is, for the message: "points", "reference".
    """
    values = region.values
    xp = array_namespace(values)
    # One pass without an array of flags: a sum is finite unless something in it is not.
    if is_numpy_array(values) and np.isfinite(np.add.reduce(values, axis=None)):
        return
    bad = ~xp.isfinite(values)
    rows, columns = (np.flatnonzero(to_numpy64(xp.any(bad, axis=axis))) for axis in (1, 0))
    if len(rows):
        names = [region.columns[column] for column in columns.tolist()]
        raise PointsError(
            f"NaN or infinity in the {what}, in column {shown(names)} of rows "
            f"{listed(rows.tolist())}: drop or fill them, or hold the column still by naming "
            "the others in moving= (--moving)"
        )


def _restored_array(region: Region, moved: Array, rows: Integers) -> Array:
    xp = array_namespace(moved)
    # Each query's point with all its coordinates, (queries, all); then those that moved.
    restored = xp.asarray(region.source[rows.tolist()], dtype=moved.dtype, device=device(moved))
    restored[:, [region.names.index(column) for column in region.columns]] = moved
    return restored


def _restored_table(region: Region, moved: Array, rows: Integers) -> Array:
    table: Table = region.source
    if region.cells is not None:
        return region.cells.rows(moved, rows)
    columns = [
        nw.new_series(name, moved[:, index], backend=table.implementation)
        for index, name in enumerate(region.columns)
    ]
    others = [name for name in table.columns if name not in region.columns]
    if not others:
        return nw.to_native(columns[0].to_frame().with_columns(*columns[1:]))
    kept = nw.maybe_reset_index(table.select(others)[rows.tolist()])
    return nw.to_native(kept.with_columns(*columns).select(table.columns))
