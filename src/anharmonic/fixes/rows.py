"""Rows of any kind with their labels: some of them, and several below one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from anharmonic._core.arrays import to_numpy
from anharmonic._core.columns import shown
from anharmonic._core.frames import as_table, is_missing
from anharmonic._core.protocols import Array, Integers
from anharmonic.errors import InputError, PointsError
from anharmonic.regions import unmoved

__all__ = ["Data", "stack_rows", "take_rows", "with_columns_of"]


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of any kind, and a label for each, (rows,).

    `keys`, where they are known, are equal for copies of a row, (rows,).
    """

    rows: Any
    labels: Array
    keys: Integers | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Integers) -> Data:
        """Some of the rows."""
        keys = None if self.keys is None else self.keys[indices]
        return Data(take_rows(self.rows, indices), self.labels[indices], keys)

    def joined(self, other: Data) -> Data:
        """Both below one another."""
        rows = stack_rows([self.rows, other.rows])
        return Data(rows, np.concatenate([self.labels, other.labels]))

    @classmethod
    def of(cls, rows: object, labels: object, what: str) -> Data:
        """Rows and labels, checked; `what` they are is for the error."""
        given = np.asarray(to_numpy(labels)).reshape(-1)
        count = len(unmoved(rows))
        if len(given) != count:
            raise InputError(
                f"the {what} has {count:,} rows and {len(given):,} labels: give one per row"
            )
        missing = [is_missing(label) for label in given.tolist()]
        if any(missing):
            raise InputError(
                f"{sum(missing):,} labels of the {what} are missing: leave these rows out, or give "
                "them as pool="
            )
        return cls(rows, given)


def take_rows(rows: Any, indices: Integers) -> Any:
    """Some rows of a table, an array or a sparse matrix, in the form they came in."""
    if sparse.issparse(rows):
        # Not every form of a sparse matrix has rows to take; compressed rows have.
        return rows.tocsr()[indices]
    table = as_table(rows)
    if table is None:
        return np.asarray(to_numpy(rows))[indices]
    return nw.to_native(nw.maybe_reset_index(table[indices.tolist()]))


def with_columns_of(reference: object, rows: Any, what: str) -> Any:
    """Rows of a table with the reference's columns alone, in its order; arrays as they are.

    `what` the rows are is for the error.
    """
    wanted, table = as_table(reference), as_table(rows)
    if wanted is None or table is None or table.columns == wanted.columns:
        return rows
    missing = [name for name in wanted.columns if name not in table.columns]
    if missing:
        raise PointsError(
            f"the {what} has no column {shown(missing)}, which the reference has: give it the "
            "reference's columns"
        )
    return nw.to_native(table.select(wanted.columns))


def stack_rows(parts: Sequence[Any]) -> Any:
    """Tables, arrays or sparse matrices below one another, in the form they came in."""
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
    tables = [as_table(part) for part in parts]
    if all(table is not None for table in tables):
        return nw.to_native(nw.concat([table for table in tables if table is not None]))
    return np.concatenate([np.asarray(to_numpy(part)) for part in parts])
