"""How alike rows are to a forest, and which of them say most about the others.

Two rows are as alike as the share of trees in which both fall into one leaf (random forest kernel:
Breiman, 2000), so that columns that say nothing about labels do not count. With it as covariance a
label at one row lowers the variance at others, by a Gaussian process's formula.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from anharmonic._core.protocols import Floats, Integers

__all__ = ["alikeness", "most_telling"]

NOISE = 0.1
"""Variance of a label beside that of what it tells, which is 1."""


def alikeness(leaves: Integers, others: Integers) -> Floats:
    """The share of trees (columns) in which rows and others have one leaf, (rows, others).

    >>> alikeness(np.array([[1, 5], [2, 5]]), np.array([[1, 5]])).tolist()
    [[1.0], [0.5]]
    """
    most = int(max(leaves.max(initial=0), others.max(initial=0))) + 1
    in_leaf, others_in_leaf = (_in_leaves(each, most) for each in (leaves, others))
    return np.asarray((in_leaf @ others_in_leaf.T).toarray() / leaves.shape[1])


def _in_leaves(leaves: Integers, most: int) -> sparse.csr_matrix:
    """A column of 0 and 1 for each leaf of each tree."""
    rows, trees = leaves.shape
    columns = (leaves + most * np.arange(trees)).reshape(-1)
    starts = np.arange(0, columns.size + 1, trees)
    return sparse.csr_matrix((np.ones(columns.size), columns, starts), (rows, most * trees))


def most_telling(weights: Floats, leaves: Integers, known: Integers, count: int) -> Integers:
    """So many rows, one after the other, whose labels lower the weighted variance most.

    Active learning by integrated variance (Cohn, Ghahramani and Jordan, 1996), each row after
    those that were chosen before it.

    Parameters
    ----------
    weights : (rows,)
        How much variance at each row matters.
    leaves : (rows, trees)
        The rows' leaves.
    known : (others, trees)
        Those of rows whose labels are known already.
    count
        How many, at most all.

    Examples
    --------
    >>> leaves = np.array([[1], [1], [1], [2], [3]])
    >>> most_telling(np.ones(5), leaves, leaves[3:4], 2).tolist()
    [0, 4]
    """
    covariance = alikeness(leaves, leaves)
    if len(known):
        across = alikeness(known, leaves)
        seen = alikeness(known, known) + NOISE * np.eye(len(known))
        covariance -= across.T @ np.linalg.solve(seen, across)
    chosen: list[int] = []
    left = np.ones(len(weights), dtype=bool)
    while len(chosen) < min(count, len(weights)):
        variance = np.diag(covariance) + NOISE
        # A label at i lowers the variance at t by cov(t, i)² / (var(i) + noise).
        lowered = (weights @ covariance**2) / variance
        best = int(np.where(left, lowered, -1.0).argmax())
        chosen.append(best)
        left[best] = False
        covariance -= np.outer(covariance[:, best], covariance[best] / variance[best])
    return np.array(chosen, dtype=np.int64)
