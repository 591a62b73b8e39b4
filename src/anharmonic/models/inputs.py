"""What a model takes: which columns of a table, where it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.stable.v1.dtypes import DType

from anharmonic._core.columns import is_id, is_index, shown
from anharmonic._core.frames import Table, as_table
from anharmonic._core.protocols import Array
from anharmonic.errors import PointsError

__all__ = ["Inputs", "inputs_of"]

Columns = str | slice | Sequence[str] | Sequence[int] | Sequence[bool]
"""Columns as scikit-learn's transformers keep them."""


@dataclass(frozen=True)
class Inputs:
    """The columns that a model takes.

    Parameters
    ----------
    names
        In the order the model takes them; empty where it does not know them.
    width
        How many it takes, where it knows no names.
    unread
        Names that it takes and does not look at, such as those a `ColumnTransformer` drops.
    """

    names: tuple[str, ...] = ()
    width: int | None = None
    unread: frozenset[str] = frozenset()

    def columns(self, table: Table) -> list[str]:
        """The columns of a table that the model takes, in the order it takes them."""
        # LightGBM keeps names without their spaces.
        column = {str(name).replace(" ", "_"): name for name in table.columns}
        column |= {name: name for name in table.columns}
        present = [column[name] for name in self.names if name in column]
        missing = [name for name in self.names if not (name in column or name in self.unread)]
        if self.names and not missing:
            return present
        if present:
            raise PointsError(
                f"the model reads {shown(missing)}, and the points have no such column: "
                f"there are {shown(table.columns)}"
            )
        # Fitted without names, or with quite other ones: by position.
        return self._by_position(table)

    def read(self, table: Table) -> list[str]:
        """The columns of a table that bear on the model's outputs."""
        return [name for name in self.columns(table) if name not in self.unread]

    def taken(self, points: Array) -> Array:
        """Points without what the model does not take; arrays as they are."""
        table = as_table(points)
        if table is None:
            return points
        wanted = self.columns(table)
        return points if wanted == table.columns else table.select(wanted).to_native()

    def _by_position(self, table: Table) -> list[str]:
        width = self.width or len(self.names)
        if width == len(table.columns):
            return list(table.columns)
        numbers = [name for name in table.columns if _is_number(table[name].dtype)]
        features = [name for name in numbers if not (is_index(name) or is_id(name))]
        for columns in (features, numbers):
            if len(columns) == width:
                return columns
        raise PointsError(
            f"the model takes {width} columns, it does not know their names, and the points have "
            f"{len(table.columns)} ({shown(table.columns)}): give just those, with --columns or "
            "--drop on the command line"
        )


def _is_number(dtype: DType) -> bool:
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def inputs_of(estimator: object) -> Inputs | None:
    """What an estimator with scikit-learn's conventions was fitted to, None if it does not say."""
    try:
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            names = getattr(estimator, "feature_names_", None)  # CatBoost
        if names is not None and len(names):
            named = tuple(str(name) for name in names)
            return Inputs(named, unread=_dropped(estimator, named))
        width = getattr(estimator, "n_features_in_", None)
        return Inputs(width=int(width)) if isinstance(width, int | np.integer) else None
    except Exception:  # anybody's estimator may keep anything under these names
        return None


def _dropped(estimator: object, names: tuple[str, ...]) -> frozenset[str]:
    """Names that the column transformers an estimator begins with do not look at."""
    inner = getattr(estimator, "best_estimator_", None)
    if inner is None and getattr(estimator, "steps", None):
        # Later steps see what the first one made; one that passes everything on makes nothing.
        steps: Sequence[tuple[str, object]] = getattr(estimator, "steps", ())
        inner = next((part for _, part in steps if part not in (None, "passthrough")), None)
    if inner is not None:
        return _dropped(inner, names)
    transformers = getattr(estimator, "transformers_", None)
    if not transformers:
        return frozenset()
    read: set[str] = set()
    for _, part, columns in transformers:
        if not (isinstance(part, str) and part == "drop"):
            read.update(_named(columns, names))
    return frozenset(names) - read


def _named(columns: Columns, names: tuple[str, ...]) -> list[str]:
    """Columns as a transformer keeps them: names, numbers, a slice or a mask."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, slice) and isinstance(columns.start or columns.stop, str):
        start = 0 if columns.start is None else names.index(columns.start)
        stop = len(names) if columns.stop is None else names.index(columns.stop) + 1
        return list(names[start:stop])
    if not isinstance(columns, slice) and len(columns) and isinstance(columns[0], str):
        return [str(name) for name in columns]
    picked = columns if isinstance(columns, slice) else np.asarray(columns)
    if isinstance(picked, np.ndarray) and not picked.size:
        return []
    return [str(name) for name in np.atleast_1d(np.asarray(names, dtype=object)[picked])]
