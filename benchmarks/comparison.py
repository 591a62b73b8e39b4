"""What comparing models costs: calls and rows of 8 models together and one by one.

Bar: `compare` asks for no more than 8 single runs at the same settings do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import anharmonic as ah

FEATURES, POINTS, MODELS = 20, 10_000, 8


class Counted:
    """A model that counts how often and for how many rows it is asked."""

    def __init__(self, frequency: float) -> None:
        self.frequency = frequency
        self.rows = 0

    def __call__(self, x: Any) -> Any:
        self.rows += len(x)
        return np.sin(self.frequency * x).sum(axis=1)


def rows(work: Callable[[dict[str, Counted]], object]) -> int:
    models = {str(number): Counted(0.5 + number / 8) for number in range(MODELS)}
    work(models)
    return sum(model.rows for model in models.values())


def main() -> bool:
    """Rows asked for by `compare` and by single runs."""
    points = np.random.default_rng(0).normal(size=(POINTS, FEATURES))

    def one_by_one(models: dict[str, Counted]) -> None:
        for model in models.values():
            ah.gamma(model, points, ball="auto pairs")

    together, single = rows(lambda models: ah.compare(models, points)), rows(one_by_one)
    print(f"compare: {MODELS} models, {POINTS:,} points of {FEATURES} features")
    print(f"rows asked for together {together:,}, one by one {single:,}")
    good = together <= single
    print(f"bar: no more together: {'met' if good else 'MISSED'}")
    return good


if __name__ == "__main__":
    raise SystemExit(not main())
