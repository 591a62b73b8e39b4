"""Where to measure: points, a grid, the hull of data, a window of traffic.

A region is points plus what is needed to move them: which columns may move, how to put a
moved point back into the form the model knows, and the volume where one is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import narwhals.stable.v1 as nw
import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_numpy_array,
    is_torch_array,
)
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import is_id, is_index, repeated, shown
from anharmonic._core.frames import as_table
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError, SettingsError, listed

__all__ = ["Region", "as_region", "grid", "hull", "points", "require_finite", "window"]

DELAUNAY_DIMENSIONS = 5
DELAUNAY_POINTS = 5_000


@dataclass(frozen=True)
class Region:
    """Points to measure at, and how to move them.

    `values` (points, n) holds the coordinates that move, whatever the points came as.
    `columns` names them (or numbers them, for arrays) and `still` those that stay. `shape` is
    that of one point, for arrays. What moves is `settled` when somebody has said so or the model
    has been asked; until then it is all that may be a feature.
    """

    kind: str
    source: Any
    values: Array
    columns: tuple[str, ...]
    still: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    volume: float | None = None
    settled: bool = False
    steps: tuple[int, ...] = ()
    """Cells along each axis of a whole grid."""

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
        wide = int(np.prod(self.shape))
        return self.columns if not self.still else tuple(str(index) for index in range(wide))

    @property
    def index(self) -> Any:
        """The rows' labels, of a pandas frame."""
        return getattr(self.source.to_native(), "index", None) if self.is_table else None

    def restored(self, moved: Array, rows: Integers) -> Array:
        """Moved coordinates (queries, n) of the given rows, in the form the model knows."""
        if self.is_table:
            return _restored_table(self, moved, rows)
        if self.still:
            moved = _restored_array(self, moved, rows)
        return moved.reshape((-1, *self.shape)) if len(self.shape) > 1 else moved

    def rows(self, indices: Integers) -> Region:
        """Some of the rows."""
        listed = indices.tolist()
        return replace(self, source=self.source[listed], values=self.values[listed], steps=())

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


def as_region(data: Any, moving: Sequence[str | int] | None = None) -> Region:
    """A region as it is, or with only some columns `moving`; anything else as `points`."""
    if not isinstance(data, Region):
        return points(data, moving)
    return data if moving is None else _moving_only(data, [str(name) for name in moving])


def points(data: Any, moving: Sequence[str | int] | None = None) -> Region:
    """Points given one by one: an array (points, …), a tensor, or a DataFrame.

    In a table numeric columns move, but for an index and ids, and all others stay; a model that
    knows its inputs narrows that to what it reads. `moving` names the columns that may instead.

    >>> points([[1.0, 2.0], [3.0, 4.0]], moving=[0]).still
    ('1',)
    """
    return _region("points", data, moving)


def window(
    data: Any,
    last: int | None = None,
    column: str | None = None,
    start: Any = None,
    end: Any = None,
    moving: Sequence[str | int] | None = None,
) -> Region:
    """A stretch of traffic: the `last` rows, or rows whose `column` is in [start, end)."""
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
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(bounds))
    volume = float(np.prod([high - low for low, high in bounds]))
    region = replace(_region("grid", mesh, None), volume=volume, steps=tuple(counts))
    return replace(region, columns=tuple(names)) if names else region


def hull(data: Any, count: int, seed: int = 0, method: str = "auto") -> Region:
    """`count` random points inside the convex hull of the data's numeric columns.

    "uniform" (default for a few dimensions and some thousand points) triangulates, draws
    evenly by volume and knows the volume. "mix" (otherwise) averages n+1 random data points
    with random weights: inside the hull in any dimension, denser where the data are.
    """
    source = _region("points", data, None)
    if source.still:
        raise SettingsError(
            f"a hull has numbers only: drop {', '.join(source.still)} or measure at points"
        )
    require_finite(source, "data")
    values = to_numpy64(source.values)
    many, dimension = values.shape
    if many < dimension + 1:
        raise PointsError(f"the hull of {many} points is flat in {dimension} dimensions: add data")
    if method not in ("auto", "uniform", "mix"):
        raise SettingsError(f'no way {method!r} to fill a hull: "auto", "uniform" or "mix"')
    random = generator(seed, Stream.HULL)
    few = dimension <= DELAUNAY_DIMENSIONS and many <= DELAUNAY_POINTS
    volume: float | None = None
    if method == "uniform" or (method == "auto" and few):
        corners, volume = _triangulated(values, count, random)
    else:
        corners = values[random.integers(many, size=(count, dimension + 1))]
    weights = random.dirichlet(np.ones(dimension + 1), size=count)
    inside = np.einsum("ck,ckn->cn", weights, corners)
    region = replace(_region("hull", inside, None), volume=volume)
    if source.is_table:
        table = nw.from_dict(
            {name: inside[:, index] for index, name in enumerate(source.columns)},
            backend=source.source.implementation,
        )
        return replace(region, source=table, columns=source.columns, shape=())
    return region


def _triangulated(values: Floats, count: int, random: np.random.Generator) -> tuple[Floats, float]:
    """Corners of simplices drawn by volume, and the volume of all of them."""
    from scipy.spatial import Delaunay, QhullError

    if values.shape[1] == 1:
        ends = np.array([[values.min()], [values.max()]])
        return np.broadcast_to(ends, (count, 2, 1)), float(np.ptp(values))
    try:
        cells = values[Delaunay(values).simplices]
    except QhullError as problem:
        raise PointsError(
            "the data lie in a plane, so their hull has no volume: drop columns that depend "
            "on others, or use method='mix'"
        ) from problem
    edges = cells[:, 1:] - cells[:, :1]
    sizes = np.abs(np.linalg.det(edges))
    total = sizes.sum()
    chosen = random.choice(len(cells), size=count, p=sizes / total)
    factorial = float(np.prod(np.arange(1, values.shape[1] + 1)))
    return cells[chosen], float(total / factorial)


def _region(kind: str, data: Any, moving: Sequence[str | int] | None) -> Region:
    try:
        native = as_table(data)
    except DuplicateError:
        twice = repeated(list(getattr(data, "column_names", None) or data.columns))
        raise PointsError(f"several columns are called {shown(twice)}: rename them") from None
    is_table = native is not None
    region = _from_table(kind, native) if is_table else _from_array(kind, data)
    if not len(region):
        raise PointsError("there are no points: give at least one row")
    if moving is not None:
        region = _moving_only(region, [str(name) for name in moving])
    # Which columns of a table move may be up to the model.
    if not (region.dimension or is_table):
        raise PointsError("no column can move: numeric columns are needed, or name some in moving=")
    return region


def _from_array(kind: str, data: ArrayLike) -> Region:
    array: Array = data
    if not is_torch_array(data):
        try:
            array = np.asarray(data)
            array = array if array.dtype.kind == "f" else array.astype(np.float64)
        except (TypeError, ValueError) as problem:
            raise PointsError(
                "points must be numbers, one row each: give a 2-D array, or a DataFrame when "
                "some columns are text"
            ) from problem
    if array.ndim < 2:
        raise PointsError(
            f"points have shape {tuple(array.shape)}: give one row a point, "
            "for a single point x use x[None, :]"
        )
    flat = array.reshape((array.shape[0], int(np.prod(array.shape[1:]))))
    names = tuple(str(index) for index in range(flat.shape[1]))
    return Region(kind, flat, flat, names, shape=tuple(int(size) for size in array.shape[1:]))


def _from_table(kind: str, table: Any) -> Region:
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


def _numbers(table: Any, names: Sequence[str]) -> Floats:
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
    """Refuse NaN and infinity in columns that move; `what` the region is, to the reader."""
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
    whole = xp.asarray(region.source[rows.tolist()], dtype=moved.dtype, device=device(moved))
    whole[:, [region.names.index(column) for column in region.columns]] = moved
    return whole


def _restored_table(region: Region, moved: Array, rows: Integers) -> Any:
    table = cast(Any, region.source)
    columns = [
        nw.new_series(name, moved[:, index], backend=table.implementation)
        for index, name in enumerate(region.columns)
    ]
    others = [name for name in table.columns if name not in region.columns]
    if not others:
        return nw.to_native(columns[0].to_frame().with_columns(*columns[1:]))
    kept = nw.maybe_reset_index(table.select(others)[rows.tolist()])
    return nw.to_native(kept.with_columns(*columns).select(table.columns))
