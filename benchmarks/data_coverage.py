"""Do 95% intervals of gamma over the data hold the truth, for a row and for the average?

The truth is what many data sets drawn alike give on average: 50 rows are in all of them, and the
other rows are drawn anew. `python -m benchmarks.data_coverage [sets]`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import anharmonic as ah
from anharmonic._core.protocols import Floats
from anharmonic.measures.over_data import Boosted, Forest, Neighbours

ROWS, FIXED, SETS, TRAINED = 400, 50, 100, 400
BAR = 0.93
WEIGHTS = {"forest": Forest(), "neighbours": Neighbours(), "boosted": Boosted()}


class Case(NamedTuple):
    """A model of a kind users have, asked for its answers."""

    name: str
    answer: Callable[[Floats], Floats]


def draw(random: np.random.Generator, rows: int) -> Floats:
    """Six features, of which one is a count and one a category's number."""
    values = random.normal(size=(rows, 6))
    values[:, 4] = random.poisson(2, rows)
    values[:, 5] = random.integers(0, 4, rows)
    return values


def target(values: Floats) -> Floats:
    return np.asarray(
        np.sin(2 * values[:, 0]) + values[:, 1] * (values[:, 5] == 1) + 0.3 * values[:, 4]
    )


def cases() -> Iterator[Case]:
    """Trees, neighbours and networks, as classifiers with noisy labels and as regressors."""
    from sklearn import ensemble, neighbors, neural_network, pipeline, preprocessing, tree

    random = np.random.default_rng(1)
    rows = draw(random, TRAINED)
    numbers = target(rows) + 0.3 * random.normal(size=TRAINED)
    labels = (target(rows) > 0.6).astype(int) ^ (random.random(TRAINED) < 0.1)
    scaled = pipeline.make_pipeline(
        preprocessing.StandardScaler(),
        neural_network.MLPClassifier((64, 64), max_iter=400, random_state=0),
    )
    models: dict[str, Any] = {
        "tree": tree.DecisionTreeClassifier(random_state=0),
        "forest": ensemble.RandomForestClassifier(random_state=0),
        "boosted trees": ensemble.HistGradientBoostingClassifier(random_state=0),
        "nearest row": neighbors.KNeighborsClassifier(1),
        "network": scaled,
    }
    for name, model in models.items():
        yield Case(name, model.fit(rows, labels).predict_proba)
    for name, model in {
        "tree, a number": tree.DecisionTreeRegressor(random_state=0),
        "boosted trees, a number": ensemble.HistGradientBoostingRegressor(random_state=0),
    }.items():
        yield Case(name, model.fit(rows, numbers).predict)
    yield Case("a smooth function", lambda values: np.tanh(values[:, :1] + values[:, 1:2]))


class Coverage(NamedTuple):
    """Shares of intervals that hold the truth, and the median half-width over the truth."""

    rows: float
    average: float
    width: float


def coverage(case: Case, weights: Any, sets: int) -> Coverage:
    """Over data sets that share fifty rows."""
    random = np.random.default_rng(0)
    fixed = draw(random, FIXED)
    signed, lows, highs, means, ends = [], [], [], [], []
    for number in range(sets):
        rows = np.concatenate([fixed, draw(random, ROWS - FIXED)])
        scores = ah.gamma_data(rows, case.answer(rows), weights=weights, seed=number)
        low, high = scores.intervals()
        signed.append(scores.signed[:FIXED].reshape(FIXED, -1))
        lows.append(low[:FIXED])
        highs.append(high[:FIXED])
        means.append(scores.mean)
        ends.append(scores.interval())
    truth = np.linalg.norm(np.mean(signed, axis=0), axis=-1)
    positive = truth > 1e-9
    held = (np.array(lows) <= truth) & (truth <= np.array(highs))
    average = float(np.mean(means))
    inside = [low <= average <= high for low, high in ends]
    widths = (np.array(highs) - np.array(lows)).mean(axis=0) / 2
    return Coverage(
        float(held[:, positive].mean()), float(np.mean(inside)), float(np.median(widths))
    )


def main(sets: int = SETS) -> bool:
    """Every model with every kind of weights."""
    print(f"coverage of 95% intervals over {sets} data sets of {ROWS} rows")
    print(f"{'model':26}{'weights':14}{'rows':>8}{'average':>9}{'half-width':>12}")
    every = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases():
            for label, weights in WEIGHTS.items():
                if label == "boosted" and case.name not in ("tree", "network"):
                    continue
                found = coverage(case, weights, sets)
                every.append(found)
                print(
                    f"{case.name:26}{label:14}{found.rows:8.3f}{found.average:9.3f}"
                    f"{found.width:12.3f}",
                    flush=True,
                )
    met = all(min(found.rows, found.average) >= BAR for found in every)
    print(f"bar: every coverage ≥ {BAR}: {'met' if met else 'MISSED'}")
    return met


if __name__ == "__main__":
    raise SystemExit(not main(*map(int, sys.argv[1:])))
