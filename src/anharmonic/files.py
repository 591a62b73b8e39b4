"""Data in, results out: read what people keep tables in, write whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from anharmonic.errors import InputError

__all__ = [
    "Backend",
    "described",
    "framed",
    "read_data",
    "read_scores",
    "whole_file",
    "write_scores",
]

Backend = Literal["pandas", "polars", "pyarrow"]
SUFFIXES = ".csv, .parquet, .npy or .npz"


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary name beside `path` that takes its place only if all goes well."""
    target = Path(path)
    temporary = str(target.with_name(f".{target.name}.{secrets.token_hex(8)}"))
    # Not by `tempfile`, whose files only their owner may read, and so would be the result.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read_data(path: str | os.PathLike[str]) -> Any:
    """A table (pandas where it is installed, else pyarrow) or an array, by the file's ending."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {file}: give {SUFFIXES}")
    try:
        if file.suffix in (".npy", ".npz"):
            return _array(file)
        if file.suffix in (".csv", ".parquet", ".pq"):
            return _table(file)
    except InputError:
        raise
    except (ValueError, OSError) as problem:
        raise InputError(f"{file} cannot be read as {file.suffix}: {problem}") from problem
    raise InputError(f"{file}: data come as {SUFFIXES}")


def _array(file: Path) -> Any:
    loaded = np.load(file, allow_pickle=False)
    if file.suffix == ".npy":
        return loaded
    if len(loaded.files) != 1:
        raise InputError(f"{file} holds {', '.join(loaded.files)}: save the points alone")
    return loaded[loaded.files[0]]


def _table(file: Path) -> Any:
    # pyarrow.ArrowInvalid is a ValueError, so the caller's net catches it.
    if file.suffix == ".csv":
        from pyarrow.csv import read_csv

        table = read_csv(file)
    else:
        from pyarrow.parquet import read_table

        table = read_table(file)
    return table.to_pandas() if find_spec("pandas") else table


def framed(table: Any, backend: Backend | None = None) -> Any:
    """A pyarrow Table as the first installed of pandas, polars and pyarrow, or as told."""
    chosen = backend or next((name for name in ("pandas", "polars") if find_spec(name)), "pyarrow")
    if chosen == "pandas":
        return table.to_pandas()
    if chosen == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def write_scores(table: Any, path: str | os.PathLike[str]) -> Path:
    """Write a described pyarrow Table as Parquet, whole or not at all."""
    import pyarrow.parquet as pq

    with whole_file(path) as temporary:
        pq.write_table(table, temporary)
    return Path(path)


def described(table: Any, about: dict[str, Any]) -> Any:
    """The table with what is to be known about it in its metadata."""
    return table.replace_schema_metadata({"anharmonic": json.dumps(about)})


def read_scores(
    path: str | os.PathLike[str], metric: str, newest: int
) -> tuple[Any, dict[str, Any]]:
    """What `write_scores` wrote, of the metric wanted and in a format that is known."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[b"anharmonic"])
    except (OSError, pa.ArrowInvalid, KeyError, ValueError) as problem:
        raise InputError(
            f"{path} holds no scores: give a file written by Scores.save or --out"
        ) from problem
    if (about["metric"] == "spade") != (metric == "spade"):
        raise InputError(f"{path} holds {about['metric']} scores, not {metric}: load it as those")
    if about["format"] > newest:
        raise InputError(f"{path} was written by a newer version: upgrade anharmonic")
    return table, about
