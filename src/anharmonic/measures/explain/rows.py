"""One row, whatever it came as: an array, a tensor, a table, a row of one, a mapping or a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic._core import tables
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
    columns = {name: [cell] for name, cell in cells.items()}
    if not isinstance(like, nw.DataFrame):
        return tables.frame(tables.arrow(columns, {}))
    missing = [name for name in like.columns if name not in cells]
    if missing:
        raise PointsError(
            f"the row has no {', '.join(missing[:5])}, which the reference has: give every column"
        )
    table = nw.from_dict(columns, backend=like.implementation)
    numeric = [name for name, kind in like.schema.items() if kind.is_numeric()]
    # A row taken out of a table loses its columns' types: all numbers become floats, or objects.
    return table.with_columns(nw.col(name).cast(like.schema[name]) for name in numeric).to_native()
