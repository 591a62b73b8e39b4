"""Copies within a reference, on tables that nothing about copies was chosen on.

`python -m benchmarks.audit.copies` copies a tenth of the reference rows of each table, cut anew for
each seed, and counts how often chance explains the kinds of rows that lie in the reference alone
with less than 0.001, with copies and without. Eight columns of each table, so that rows have twins
by nature.
"""

from __future__ import annotations

import tarfile

import numpy as np
import pandas as pd

from anharmonic._core.statistics import Rate
from anharmonic.auditing.checks.duplicates import _one_sided
from benchmarks.audit.sets import _package_file

TABLES = (
    *("Ecdat/Benefits", "Ecdat/Males", "car/Chile", "Ecdat/Participation", "Ecdat/HI"),
    *("car/Womenlf", "MASS/housing", "Ecdat/Doctor", "Ecdat/BudgetFood", "datasets/esoph"),
    *("vcd/Arthritis", "Ecdat/Car"),
)
ROWS, COLUMNS, SEEDS, SURE = 3_000, 8, 40, 0.001


def kinds_of(path: str) -> np.ndarray:
    """Which rows of a table are alike, as the number of their kind, (rows,)."""
    with tarfile.open(_package_file("pydataset", "resources.tar.gz")) as archive:
        member = archive.extractfile(f"resources/rdata/csv/{path}.csv")
        assert member is not None
        table = pd.read_csv(member, index_col=0).iloc[:, :COLUMNS]
    codes = np.stack([pd.factorize(table[name])[0] for name in table], axis=1)
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)


def found(kinds: np.ndarray, copied: bool, seed: int) -> bool:
    """Whether chance is ruled out, with a tenth of the reference copied or as it is."""
    random = np.random.default_rng(seed)
    rows = kinds[random.permutation(len(kinds))[:ROWS]]
    known, new = np.split(rows, [2 * len(rows) // 3])
    if copied:
        again = random.choice(len(known), len(known) // 10, replace=False)
        known = np.concatenate([known, known[again]])
    return _one_sided(known, new)[0] < SURE


def main() -> None:
    """Print a line for each table."""
    hits = np.zeros(2, dtype=int)
    for path in TABLES:
        kinds = kinds_of(path)
        counts = [
            sum(found(kinds, copied, seed) for seed in range(SEEDS)) for copied in (True, False)
        ]
        hits += counts
        print(f"{path:22s} found in {counts[0]:2d} of {SEEDS}, falsely in {counts[1]}", flush=True)
    share, false = (Rate.of(int(count), SEEDS * len(TABLES)) for count in hits)
    print(f"all: {share}, falsely {false}")


if __name__ == "__main__":
    main()
