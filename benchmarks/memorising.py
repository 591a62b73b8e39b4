"""Training rows as a monitor's reference: who is warned, and who is wrongly.

Bar: no held-out reference is called training data.

    python -m benchmarks.memorising 3          so many seeds, 1 if not told; a minute each
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from anharmonic._core.protocols import Floats
from anharmonic.monitor import Monitor

EARLY = 1000


class Data(NamedTuple):
    """A table and its labels."""

    name: str
    points: Any
    labels: Any


def tables(seed: int) -> Iterator[Data]:
    """Clusters, noisy labels, columns that nearly repeat each other, integers, real ones."""
    random = np.random.default_rng(seed)
    yield Data("8 columns", *make_classification(3000, 8, n_informative=6, random_state=seed))
    noisy = make_classification(3000, 20, n_informative=8, flip_y=0.1, random_state=seed)
    yield Data("20, noisy labels", *noisy)
    hidden = random.normal(size=(3000, 3))
    wide = hidden @ random.normal(size=(3, 12)) + 0.05 * random.normal(size=(3000, 12))
    product = hidden[:, 0] * hidden[:, 1] + 0.3 * random.normal(size=3000)
    yield Data("12, correlated", wide, product > 0)
    counts = random.integers(0, 4, size=(3000, 4))
    mixed = np.column_stack((random.lognormal(size=(3000, 3)), counts, random.random(3000) < 0.2))
    level = np.log(mixed[:, 0]) + mixed[:, 3] - 1.5 + 2 * mixed[:, 7] + random.normal(size=3000)
    yield Data("heavy tails and integers", mixed, level > 0)
    known = load_breast_cancer()
    order = random.permutation(len(known.data))
    yield Data("breast cancer", known.data[order], known.target[order])


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


MODELS: dict[str, Callable[[int], Any]] = {
    "forest": lambda seed: RandomForestClassifier(50, random_state=seed),
    "forest, leaves of 20": lambda seed: RandomForestClassifier(
        50, min_samples_leaf=20, random_state=seed
    ),
    "extra trees": lambda seed: ExtraTreesClassifier(50, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "1 neighbour": lambda _: KNeighborsClassifier(1),
    "5 neighbours": lambda _: KNeighborsClassifier(5),
    "network, overfit": lambda seed: scaled(
        MLPClassifier((100, 100), alpha=0, max_iter=300, random_state=seed)
    ),
    "support vectors": lambda seed: scaled(SVC(probability=True, random_state=seed)),
    "logistic": lambda _: scaled(LogisticRegression()),
}


class Fate(NamedTuple):
    """Of one reference: warned about at once, alarmed early, and told why."""

    warned: bool
    alarmed: bool
    told: bool


def fate(model: Any, reference: Floats, traffic: Floats) -> Fate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        watch = Monitor(model, reference, watch=["gamma", "confidence"], promise=False)
    alarms = watch.update(traffic[:EARLY]).alarms
    told = bool(watch.suspicion) or any("training data" in alarm.remark for alarm in alarms)
    return Fate(bool(watch.suspicion), bool(alarms), told)


def main(seeds: int = 1) -> bool:
    """The table, and whether the bar is met."""
    seen: dict[tuple[str, bool], list[Fate]] = {}
    for seed in range(seeds):
        for data in tables(seed):
            third = len(data.points) // 3
            for name, made in MODELS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = made(seed).fit(data.points[:third], data.labels[:third])
                held, traffic = data.points[third : 2 * third], data.points[2 * third :]
                for trained, known in ((True, data.points[:third]), (False, held)):
                    seen.setdefault((name, trained), []).append(fate(model, known, traffic))
    table = Table(title=f"{seeds} × 5 tables; alarms within {EARLY:,} rows")
    heads = ("warned at once", "alarmed", "alarmed and told why")
    table.add_column("model")
    for head in (
        *(f"training: {each}" for each in heads),
        *(f"held out: {each}" for each in heads),
    ):
        table.add_column(head, justify="right")
    for name in MODELS:
        cells = []
        for trained in (True, False):
            fates = seen[name, trained]
            alarmed = [each for each in fates if each.alarmed]
            cells += [
                f"{sum(each.warned for each in fates)} of {len(fates)}",
                f"{len(alarmed)}",
                f"{sum(each.told for each in alarmed)}",
            ]
        table.add_row(name, *cells)
    Console(width=150).print(table)
    held_out = [each for (_, trained), fates in seen.items() if not trained for each in fates]
    wrong = sum(each.warned for each in held_out)
    print(f"held-out references called training data: {wrong} of {len(held_out)}; bar 0")
    return wrong == 0


if __name__ == "__main__":
    raise SystemExit(not main(*map(int, sys.argv[1:])))
