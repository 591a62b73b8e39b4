"""One row, whatever it came as: an array, a tensor, a table, a row of one, a mapping or a text."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any, TypeGuard

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core import tables
from anharmonic._core.frames import Table, assemble, column_like, is_missing, unwrapped
from anharmonic._core.protocols import Array
from anharmonic.errors import PointsError
from anharmonic.regions import Region, as_region
from anharmonic.regions.forms import is_texts

__all__ = ["one_row"]


def one_row(point: Array, reference: object = None) -> Region:
    """The only row of a region; one with names becomes a table like the reference."""
    if isinstance(point, Region):
        return _only(point)
    if isinstance(point, str):
        return _only(as_region([point]))
    if reference is not None and is_texts(reference) and is_texts(point):
        return _only(as_region(point))
    if _has_names(point):
        return _only(as_region(_as_table(dict(point.items()), reference)))
    if not hasattr(point, "ndim") and isinstance(point, list | tuple):
        point = np.asarray(point)
    if getattr(point, "ndim", None) == 1:
        point = (point.to_numpy() if hasattr(point, "to_numpy") else point)[None, ...]
    return _only(as_region(point))


def _only(region: Region) -> Region:
    """The region, which must be one row."""
    if len(region) != 1:
        raise PointsError(
            f"explain takes one point and got {len(region):,}: give a row, such as X[17:18]"
        )
    return region


def _has_names(point: Array) -> TypeGuard[Mapping[str, object]]:
    """Whether a row knows its columns by name: a dictionary, or a pandas Series from a table."""
    keyed = isinstance(point, Mapping) or (
        getattr(point, "ndim", None) == 1 and hasattr(point, "items")
    )
    return keyed and all(isinstance(name, str) for name in point.keys())  # noqa: SIM118


def _as_table(cells: dict[str, object], reference: object) -> Any:
    """A table of one row, in the reference's library and types where that is a table."""
    data = reference.source if isinstance(reference, Region) else reference
    like = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(like, nw.DataFrame):
        columns = {name: [cell] for name, cell in cells.items()}
        return tables.frame(tables.arrow(columns, {}))
    missing = [name for name in like.columns if name not in cells]
    if missing:
        raise PointsError(
            f"the row has no {', '.join(missing[:5])}, which the reference has: give every column"
        )
    typed = {
        name: _typed(name, cell, like[name].head(0) if name in like.columns else None, like)
        for name, cell in cells.items()
    }
    return assemble(typed, list(typed), like)


def _typed(name: str, cell: object, column: nw.Series | None, table: Table) -> Array:
    """A cell as a column of the reference's type; of its own where that cannot hold it.

    A row taken out of a table loses its columns' types: all become floats, or objects.
    """
    if column is not None:
        try:
            made = column_like(column, [cell])
        except Exception:  # libraries refuse cells in ways of their own
            made = None
        if made is not None and _holds(made.to_list()[0], cell):
            return unwrapped(made)
    return unwrapped(nw.new_series(name, [cell], backend=table.implementation))


def _holds(made: object, cell: object) -> bool:
    """Whether a cell was not rounded or lost on its way into a column."""
    return is_missing(made) == is_missing(cell) and (
        is_missing(cell) or not isinstance(cell, Number) or bool(made == cell)
    )
