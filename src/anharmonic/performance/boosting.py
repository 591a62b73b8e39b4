"""Boosted trees as plain arrays: fitted by scikit-learn, read without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import without_empty_columns
from anharmonic._core.extras import needs
from anharmonic._core.protocols import Floats

__all__ = ["Trees", "fit_trees"]

ROUNDS, RATE, LEAST_LEAF = 150, 0.06, 30
HELD = 2_000_000
"""Cells (rows × trees) that are walked at once."""


@dataclass(frozen=True)
class Trees:
    """An ensemble of trees whose leaves add up, all nodes in one row of arrays.

    Parameters
    ----------
    columns, thresholds, missing_left, values : (nodes,)
        A node's column, the number up to which rows go left, whether a missing cell does, and a
        leaf's answer.
    children : (2·nodes,)
        A node's left and right child; a leaf is its own.
    roots : (trees,)
        Where each tree begins.
    depth
        Steps from a root to the deepest leaf.
    base
        What the answers begin with.
    """

    columns: NDArray[np.int64]
    thresholds: Floats
    missing_left: NDArray[np.bool_]
    values: Floats
    children: NDArray[np.int64]
    roots: NDArray[np.int64]
    depth: int
    base: float

    def __call__(self, rows: Floats) -> Floats:
        """Answers (rows,), the same for a row in any batch."""
        size = max(1, HELD // len(self.roots))
        parts = [self._walk(rows[start : start + size]) for start in range(0, len(rows), size)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _walk(self, rows: Floats) -> Floats:
        cells = np.ascontiguousarray(rows).ravel()
        first = (np.arange(len(rows)) * rows.shape[1])[:, None]
        at = np.repeat(self.roots[None], len(rows), axis=0)
        gaps = bool(np.isnan(cells).any())
        for _ in range(self.depth):
            cell = cells.take(first + self.columns.take(at))
            right = cell > self.thresholds.take(at)
            if gaps:
                right |= np.isnan(cell) & ~self.missing_left.take(at)
            at = self.children.take(2 * at + right)
        # Tree after tree, so that the same row has the same bits in any batch.
        return np.asarray(self.base + np.cumsum(self.values.take(at), axis=1)[:, -1])


def fit_trees(
    rows: Floats,
    targets: Floats,
    loss: Literal["squared_error", "poisson"],
    seed: int,
    leaves: int = 8,
) -> Trees:
    """Boosted trees for numbers; by Poisson's loss answers are logarithms of means."""
    ensemble = needs("sklearn.ensemble", "sklearn")
    model = ensemble.HistGradientBoostingRegressor(
        loss=loss,
        max_iter=ROUNDS,
        learning_rate=RATE,
        max_leaf_nodes=leaves,
        min_samples_leaf=max(5, min(LEAST_LEAF, len(rows) // 20)),
        early_stopping=False,
        random_state=seed,
    )
    # One thread: on a busy machine the fit waits for the slowest core at every split.
    with needs("threadpoolctl", "sklearn").threadpool_limits(1, user_api="openmp"):
        model.fit(without_empty_columns(rows), targets)
    trees = [step[0].nodes for step in model._predictors]
    sizes = np.array([len(tree) for tree in trees])
    roots = np.cumsum(sizes) - sizes
    nodes = np.concatenate(trees)
    leaf, start = nodes["is_leaf"].astype(bool), np.repeat(roots, sizes)
    itself = np.arange(len(nodes))
    left, right = (
        np.where(leaf, itself, start + nodes[side].astype(np.int64)) for side in ("left", "right")
    )
    return Trees(
        np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
        nodes["num_threshold"].astype(np.float64),
        nodes["missing_go_to_left"].astype(bool),
        nodes["value"].astype(np.float64),
        np.stack([left, right], axis=1).ravel(),
        roots,
        int(nodes["depth"].max()),
        float(np.asarray(model._baseline_prediction).item()),
    )
