"""Generated rows and models that these benchmarks share."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anharmonic._core.protocols import Array, Floats

FEATURES = 10
PER_FILE = 1_000_000
GROUP = 100_000
NAMES = [f"f{number}" for number in range(FEATURES)]


def generate(folder: Path, rows: int) -> Path:
    """Parquet files of normal numbers, a million rows each; what is there already stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, rows, PER_FILE):
        path = folder / f"part-{start // PER_FILE:04d}.parquet"
        count = min(PER_FILE, rows - start)
        if path.exists() and pq.read_metadata(path).num_rows == count:
            continue
        x = np.random.default_rng(start).normal(size=(count, FEATURES))
        table = pa.table({name: x[:, at] for at, name in enumerate(NAMES)})
        pq.write_table(table, path, row_group_size=GROUP)
    return folder


def cheap(rows: Array) -> Floats:
    """A model that costs next to nothing: what remains is our own work."""
    x = np.asarray(rows)
    return np.asarray(x[:, 0] * x[:, 1] + np.abs(x[:, 2]))


def slow(rows: Array) -> Floats:
    """The same, slowly enough to be killed on the way; no row depends on those beside it."""
    time.sleep(0.02)
    return cheap(rows)


def training_rows(seed: int = 0) -> tuple[Any, Array]:
    """A frame and labels for models to be fitted to."""
    import pandas as pd

    x = np.random.default_rng(seed).normal(size=(4000, FEATURES))
    labels = (np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] > 0).astype(int)
    return pd.DataFrame(x, columns=NAMES), labels


def boosted(trees: int = 100) -> Any:
    """A LightGBM classifier that uses one core."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=trees, n_jobs=1, verbose=-1).fit(*training_rows())
