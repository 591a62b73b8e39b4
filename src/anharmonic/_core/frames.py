"""Tables of any library (pandas, polars, pyarrow …) seen alike."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

__all__ = ["Table", "as_table"]

Table = nw.DataFrame[Any]
"""A table of any library, as narwhals wraps it."""


def as_table(data: object) -> Table | None:
    """A table as narwhals sees it; None for arrays, lists and whatever else is no table."""
    if isinstance(data, np.ndarray):
        # Asking narwhals takes longer than scoring a row.
        return None
    table = nw.from_native(data, eager_only=True, pass_through=True)
    return table if isinstance(table, nw.DataFrame) else None
