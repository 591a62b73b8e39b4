"""Boosted trees as plain arrays: fitted by scikit-learn, stored and read without it.

A fitted ensemble is five small arrays, so that a monitor can write it to a file without pickle
and gives the same answers wherever it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array, Floats

__all__ = ["LARGE", "SMALL", "Size", "Trees", "fit_trees"]


class Size(NamedTuple):
    """How much trees can tell apart; the reference itself says which size serves it better."""

    rounds: int
    rate: float
    leaves: int
    depth: int
    least_leaf: int


SMALL = Size(150, 0.05, leaves=8, depth=4, least_leaf=40)
LARGE = Size(200, 0.08, leaves=31, depth=6, least_leaf=20)
HELD = 2_000_000
"""Cells (rows × trees) that are walked at once."""


@dataclass(frozen=True)
class Trees:
    """Several ensembles of trees, averaged: one column of answers each class or number.

    Parameters
    ----------
    features, left, right, thresholds, values : (trees, nodes)
        A node's column (−1 at a leaf), its children, the number up to which rows go left, and a
        leaf's answer.
    missing_left : (trees, nodes)
        Whether a missing cell goes left.
    columns : (trees,)
        The column of answers that a tree adds to.
    base : (columns,)
        What the answers begin with.
    """

    features: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    thresholds: Floats
    missing_left: NDArray[np.bool_]
    values: Floats
    columns: NDArray[np.int32]
    base: Floats

    def __call__(self, rows: Floats) -> Floats:
        """Answers (rows, columns), the same for a row in any batch."""
        size = max(1, HELD // max(1, len(self.columns)))
        parts = [self._walk(rows[start : start + size]) for start in range(0, len(rows), size)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.base)))

    def _walk(self, rows: Floats) -> Floats:
        trees = np.arange(len(self.columns))
        at = np.zeros((len(rows), len(trees)), dtype=np.int32)
        row = np.arange(len(rows))[:, None]
        while True:
            column = self.features[trees, at]
            if (column < 0).all():
                break
            cell = rows[row, np.maximum(column, 0)]
            goes_left = np.where(
                np.isnan(cell), self.missing_left[trees, at], cell <= self.thresholds[trees, at]
            )
            below = np.where(goes_left, self.left[trees, at], self.right[trees, at])
            at = np.where(column < 0, at, below)
        leaves = self.values[trees, at]
        # Tree after tree, so that the same row has the same bits in any batch.
        answers = np.empty((len(rows), len(self.base)))
        for number in range(len(self.base)):
            mine = leaves[:, self.columns == number]
            answers[:, number] = self.base[number] + np.cumsum(mine, axis=1)[:, -1]
        return answers

    def arrays(self, name: str) -> dict[str, Array]:
        """For an archive, under names that begin with `name`."""
        return {f"{name}.{part}": getattr(self, part) for part in self.__dataclass_fields__}

    @classmethod
    def of(cls, name: str, arrays: Mapping[str, Array]) -> Trees:
        """Back from an archive."""
        return cls(**{part: arrays[f"{name}.{part}"] for part in cls.__dataclass_fields__})


def fit_trees(
    rows: Floats,
    targets: NDArray[Any],
    loss: Literal["squares", "classes"],
    seed: int,
    size: Size = SMALL,
) -> Trees:
    """Boosted trees for numbers, or for classes (then answers are logits)."""
    ensemble = needs("sklearn.ensemble", "sklearn")
    name = "Regressor" if loss == "squares" else "Classifier"
    model = getattr(ensemble, f"HistGradientBoosting{name}")(
        max_iter=size.rounds if loss == "squares" else size.rounds // 2,
        learning_rate=size.rate if loss == "squares" else 1.5 * size.rate,
        max_leaf_nodes=size.leaves,
        max_depth=size.depth,
        min_samples_leaf=max(5, min(size.least_leaf, len(rows) // 20)),
        early_stopping=False,
        random_state=seed,
    )
    # One thread: on a busy machine the fit waits for the slowest core at every split.
    with needs("threadpoolctl", "sklearn").threadpool_limits(1, user_api="openmp"):
        model.fit(rows, targets)
    nodes = [(tree.nodes, k) for step in model._predictors for k, tree in enumerate(step)]
    width = max([len(node) for node, _ in nodes], default=1)

    def stacked(field: str, kind: Any) -> Array:
        made = np.zeros((len(nodes), width), dtype=kind)
        for number, (node, _) in enumerate(nodes):
            made[number, : len(node)] = node[field]
        return made

    leaf = stacked("is_leaf", bool)
    features = np.where(leaf, -1, stacked("feature_idx", np.int32)).astype(np.int32)
    return Trees(
        features,
        stacked("left", np.int32),
        stacked("right", np.int32),
        stacked("num_threshold", np.float64),
        stacked("missing_go_to_left", bool),
        stacked("value", np.float64),
        np.array([k for _, k in nodes], dtype=np.int32),
        np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1),
    )
