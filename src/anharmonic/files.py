"""Data in, results out: read what people keep tables in, write whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic.errors import InputError

__all__ = ["read_data", "whole_file"]

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
        _settle(temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _settle(path: str) -> None:
    """Have the file on the disk before its name is: after a power failure it is whole or not."""
    written = os.open(path, os.O_RDWR)
    try:
        os.fsync(written)
    finally:
        os.close(written)


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
