"""The largest eigenvalues by LOBPCG, locally optimal block preconditioned conjugate gradients.

Of A v = λ B v, where A is the inputs' Laplacian L_X and B the outputs' L_Y. Every round takes the
best vectors in the span of the present ones, their preconditioned residuals and the last moves
(Knyazev, SIAM J. Sci. Comput. 23, 2001). Columns may be arrays of numpy's or tensors on a device;
small matrices are solved in numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.arrays import array_like, to_numpy64
from anharmonic._core.protocols import Array, Floats, Map
from anharmonic.measures.spectral.multigrid import without_constants

__all__ = ["Apply", "Problem", "RitzPairs", "lobpcg", "ritz_pairs_within"]

Apply = Callable[[Array], Array]
DEPENDENT = 1e-13
"""Share of the longest direction's squared length below which one adds nothing but rounding."""


class RitzPairs(NamedTuple):
    """Approximate eigenpairs, the largest first.

    `values` (pairs,), `vectors` (size, pairs) with vᵀ B v = 1, and `bounds` (pairs,): how far, as
    a share of the value, each is at most from an exact eigenvalue.
    """

    values: Floats
    vectors: Array
    bounds: Floats


class _Block(NamedTuple):
    """Columns S (size, columns), with A S and B S, so that products are not computed again."""

    columns: Array
    inputs: Array
    outputs: Array

    def mixed(self, weights: Floats) -> _Block:
        """The block of S C for weights C (columns, new columns)."""
        weights = array_like(weights, self.columns)
        return _Block(*(columns @ weights for columns in self))

    def beside(self, others: list[_Block], parallel: Map) -> _Block:
        """The columns of several blocks in one."""
        join = partial(array_namespace(self.columns).concat, axis=1)
        return _Block(*parallel(join, zip(self, *others, strict=True)))


class Problem(NamedTuple):
    """A v = λ B v as functions of columns: both matrices, and an approximate inverse of B.

    `start` (size, columns) are random vectors, and `back` brings columns to the rows' own order.
    `parallel` does two things side by side, where there are threads.
    """

    inputs: Apply
    outputs: Apply
    preconditioner: Apply
    start: Array
    back: Callable[[Array], Floats]
    parallel: Map = map


def lobpcg(
    problem: Problem, vectors: Array, wanted: int, rounds: int, tolerance: float
) -> RitzPairs:
    """Iterate from vectors (size, columns) until the first `wanted` eigenvalues are known.

    Known to a share `tolerance` of themselves, or as far as `rounds` go.
    """
    block = _apply_both(problem, without_constants(vectors))
    weights, values = _rayleigh_ritz(block, vectors.shape[1], problem.parallel)
    block = block.mixed(weights)
    # P: the last move of every column, none before the first round.
    moves: list[_Block] = []
    for turn in range(rounds + 1):
        # R = A X − B X Λ and W = T R, with T ≈ B⁺.
        residuals = block.inputs - block.outputs * array_like(values, block.columns)
        steps = problem.preconditioner(residuals)
        # Krylov and Weinstein: an exact eigenvalue lies within (rᵀ B⁺ r)^½ of λ; here T is for B⁺.
        squares = to_numpy64((residuals * steps).sum(0))
        bounds = np.sqrt(np.maximum(squares, 0.0)) / values
        if turn == rounds or bounds[:wanted].max() <= tolerance:
            break
        # Soft locking: what has converged stays in the block and adds no further residual.
        active = np.flatnonzero(bounds > tolerance / 10)
        width = len(values)
        fresh = _apply_both(problem, steps[:, active.tolist()])
        # S = [X, W, P]: (size, width + active + width).
        whole = block.beside([fresh, *moves], problem.parallel)
        weights, values = _rayleigh_ritz(whole, width, problem.parallel)
        # The next P is the new X less its part along the old X.
        move_weights = weights.copy()
        move_weights[:width] = 0.0
        block, *moves = problem.parallel(whole.mixed, (weights, move_weights))
    return RitzPairs(values, block.columns, bounds)


def ritz_pairs_within(problem: Problem, vectors: Array) -> RitzPairs:
    """The best eigenpairs within the span of some vectors; their bounds are not known."""
    block = _apply_both(problem, vectors)
    weights, values = _rayleigh_ritz(block, vectors.shape[1], problem.parallel)
    return RitzPairs(values, block.mixed(weights).columns, np.full(len(values), np.nan))


def _apply_both(problem: Problem, columns: Array) -> _Block:
    """Columns beside what both matrices make of them."""
    matrices = (problem.inputs, problem.outputs)
    return _Block(columns, *problem.parallel(lambda apply: apply(columns), matrices))


def _rayleigh_ritz(block: _Block, count: int, parallel: Map) -> tuple[Floats, Floats]:
    """The weights (columns, count) of the best vectors in a block's span, and their values."""
    from scipy.linalg import eigh

    # Gram matrices Sᵀ A S and Sᵀ B S, (columns, columns).
    across = block.columns.T
    near, far = parallel(lambda side: to_numpy64(across @ side), (block.inputs, block.outputs))
    # Columns of unit length in B, then an orthonormal basis Q of their span, Qᵀ (Sᵀ B S) Q = I.
    lengths = np.sqrt(np.diag(far))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    sizes, axes = np.linalg.eigh(far * scale * scale[:, None])
    # Directions that others make up already would only bring their rounding in.
    kept = sizes > DEPENDENT * sizes[-1]
    basis = scale[:, None] * axes[:, kept] / np.sqrt(sizes[kept])
    # An ordinary eigenproblem of what is left, ascending in scipy and descending from here on.
    reduced = basis.T @ near @ basis
    values, rotation = eigh((reduced + reduced.T) / 2)
    return basis @ rotation[:, ::-1][:, :count], values[::-1][:count].copy()
