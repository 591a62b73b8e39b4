"""Rows of a source with what they are called, and rows that cannot be measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Integers
from anharmonic.sources.identity import plain_key

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Aside", "Rows", "Shard"]


class Shard(NamedTuple):
    """A run of one file's rows.

    Parameters
    ----------
    file
        The file's place among the sorted names.
    start, stop
        Its first row, and the one after its last.
    """

    file: int
    start: int
    stop: int

    @property
    def name(self) -> str:
        """As files of results are called: they sort as the rows do."""
        return f"{self.file:06d}-{self.start:012d}"


class Aside(NamedTuple):
    """Rows that were set aside, and why.

    Parameters
    ----------
    file, row
        Where the first of them is.
    rows
        How many; None where nobody knows.
    reason
        In words.
    key
        Of the row, where the source has keys.
    """

    file: str
    row: int
    rows: int | None
    reason: str
    key: str | None = None


@dataclass(frozen=True)
class Rows:
    """Some rows of one file.

    Parameters
    ----------
    table
        The columns that are measured.
    file
        The file's name.
    numbers, addresses : (rows,)
        Their numbers in the file, and those that their randomness depends on.
    keys
        An arrow array of their keys, where the source has any.
    """

    table: pa.Table
    file: str
    numbers: Integers
    addresses: Integers
    keys: Any = None

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, wanted: Integers | NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        chosen = np.flatnonzero(wanted) if wanted.dtype == bool else wanted
        if len(chosen) == len(self) and (np.diff(chosen) == 1).all():
            return self
        return replace(
            self,
            table=self.table.take(chosen),
            numbers=self.numbers[chosen],
            addresses=self.addresses[chosen],
            keys=None if self.keys is None else self.keys.take(chosen),
        )

    def set_aside(self, wanted: Integers | NDArray[np.bool_], reason: str) -> list[Aside]:
        """Some of the rows as ones that cannot be measured."""
        chosen = np.flatnonzero(wanted) if wanted.dtype == bool else wanted
        return [
            Aside(self.file, int(self.numbers[row]), 1, reason, self._key_in_words(row))
            for row in chosen.tolist()
        ]

    def _key_in_words(self, row: int) -> str | None:
        key = None if self.keys is None else plain_key(self.keys[row].as_py())
        return None if key is None else str(key)
