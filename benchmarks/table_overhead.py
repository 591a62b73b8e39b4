"""What gamma costs in a table beyond the pipeline's own calls.

    python -m benchmarks.table_overhead FOLDER

FOLDER holds adult.csv. Each pipeline is asked for the same rows once by `gamma` and once bare: the
same frames in the same calls, taking turns. The ratio's median and spread over repetitions are
printed, and how much memory grew. Bar: at most 1.15.

Beside it stands what the least of all neighbourhoods would cost: the same number of rows, in the
same calls, taken from the reference at random by pandas alone. Nobody who hands frames to a
pipeline pays less, so that where this alone passes the bar, no code of ours can hold it.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import anharmonic as ah
from studies.tables.sets import read_table

BAR = 1.15
POINTS, REPETITIONS = 4000, 5


class Recorder:
    """A pipeline's probabilities, and the frames that it was asked for."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        self.frames: list[Any] = []

    def __call__(self, frame: Any) -> Any:
        self.frames.append(frame)
        return self.pipeline.predict_proba(frame)


def pipelines(frame: pd.DataFrame) -> dict[str, Any]:
    """Pipelines that take the frame as it is."""
    numeric = list(frame.select_dtypes("number").columns)
    others = [name for name in frame.columns if name not in numeric]
    one_hot = OneHotEncoder(handle_unknown="ignore")
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return {
        "one-hot, logistic": make_pipeline(
            ColumnTransformer([("n", numbers, numeric), ("c", one_hot, others)]),
            LogisticRegression(max_iter=300),
        ),
        "ordinal, boosted": make_pipeline(
            ColumnTransformer([("c", ordinal, others)], remainder="passthrough"),
            HistGradientBoostingClassifier(random_state=0),
        ),
        "one-hot, network": make_pipeline(
            ColumnTransformer([("n", numbers, numeric), ("c", one_hot, others)]),
            MLPClassifier((128, 128), max_iter=15, random_state=0),
        ),
        "one-hot, forest": make_pipeline(
            ColumnTransformer([("n", numbers, numeric), ("c", one_hot, others)]),
            RandomForestClassifier(100, random_state=0, n_jobs=1),
        ),
        "one-hot, forest of 300": make_pipeline(
            ColumnTransformer([("n", numbers, numeric), ("c", one_hot, others)]),
            RandomForestClassifier(300, random_state=0, n_jobs=1),
        ),
    }


def main() -> int:
    """Print the table; 1 where the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    frame, answers = read_table("adult", given.folder)
    train, points = frame[:8000], frame[8000 : 8000 + POINTS].reset_index(drop=True)
    missed, rng = 0, np.random.default_rng(0)
    for name, pipeline in pipelines(train).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipeline.fit(train, answers[:8000])
        # Warm: the first run pays for imports and first calls.
        scores = ah.gamma(Recorder(pipeline), points, reference=train)
        ratios, floors, before = [], [], psutil.Process().memory_info().rss
        for _ in range(REPETITIONS):
            recorder = Recorder(pipeline)
            begun = time.perf_counter()
            ah.gamma(recorder, points, reference=train)
            whole = time.perf_counter() - begun
            begun = time.perf_counter()
            for asked in recorder.frames:
                pipeline.predict_proba(asked)
            bare = time.perf_counter() - begun
            ratios.append(whole / bare)
            begun = time.perf_counter()
            for asked in recorder.frames:
                _ = train.take(rng.integers(len(train), size=len(asked)))
            floors.append(1 + (time.perf_counter() - begun) / bare)
        grown = (psutil.Process().memory_info().rss - before) / 1e6
        print(
            f"{name:20} {np.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}), "
            f"pandas alone {np.median(floors):.3f}, "
            f"{scores.queries:,} queries, {bare / scores.queries * 1e6:.1f} µs per bare row, "
            f"memory grew by {grown:.0f} MB",
            flush=True,
        )
        missed += float(np.median(ratios)) > BAR
    print(f"bar: at most {BAR}; {missed} pipelines above it")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
