"""What text files of all kinds share when they are read block by block."""

from __future__ import annotations

from typing import Any

__all__ = ["BLOCK", "ROW", "SHOWN", "SOME", "Retyped"]

ROW = "__row"
"""The column of a staged file that holds the numbers its rows had."""
BLOCK = 1 << 24
"""Bytes that are parsed at once."""
SOME = 0.01
"""The share of a block's cells that may be unlike their column; beyond, its type is wrong."""
SHOWN = 80
"""Characters of a line or a cell that are shown."""


class Retyped(Exception):
    """A column has another type than its first block said: read the file again with this one."""

    def __init__(self, column: str, kind: Any) -> None:
        super().__init__(column)
        self.column, self.kind = column, kind
