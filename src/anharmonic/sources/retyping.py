"""What text files of all kinds share when they are read block by block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["BLOCK", "ROW", "SHOWN", "SOME", "Kinds", "Retyped"]

ROW = "__row"
"""The column of a staged file that holds the numbers its rows had."""
BLOCK = 1 << 24
"""Bytes that are parsed at once."""
SOME = 0.01
"""The share of a block's cells that may be unlike their column; beyond, its type is wrong."""
SHOWN = 80
"""Characters of a line or a cell that are shown."""

Kinds = dict[str, Any]
"""Arrow's types of columns, by their names."""


class Retyped(Exception):
    """Columns have other types than earlier blocks said: read the file again with these."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        super().__init__(", ".join(kinds))
        self.kinds = dict(kinds)
