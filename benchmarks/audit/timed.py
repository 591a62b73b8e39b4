"""How long the command takes for a boosted model on a real table, and how large its page is.

    python -m benchmarks.audit.timed --data FOLDER [--repeats 3] [--keep FOLDER]

FOLDER holds adult.csv: categories, missing cells, labels on both sides. A LightGBM of 200 trees is
fitted to two thirds of it and saved; `anharmonic audit` then starts from the files, so that its
own start, the quick models and the page are in the time. Bars: 60 seconds on two cores, 3 MB.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import skops.io
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

SECONDS, BYTES = 60.0, 3_000_000
REFERENCE = 11_000


def prepare(data: Path, folder: Path) -> None:
    """The model and the two tables that the command is given."""
    table = pd.read_csv(data / "adult.csv").sample(frac=1, random_state=0)
    reference, new = table[:REFERENCE], table[REFERENCE:]
    rows = reference.drop(columns="income")
    categories = list(rows.select_dtypes(exclude="number"))
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(
        make_column_transformer((encoder, categories), remainder="passthrough"),
        LGBMClassifier(n_estimators=200, random_state=0, verbose=-1),
    )
    model.set_output(transform="pandas").fit(rows, reference["income"])
    skops.io.dump(model, folder / "model.skops")
    reference.to_csv(folder / "reference.csv", index=False)
    new.to_csv(folder / "new.csv", index=False)


def run(folder: Path) -> tuple[float, str]:
    """Seconds on the clock of one audit, and what it said."""
    command = [
        *(sys.executable, "-m", "anharmonic", "audit", "model.skops", "--trust"),
        *("--data", "new.csv", "--reference", "reference.csv", "--labels", "income"),
        *("--out", "audit.html"),
    ]
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    seconds = time.perf_counter() - begun
    if done.returncode not in (0, 100):
        raise SystemExit(done.stdout + done.stderr)
    return seconds, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a folder for the model, the tables and the page")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        prepare(given.data, folder)
        load = os.getloadavg()[0]
        runs = [run(folder) for _ in range(given.repeats)]
        size = (folder / "audit.html").stat().st_size
    print(runs[-1][1])
    times = [seconds for seconds, _ in runs]
    middle = statistics.median(times)
    print(
        f"{middle:.0f} s ({min(times):.0f}–{max(times):.0f}, {len(times)} runs), bar {SECONDS:.0f}"
        f" s; a page of {size:,} bytes, bar {BYTES:,}; load {load:.1f} before"
    )
    return 0 if middle <= SECONDS and size <= BYTES else 1


if __name__ == "__main__":
    raise SystemExit(main())
