"""Real traffic in a random order, so that nothing changes in it: how often a monitor alarms.

    python -m benchmarks.shuffled FOLDER [--orders 200]

FOLDER holds electricity.csv and tables/. Each order is a new reference and new traffic of rows
that the model was not trained on, all default channels watched. Bar: alarms within the bound.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import anharmonic as ah
from anharmonic._core.statistics import Rate
from anharmonic.errors import PointsError

TRAINED, REFERENCE, ROWS, RATE = 6_000, 2_000, 4_000, 40_000
DIRECTIONS = 4


def read(folder: Path) -> dict[str, tuple[pd.DataFrame, Any, bool]]:
    """Tables, what is predicted, and whether that is a class."""
    electricity = pd.read_csv(folder / "electricity.csv")
    air = pd.read_csv(folder / "tables" / "beijing_air.csv").dropna(subset=["pm2.5"])
    adult = pd.read_csv(folder / "tables" / "adult.csv")
    return {
        "electricity": (electricity.drop(columns="class"), electricity["class"], True),
        "beijing air": (air.drop(columns=["pm2.5", "No"], errors="ignore"), air["pm2.5"], False),
        "adult": (adult.iloc[:, :-1], adult.iloc[:, -1], True),
    }


def fitted(table: pd.DataFrame, answers: Any, classes: bool) -> Any:
    """Boosted trees on the table as it is."""
    words = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    code = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    coded = make_column_transformer((code, words), remainder="passthrough")
    return make_pipeline(coded, model(max_iter=50, random_state=0)).fit(table, answers)


def main() -> int:
    """Print the table; 1 where the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--orders", type=int, default=200)
    given = parser.parse_args()
    bound, good = ROWS / RATE, True
    print(f"alarms of all channels in {ROWS:,} rows in which nothing changes, bound {bound:.0%}")
    for name, (table, answers, classes) in read(given.folder).items():
        order = np.random.default_rng(0).permutation(len(table))
        model = fitted(table.iloc[order[:TRAINED]], answers.iloc[order[:TRAINED]], classes)
        others = order[TRAINED:]
        alarms, refused, channels, begun = 0, 0, dict[str, int](), time.perf_counter()
        for seed in range(given.orders):
            rows = np.random.default_rng((seed, 13)).permutation(others)
            quiet = table.iloc[rows[:REFERENCE]].reset_index(drop=True)
            stop = REFERENCE + ROWS
            traffic = table.iloc[rows[REFERENCE:stop]].reset_index(drop=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    watch = ah.Monitor(model, quiet, false_alarms=RATE, directions=DIRECTIONS)
                except PointsError:
                    refused += 1
                    continue
            found = watch.update(traffic).alarms
            alarms += bool(found)
            for alarm in found:
                channels[alarm.watched] = channels.get(alarm.watched, 0) + 1
        rate = Rate.of(alarms, given.orders - refused)
        good = good and rate.value <= bound
        seconds = (time.perf_counter() - begun) / given.orders
        print(
            f"  {name:12} {rate}, by channel {channels}, {refused} refused, {seconds:.1f} s each",
            flush=True,
        )
    print(f"bar: at most {bound:.0%} on each: {'met' if good else 'MISSED'}")
    return int(not good)


if __name__ == "__main__":
    raise SystemExit(main())
