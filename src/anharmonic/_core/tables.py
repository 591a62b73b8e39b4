"""Results as tables: arrow, data frames, and Parquet files that say what they hold."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic.errors import InputError

__all__ = [
    *("Backend", "arrow", "as_column", "column", "facts", "facts_of", "frame", "held_by"),
    *("load", "save"),
]

FORMAT = 1
Backend = Literal["pandas", "polars", "pyarrow"]


def arrow(columns: dict[str, Any], about: dict[str, Any]) -> Any:
    """A pyarrow Table of arrays (rows,) or (rows, width), or arrow's own, with facts beside it."""
    import pyarrow as pa

    arrays = {name: as_column(array) for name, array in columns.items()}
    facts = json.dumps({"format": FORMAT, **about})
    return pa.table(arrays).replace_schema_metadata({"anharmonic": facts})


def frame(table: Any, backend: Backend | None = None) -> Any:
    """The table as the first installed of pandas, polars and pyarrow, or as told."""
    chosen = backend or next((name for name in ("pandas", "polars") if find_spec(name)), "pyarrow")
    if chosen == "pandas":
        return table.to_pandas()
    if chosen == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def facts(cells: Mapping[str, object]) -> str:
    """Names and what they are, as an HTML table for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td>{html.escape(str(cell))}</td></tr>"
        for name, cell in cells.items()
    )
    return f"<table>{rows}</table>"


def save(table: Any, path: str | os.PathLike[str]) -> Path:
    """Write Parquet, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Measured numbers hardly repeat: a dictionary of them takes four times as long and more room.
    repeating = [
        field.name
        for field in table.schema
        if pa.types.is_integer(field.type) or pa.types.is_string(field.type)
    ]
    with whole_file(path) as temporary:
        pq.write_table(table, temporary, use_dictionary=repeating)
    return Path(path)


def held_by(path: str | os.PathLike[str]) -> str | None:
    """What kind of result a file holds; None for one that `save` did not write."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = json.loads((pq.read_schema(path).metadata or {})[b"anharmonic"])
    except (OSError, pa.ArrowInvalid, KeyError, ValueError):
        return None
    return str(about.get("holds", "scores"))


def load(path: str | os.PathLike[str], what: str, writer: str) -> tuple[Any, dict[str, Any]]:
    """The table and the facts that `save` wrote; `what` it should hold and who writes such."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not Path(path).is_file():
        raise InputError(f"there is no file {path}: give one written by {writer}")
    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[b"anharmonic"])
        held = about.get("holds", "scores")
    except (OSError, pa.ArrowInvalid, KeyError, ValueError, AttributeError) as problem:
        raise InputError(f"{path} holds no {what}: give a file written by {writer}") from problem
    if about["format"] > FORMAT:
        raise InputError(f"{path} was written by a newer version: upgrade anharmonic")
    if held != what:
        raise InputError(f"{path} holds {held}: give a file written by {writer}")
    return table, about


def facts_of(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The facts alone, without reading the table; None where the file is not one of ours."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = json.loads((pq.read_schema(path).metadata or {})[b"anharmonic"])
    except (OSError, pa.ArrowInvalid, KeyError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def column(table: Any, name: str) -> Any:
    """A column as it was before it became arrow's: (rows,) or (rows, width)."""
    import pyarrow as pa

    found = table[name]
    if pa.types.is_fixed_size_list(found.type):
        flat = found.combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return np.asarray(flat).reshape(len(found), found.type.list_size)
    return np.array(found.to_numpy())


def as_column(array: Any) -> Any:
    """An array (rows,) or (rows, width) as arrow's own; what is arrow's already stays."""
    import pyarrow as pa

    return _listed(array) if np.ndim(array) == 2 else pa.array(array)


def _listed(matrix: Any) -> Any:
    import pyarrow as pa

    if not matrix.shape[1]:
        return pa.array([[]] * len(matrix), pa.list_(pa.from_numpy_dtype(matrix.dtype), 0))
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
