"""Where to measure: points, a grid, the hull of data, a window of traffic.

A region is points plus what is needed to move them: which columns may move, how to put a
moved point back into the form the model knows, and the volume where one is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import narwhals.stable.v1 as nw
import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import is_id, is_index, repeated, shown
from anharmonic._core.frames import Table, as_table
from anharmonic._core.hulls import draw_in_hull
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError, SettingsError, listed

if TYPE_CHECKING:
    import pandas

__all__ = ["Region", "as_region", "grid", "hull", "points", "require_finite", "unmoved", "window"]


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
        Whether somebody has said what moves, or the model has been asked; until then it is all
        that may be a feature.
    steps
        Cells along each axis of a whole grid.
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
            return _restored_table(self, moved, rows)
        if self.still:
            moved = _restored_array(self, moved, rows)
        return moved.reshape((-1, *self.shape)) if len(self.shape) > 1 else moved

    def rows(self, indices: Integers) -> Region:
        """The same region at some of its points."""
        chosen = indices.tolist()
        return replace(self, source=self.source[chosen], values=self.values[chosen], steps=())

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns that could move."""
        if not self.is_table:
            return self.names
        return tuple(name for name in self.names if self.source[name].dtype.is_numeric())

    def holding(self, still: Sequence[str]) -> Region:
        """The same region with some columns held still."""
        return self.along([name for name in self.columns if name not in still]) if still else self

    def along(self, names: Sequence[str]) -> Region:
        """The same region with just these columns moving, in this order."""
        if tuple(names) == self.columns:
            return self
        if set(names) <= set(self.columns):
            values = self.values[:, [self.columns.index(name) for name in names]]
        elif self.is_table:
            values = _numbers(self.source, names)
        else:
            values = self.source[:, [self.names.index(name) for name in names]]
        still = tuple(name for name in (*self.still, *self.columns) if name not in names)
        return replace(self, values=values, columns=tuple(names), still=still)


def as_region(data: object, moving: Sequence[str | int] | None = None) -> Region:
    """A region as it is, or with only some columns `moving`; anything else as `points`.

    Parameters
    ----------
    data
        A region, or whatever `points` takes.
    moving
        The columns that may move.
    """
    if not isinstance(data, Region):
        return points(data, moving)
    return data if moving is None else _moving_only(data, [str(name) for name in moving])


def points(data: object, moving: Sequence[str | int] | None = None) -> Region:
    """Points given one by one.

    Parameters
    ----------
    data
        An array (points, …), a tensor, or a DataFrame.
    moving
        The columns that may move. If not given, in a table the numeric columns move, but for an
        index and ids, and all others stay; a model that knows its inputs narrows that to what it
        reads.

    Examples
    --------
    >>> points([[1.0, 2.0], [3.0, 4.0]], moving=[0]).still
    ('1',)
    """
    return _region("points", data, moving)


def window(
    data: Array,
    last: int | None = None,
    column: str | None = None,
    start: object = None,
    end: object = None,
    moving: Sequence[str | int] | None = None,
) -> Region:
    """A stretch of traffic: the last rows, or those of some time.

    Parameters
    ----------
    data
        Rows in the order they came, as an array or a DataFrame.
    last
        How many rows, from the end.
    column
        Of a table: rows count whose value there is in [start, end).
    start, end
        The first value that counts, and the first that does not any more.
    moving
        The columns that may move; see `points`.

    Examples
    --------
    >>> window([[1.0], [2.0], [3.0]], last=2).values.tolist()
    [[2.0], [3.0]]
    """
    if column is None:
        if last is None or last < 1:
            raise SettingsError("a window needs last=<rows>, or column= with start= and end=")
        return _region("window", data[-last:], moving)
    table = nw.from_native(data, eager_only=True)
    if start is not None:
        table = table.filter(nw.col(column) >= start)
    if end is not None:
        table = table.filter(nw.col(column) < end)
    return _region("window", table.tail(last) if last else table, moving)


def grid(
    bounds: Sequence[tuple[float, float]], steps: int | Sequence[int], names: Sequence[str] = ()
) -> Region:
    """Cell centres of a regular grid in a box, in the box's own units.

    Parameters
    ----------
    bounds, names
        (low, high) for each axis, and what to call it.
    steps
        Cells along each axis, or one number for all.

    Examples
    --------
    >>> grid([(0, 1), (0, 2)], 2).values.tolist()
    [[0.25, 0.5], [0.25, 1.5], [0.75, 0.5], [0.75, 1.5]]
    """
    counts = [steps] * len(bounds) if isinstance(steps, int) else list(steps)
    if not bounds or len(counts) != len(bounds) or min(counts) < 1:
        raise SettingsError("a grid needs one (low, high) and one number of steps for each axis")
    if any(not low < high for low, high in bounds):
        raise SettingsError(f"every axis of a grid needs low < high, got {list(bounds)}")
    axes = [
        low + (high - low) * (np.arange(count) + 0.5) / count
        for (low, high), count in zip(bounds, counts, strict=True)
    ]
    # (cells, axes), the last axis fastest.
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(bounds))
    volume = float(np.prod([high - low for low, high in bounds]))
    region = replace(_region("grid", mesh, None), volume=volume, steps=tuple(counts))
    return replace(region, columns=tuple(names)) if names else region


def hull(data: object, count: int, seed: int = 0, method: str = "auto") -> Region:
    """Random points inside the convex hull of the data's numeric columns.

    Parameters
    ----------
    data
        What `points` takes, with numeric columns alone.
    count, seed
        How many points to draw, and the seed of the draw.
    method : "auto", "uniform" or "mix"
        "uniform" (default for a few dimensions and some thousand points) triangulates, draws
        evenly by volume and knows the volume. "mix" (otherwise) averages n+1 random data points
        with random weights: inside the hull in any dimension, denser where the data are.

    Examples
    --------
    >>> hull([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], 5).volume
    1.0
    """
    source = _region("points", data, None)
    if source.still:
        raise SettingsError(
            f"a hull has numbers only: drop {', '.join(source.still)} or measure at points"
        )
    require_finite(source, "data")
    values = to_numpy64(source.values)
    inside, volume = draw_in_hull(values, count, generator(seed, Stream.HULL), method)
    region = replace(_region("hull", inside, None), volume=volume)
    if source.is_table:
        table = nw.from_dict(
            {name: inside[:, index] for index, name in enumerate(source.columns)},
            backend=source.source.implementation,
        )
        return replace(region, source=table, columns=source.columns, shape=())
    return region


def unmoved(data: object) -> Region:
    """Rows as they are, of which nothing moves: any columns, and missing cells too.

    Parameters
    ----------
    data
        A region, or an array, a tensor or a DataFrame.

    Examples
    --------
    >>> unmoved([[1.0, float("nan")]]).still
    ('0', '1')
    """
    if isinstance(data, Region):
        region = data
    else:
        table = as_table(data)
        region = (
            _from_array("points", data)
            if table is None
            else Region("points", table, np.empty((len(table), 0)), (), tuple(table.columns))
        )
    if not len(region):
        raise PointsError("there are no rows: give at least one")
    nothing = np.empty((len(region), 0)) if region.is_table else region.source[:, :0]
    return replace(region, values=nothing, columns=(), still=region.names)


def _region(kind: str, data: object, moving: Sequence[str | int] | None) -> Region:
    try:
        table = as_table(data)
    except DuplicateError:
        frame = cast(Any, data)
        twice = repeated(list(getattr(frame, "column_names", None) or frame.columns))
        raise PointsError(f"several columns are called {shown(twice)}: rename them") from None
    region = _from_array(kind, data) if table is None else _from_table(kind, table)
    if not len(region):
        raise PointsError("there are no points: give at least one row")
    if moving is not None:
        region = _moving_only(region, [str(name) for name in moving])
    # Which columns of a table move may be up to the model.
    if not region.dimension and table is None:
        raise PointsError("no column can move: numeric columns are needed, or name some in moving=")
    return region


def _from_array(kind: str, data: object) -> Region:
    array: Array = data
    if not is_torch_array(data):
        try:
            array = np.asarray(cast(ArrayLike, data))
            array = array if array.dtype.kind == "f" else array.astype(np.float64)
        except (TypeError, ValueError) as problem:
            raise PointsError(
                "points must be numbers, one row each: give a 2-D array, or a DataFrame when "
                "some columns are text"
            ) from problem
    if array.ndim < 2:
        raise PointsError(
            f"points have shape {tuple(array.shape)}: give one row per point, "
            "for a single point x use x[None, :]"
        )
    flat = array.reshape((array.shape[0], int(np.prod(array.shape[1:]))))
    names = tuple(str(index) for index in range(flat.shape[1]))
    return Region(kind, flat, flat, names, shape=tuple(int(size) for size in array.shape[1:]))


def _from_table(kind: str, table: Table) -> Region:
    numeric = [name for name in table.columns if table[name].dtype.is_numeric()]
    if not numeric:
        raise PointsError(
            f"no column is numeric, so nothing can move: encode some of {shown(table.columns)} "
            "as numbers"
        )
    # A step along a number that merely names a row is a step to nowhere.
    names = tuple(name for name in numeric if not (is_index(name) or is_id(name)))
    still = tuple(name for name in table.columns if name not in names)
    return Region(kind, table, _numbers(table, names), names, still)


def _numbers(table: Table, names: Sequence[str]) -> Floats:
    if not names:
        return np.empty((len(table), 0))
    return np.asarray(table.select(names).to_numpy(), dtype=np.float64)


def _moving_only(region: Region, moving: list[str]) -> Region:
    # A grid's columns may have names of their own, which its array does not know.
    numeric = region.columns if not region.still else region.numeric
    unknown = [name for name in moving if name not in numeric]
    if unknown:
        raise SettingsError(f"cannot move {shown(unknown)}: numeric columns are {shown(numeric)}")
    return replace(region.along([name for name in numeric if name in moving]), settled=True)


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
    columns = [
        nw.new_series(name, moved[:, index], backend=table.implementation)
        for index, name in enumerate(region.columns)
    ]
    others = [name for name in table.columns if name not in region.columns]
    if not others:
        return nw.to_native(columns[0].to_frame().with_columns(*columns[1:]))
    kept = nw.maybe_reset_index(table.select(others)[rows.tolist()])
    return nw.to_native(kept.with_columns(*columns).select(table.columns))
