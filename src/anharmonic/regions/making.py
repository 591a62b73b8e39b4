"""Where to measure: points, a grid, the hull of data, a window of traffic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import narwhals.stable.v1 as nw
import numpy as np
from array_api_compat import is_torch_array
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.columns import is_id, is_index, repeated, shown
from anharmonic._core.frames import Table, as_table, dense
from anharmonic._core.hulls import draw_in_hull
from anharmonic._core.protocols import Array
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError, SettingsError
from anharmonic.regions.forms import TEXT, with_form
from anharmonic.regions.region import Region, numbers_of, require_finite
from anharmonic.regions.tables import Kinds

__all__ = ["as_region", "grid", "hull", "points", "unmoved", "window"]


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


def points(
    data: object, moving: Sequence[str | int] | None = None, kinds: Kinds | None = None
) -> Region:
    """Points given one by one.

    Parameters
    ----------
    data
        An array (points, …), a tensor, a DataFrame, a sparse matrix, or a list of texts.
    moving
        The columns that may move. If not given, all of a table move but for an index, ids and
        names; a model that knows its inputs narrows that to what it reads.
    kinds
        What columns are, where their types mislead: as in `gamma`.

    Examples
    --------
    >>> points([[1.0, 2.0], [3.0, 4.0]], moving=[0]).still
    ('1',)
    """
    region = _region("points", data, moving)
    return replace(region, told=kinds) if kinds else region


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
        A region, or an array, a tensor, a DataFrame, a sparse matrix, or a list of texts.

    Examples
    --------
    >>> unmoved([[1.0, float("nan")]]).still
    ('0', '1')
    """
    if isinstance(data, Region):
        region = data
    else:
        data, form, objects = with_form(data)
        table = _table_of(data)
        region = (
            _from_array("points", data)
            if table is None
            else Region("points", table, np.empty((len(table), 0)), (), tuple(table.columns))
        )
        region = replace(region, form=form, objects=objects)
    if not len(region):
        raise PointsError("there are no rows: give at least one")
    nothing = np.empty((len(region), 0)) if region.is_table else region.source[:, :0]
    # Without a neighbourhood: a settled one codes columns, of which none is left.
    return replace(region, values=nothing, columns=(), still=region.names, neighbourhood=None)


def _region(kind: str, data: object, moving: Sequence[str | int] | None) -> Region:
    data, form, objects = with_form(data)
    table = _table_of(data)
    region = _from_array(kind, data) if table is None else _from_table(kind, table)
    told: Kinds | None = {TEXT: "text"} if form == "texts" else None
    region = replace(region, form=form, objects=objects, told=told)
    if not len(region):
        raise PointsError("there are no points: give at least one row")
    if moving is not None:
        region = _moving_only(region, [str(name) for name in moving])
    # Which columns of a table move may be up to the model.
    if not region.dimension and table is None:
        raise PointsError("no column can move: numeric columns are needed, or name some in moving=")
    return region


def _table_of(data: object) -> Table | None:
    """Data as a table whose columns can be told apart and taken from; None where they are none."""
    try:
        table = as_table(data)
    except DuplicateError:
        frame = cast(Any, data)
        twice = repeated(list(getattr(frame, "column_names", None) or frame.columns))
        raise PointsError(f"several columns are called {shown(twice)}: rename them") from None
    if table is None:
        return None
    nameless = [name for name in table.columns if not isinstance(name, str)]
    if nameless:
        raise PointsError(
            f"column names must be text, and {shown(nameless)} is none: rename with "
            "frame.columns = frame.columns.astype(str), or give frame.to_numpy()"
        )
    if table.implementation.is_pyarrow():
        _refuse_untakeable(table.to_native())
    return table


def _refuse_untakeable(table: Any) -> None:
    """Refuse arrow's types of which arrow itself can take no rows, such as views of texts."""
    import pyarrow as pa

    nowhere = pa.array([], type=pa.int64())
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.take(nowhere)
        except pa.ArrowNotImplementedError:
            raise PointsError(
                f"column {shown([name])} holds {column.type}, of which arrow takes no rows: cast "
                "it to a plain type, such as pyarrow.string(), or leave it out"
            ) from None


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
    numeric = [name for name in table.columns if dense(table[name]).dtype.is_numeric()]
    # A step along a number that merely names a row is a step to nowhere.
    names = tuple(name for name in numeric if not (is_index(name) or is_id(name)))
    still = tuple(name for name in table.columns if name not in names)
    return Region(kind, table, numbers_of(table, names), names, still)


def _moving_only(region: Region, moving: list[str]) -> Region:
    # A grid's columns may have names of their own, which its array does not know.
    offered = region.columns if not region.still else region.names
    unknown = [name for name in moving if name not in offered]
    if unknown:
        raise SettingsError(f"cannot move {shown(unknown)}: the columns are {shown(offered)}")
    return replace(region.along([name for name in offered if name in moving]), settled=True)
