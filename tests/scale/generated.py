"""Generated files and models that the tests of this folder share."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anharmonic._core.protocols import Array, Floats


def wavy(rows: Array) -> Floats:
    """Two outputs whose last digits do not depend on the rows they are asked for with."""
    x = np.asarray(rows, dtype=float)
    return np.stack([np.sin(3 * x[:, 0]) + x[:, 1] ** 2, x[:, 2] * x[:, 3]], axis=1)


def slow_wavy(rows: Array) -> Floats:
    """The same answers, so slowly that there is time to kill whoever gives them."""
    time.sleep(0.05)
    return wavy(rows)


def moody(rows: Array) -> Floats:
    """The same, but it raises near 3 in the first column and has no number near −3."""
    x = np.asarray(rows, dtype=float)
    if (x[:, 0] > 2.9).any():
        raise RuntimeError("no rows beyond 2.9")
    return np.where(x[:, :1] < -2.9, np.nan, wavy(rows))


def table(rows: int, seed: int = 0, **columns: Any) -> pa.Table:
    """Four features of normal numbers, and whatever else is told."""
    x = np.random.default_rng(seed).normal(size=(rows, 4))
    return pa.table({**{f"f{i}": x[:, i] for i in range(4)}, **columns})


def parquet_folder(
    path: Path, files: int = 3, rows: int = 1000, group: int = 400
) -> list[pa.Table]:
    """Parquet files with names that sort; what they hold."""
    path.mkdir(parents=True, exist_ok=True)
    tables = []
    for number in range(files):
        part = table(rows, number, id=np.arange(rows) + number * rows)
        pq.write_table(part, path / f"part-{number}.parquet", row_group_size=group)
        tables.append(part)
    return tables
