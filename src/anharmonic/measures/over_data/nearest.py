"""The nearest rows as weights, and matrices that somebody gave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import SettingsError, listed
from anharmonic.measures.over_data.smoothing import Data, Linear, Part, sorted_sums
from anharmonic.measures.over_data.weights import Neighbours
from anharmonic.measures.spectral.search import neighbours as search_neighbours

__all__ = ["checked_matrix", "given_parts", "neighbour_parts", "neighbour_weights"]

HELD = 2**22
"""Distances or entries held at once."""
TREE_DIMENSIONS = 10
"""Up to so many dimensions a k-d tree is faster than all distances."""
MOST_ROWS = 50_000
"""Rows among which neighbours are looked for, so that the cost per row stays the same."""
EXACT_WORK = 2e11
"""Multiplications (rows² · n) up to which the search is exact."""
EQUAL = 1e-9
"""Distances that differ by less than this share are equal."""


def neighbour_parts(weights: Neighbours, data: Data, *, further: bool = False) -> Iterator[Part]:
    """Equally weighted means over the nearest other rows, copies of a row not among them.

    `further` rows are searched for one by one, so that they find the same ones in any batch.
    """
    available = len(data.features) - int((data.own >= 0).any())
    if available < weights.count:
        raise SettingsError(
            f"{weights.count} neighbours among {available} other distinct rows: give more rows, "
            f"or weights=Neighbours({max(1, available)})"
        )
    # Candidates beyond the count, for rows that are equally far: on a grid 2n are.
    wanted = max(2 * weights.count, weights.count + 2 * min(data.features.shape[1], 24))
    count = min(wanted, available)
    indices = _among(data, count) if further else _candidates(data, count)
    size = max(1, HELD // (indices.shape[1] * max(data.features.shape[1], data.groups)))
    for start in range(0, len(data.scored), size):
        rows = slice(start, min(start + size, len(data.scored)))
        found = indices[rows]
        apart = data.scored[rows][:, None] - data.features[found]
        distances = np.sqrt(np.einsum("rkp,rkp->rk", apart, apart))
        shares = tied_weights(distances, weights.count)
        kept = shares > 0
        yield Linear(
            row=np.nonzero(kept)[0],
            column=found[kept],
            weight=shares[kept],
            answers=data.answers,
            group=data.group,
            rows=len(found),
            groups=data.groups,
        ).part(rows)


def neighbour_weights(weights: Neighbours, data: Data, rows: Integers) -> sparse.csr_array:
    """The weights of reference rows for some scored rows, (rows, reference rows)."""
    some = replace(data, scored=data.scored[rows], own=data.own[rows])
    pieces = []
    for part in neighbour_parts(weights, some):
        linear = part.spread
        assert isinstance(linear, Linear)
        shape = (linear.rows, len(data.features))
        pieces.append(sparse.csr_array((linear.weight, (linear.row, linear.column)), shape=shape))
    return sparse.csr_array(sparse.vstack(pieces))


def tied_weights(distances: Floats, count: int) -> Floats:
    """Weights (rows, candidates) that sum to 1: 1/count each, and rows that are as far as the
    last one share what the nearer ones leave.

    >>> tied_weights(np.array([[1.0, 2.0, 2.0, 3.0]]), 2).tolist()
    [[0.5, 0.25, 0.25, 0.0]]
    """
    last = np.sort(distances, axis=1)[:, count - 1 : count]
    nearer, tied = distances < last * (1 - EQUAL), np.abs(distances - last) <= last * EQUAL
    left = 1 - nearer.sum(axis=1, keepdims=True) / count
    return np.asarray(np.where(nearer, 1 / count, tied * left / tied.sum(axis=1, keepdims=True)))


def _candidates(data: Data, count: int) -> Integers:
    """The nearest other reference rows of each scored row, (rows, count)."""
    if len(data.own) == 0 or bool((data.own >= 0).all()):
        # Every scored row is a reference row: one search among these is enough.
        return _in_parts(data.features, count)[data.own]
    return _among(data, count)


def _in_parts(features: Floats, count: int) -> Integers:
    """The nearest other rows in the same part of at most `MOST_ROWS` rows.

    Rows stand in the order of a hash, so that a part is a random sample of them.
    """
    rows, dimension = features.shape
    parts = -(-rows // MOST_ROWS)
    edges = [rows * part // parts for part in range(parts + 1)]
    # Approximate only where comparing everything would take longer than a few seconds.
    search = "auto" if (rows / parts) ** 2 * dimension <= EXACT_WORK else "fast"
    return np.concatenate(
        [
            start + search_neighbours(features[start:stop], count, search)
            for start, stop in pairwise(edges)
        ]
    )


def _among(data: Data, count: int) -> Integers:
    """The same where rows are scored that the reference does not have."""
    data = replace(data, features=data.features[:MOST_ROWS])
    more = min(count + 1, len(data.features))
    if data.features.shape[1] <= TREE_DIMENSIONS:
        from scipy.spatial import KDTree

        found = KDTree(data.features).query(data.scored, k=more, workers=-1)[1]
        found = np.asarray(found).reshape(len(data.scored), -1)
    else:
        found = _by_products(data, more)
    own = found == data.own[:, None]
    # Where a row is not its own nearest, the last candidate goes.
    own[~own.any(axis=1), -1] = True
    return np.asarray(found[~own].reshape(len(found), -1) if more > count else found)


def _by_products(data: Data, count: int) -> Integers:
    """Everything against everything: ‖a − b‖² = ‖a‖² − 2ab + ‖b‖², a block of rows at a time."""
    squares = np.einsum("rp,rp->r", data.features, data.features)
    size = max(1, HELD // len(data.features))
    found = np.empty((len(data.scored), count), dtype=np.int64)
    for start in range(0, len(data.scored), size):
        block = data.scored[start : start + size]
        distances = squares - 2 * (block @ data.features.T)
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        found[start : start + size] = nearest
    return found


def given_parts(matrix: Any, data: Data) -> Iterator[Part]:
    """Weighted means by a sparse matrix (scored rows, reference rows), in the order of `data`."""
    size = max(1, HELD // data.groups)
    for start in range(0, matrix.shape[0], size):
        rows = slice(start, min(start + size, matrix.shape[0]))
        block = matrix[rows].tocoo()
        yield Linear(
            row=block.row.astype(np.int64),
            column=block.col.astype(np.int64),
            weight=block.data,
            answers=data.answers,
            group=data.group,
            rows=rows.stop - rows.start,
            groups=data.groups,
        ).part(rows)


def checked_matrix(matrix: object, scored: int, reference: int, itself: bool) -> Any:
    """A sparse matrix of weights whose rows sum to 1, or an error that names what is wrong."""
    csr: Any = sparse.csr_array(matrix).astype(np.float64)
    if csr.shape != (scored, reference):
        raise SettingsError(
            f"the matrix of weights has the shape {csr.shape}, and there are {scored:,} rows to "
            f"score and {reference:,} to weigh: give it the shape {(scored, reference)}"
        )
    if not np.isfinite(csr.data).all():
        raise SettingsError("the matrix of weights holds NaN or infinity: give finite weights")
    if itself:
        csr = csr - sparse.diags_array(csr.diagonal())
    if (csr.data <= 0).all():
        # A Laplacian holds the graph's weights with a minus sign beside its diagonal.
        csr = -csr
    csr.eliminate_zeros()
    if (csr.data < 0).any():
        raise SettingsError("the matrix of weights holds negative numbers: weights are from 0 on")
    # In the order of size, so that permuted columns give the same bits.
    sums = sorted_sums(np.repeat(np.arange(scored), np.diff(csr.indptr)), csr.data, scored)
    empty = np.flatnonzero(sums == 0)
    if len(empty):
        raise SettingsError(
            f"rows {listed(empty.tolist())} have no weight on any other row: leave them out, or "
            "join them to some"
        )
    return sparse.diags_array(1 / sums) @ csr
