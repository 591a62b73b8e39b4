"""Results as tables: arrow, data frames, and Parquet files that say what they hold."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Array
from anharmonic.errors import InputError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

__all__ = [
    *("Backend", "arrow", "as_column", "column", "facts", "facts_of", "frame", "held_by"),
    *("load", "save"),
]

FORMAT = 1
Backend = Literal["pandas", "polars", "pyarrow"]
UNITS = ("D", "s", "ms", "us", "ns")
"""Of times, those that arrow has."""

Facts = dict[str, Any]
"""What a file says of its table, as JSON in the schema's metadata."""


def arrow(columns: Mapping[str, Array | pa.Array], about: Mapping[str, object]) -> pa.Table:
    """A pyarrow Table of arrays (rows,) or (rows, width), or arrow's own, with facts beside it."""
    import pyarrow as pa

    arrays = {name: as_column(array) for name, array in columns.items()}
    facts = json.dumps({"format": FORMAT, **about})
    return pa.table(arrays).replace_schema_metadata({"anharmonic": facts})


def frame(
    table: pa.Table, backend: Backend | None = None
) -> pandas.DataFrame | polars.DataFrame | pa.Table:
    """The table as the first installed of pandas, polars and pyarrow, or as `backend` says."""
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


def write_for_people(table: pa.Table, path: str | os.PathLike[str]) -> Path:
    """Write a table that somebody will open elsewhere: as .csv, or as parquet by any other name."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    with whole_file(path) as temporary:
        if Path(path).suffix == ".csv":
            pyarrow.csv.write_csv(table, temporary)
        else:
            pq.write_table(table, temporary)
    return Path(path)


def save(table: pa.Table, path: str | os.PathLike[str]) -> Path:
    """Write Parquet, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Measured numbers hardly repeat: a dictionary of them takes four times as long and is larger.
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


def load(path: str | os.PathLike[str], what: str, writer: str) -> tuple[pa.Table, Facts]:
    """Read the table and the facts that `save` wrote.

    `what` the file should hold and the `writer` of such files are for the messages.
    """
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


def facts_of(path: str | os.PathLike[str]) -> Facts | None:
    """The facts alone, without reading the table; None where the file is not one of ours."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = json.loads((pq.read_schema(path).metadata or {})[b"anharmonic"])
    except (OSError, pa.ArrowInvalid, KeyError, ValueError):
        return None
    return about if isinstance(about, dict) else None


def column(table: pa.Table, name: str) -> Array:
    """A column as it was before it became arrow's: (rows,) or (rows, width)."""
    import pyarrow as pa

    values = table[name]
    if pa.types.is_fixed_size_list(values.type):
        flat = values.combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return np.asarray(flat).reshape(len(values), values.type.list_size)
    return np.array(values.to_numpy())


def as_column(array: Array | pa.Array) -> pa.Array:
    """An array (rows,) or (rows, width) as arrow's own; what is arrow's already stays."""
    import pyarrow as pa

    kind = getattr(array, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "M" and np.datetime_data(kind)[0] not in UNITS:
        # Hours, weeks and months are numpy's alone.
        array = array.astype("M8[s]")
    return _list_column(array) if np.ndim(array) == 2 else pa.array(array)


def _list_column(matrix: Array) -> pa.Array:
    """A matrix (rows, width) as a column of lists, each `width` long."""
    import pyarrow as pa

    if not matrix.shape[1]:
        return pa.array([[]] * len(matrix), pa.list_(pa.from_numpy_dtype(matrix.dtype), 0))
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
