"""Seconds per million points by kind of model, on one core: what a run of any size costs.

No bar: the table of docs/scale.md. A slice of rows is measured for each kind, twice as many once
more, and the price is the difference, so that what a run costs to begin does not count.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anharmonic as ah
from benchmarks.scale.material import boosted, cheap, generate, training_rows

SLICE, ROUNDS = 40_000, 3


def linear() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression()).fit(*training_rows())


def forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, n_jobs=1, random_state=0).fit(*training_rows())


def network() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((100, 100), max_iter=20, random_state=0).fit(*training_rows())


KINDS: dict[str, tuple[Callable[[], Any], float]] = {
    "a function that costs nothing": (lambda: cheap, 1.0),
    "logistic regression": (linear, 1.0),
    "network, two layers of 100": (network, 0.2),
    "LightGBM, 100 trees": (boosted, 0.2),
    "forest, 100 trees": (forest, 0.05),
}
"""Models, and the share of the slice that each is measured on."""


def seconds(model: Any, folder: Path, rows: int) -> tuple[float, float]:
    """How long a run takes, and queries per point."""
    source = ah.sources.files(generate(folder / f"rows-{rows}", rows))
    begun = time.perf_counter()
    stored = ah.gamma(model, source, out=folder / "out", fresh=True)
    return time.perf_counter() - begun, stored.queries / len(stored)


def main(size: float = 1.0) -> bool:
    print("| model | queries per point | CPU seconds per million points | 10⁹ points, core hours |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for kind, (make, share) in KINDS.items():
            model, rows = make(), int(SLICE * share * size)
            prices = []
            for _ in range(ROUNDS):
                (less, _), (more, queries) = (
                    seconds(model, Path(name), count) for count in (rows, 2 * rows)
                )
                prices.append(1e6 * (more - less) / rows)
            middle = sorted(prices)[ROUNDS // 2]
            print(
                f"| {kind} | {queries:.0f} | {middle:,.0f} ({min(prices):,.0f}–{max(prices):,.0f}) "
                f"| {middle * 1000 / 3600:,.0f} |"
            )
    return True
