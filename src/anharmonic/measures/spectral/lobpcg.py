"""The largest eigenvalues by climbing: LOBPCG, locally optimal block conjugate gradients.

Columns may be arrays of numpy's or tensors on a device; small matrices are solved in numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.arrays import array_like, to_numpy64
from anharmonic._core.protocols import Floats, Map
from anharmonic.measures.spectral.multigrid import without_constants

__all__ = ["Apply", "Climb", "Problem", "best_within", "climbed"]

Apply = Callable[[Any], Any]
DEPENDENT = 1e-13
"""Share of the longest direction's squared length below which one adds nothing but rounding."""


class Climb(NamedTuple):
    """Eigenvalues, the largest first, vectors with vᵀ B v = 1, and how exact each value is."""

    values: Floats
    vectors: Any
    bounds: Floats


class _Block(NamedTuple):
    """Columns, and what both matrices make of them."""

    columns: Any
    inputs: Any
    outputs: Any

    def mixed(self, weights: Floats) -> _Block:
        there = array_like(weights, self.columns)
        return _Block(*(each @ there for each in self))

    def beside(self, others: list[_Block], each: Map) -> _Block:
        join = partial(array_namespace(self.columns).concat, axis=1)
        return _Block(*each(join, zip(self, *others, strict=True)))


class Problem(NamedTuple):
    """What both matrices and an approximate inverse of the second make of columns.

    `start` (size, columns) are random ones, and `back` brings columns to the rows' own order.
    `each` does two things side by side, where there are threads.
    """

    inputs: Apply
    outputs: Apply
    inverse: Apply
    start: Any
    back: Callable[[Any], Floats]
    each: Map = map


def climbed(problem: Problem, vectors: Any, wanted: int, rounds: int, to: float) -> Climb:
    """Climb from some vectors (size, columns) until the first `wanted` eigenvalues are known.

    Known to a share `to` of themselves, or as far as `rounds` go. The approximate inverse
    shortens the way, and its norm of the residuals is the bound.
    """
    block = _applied(problem, without_constants(vectors))
    mixing, values = _ritz(block, vectors.shape[1], problem.each)
    block = block.mixed(mixing)
    moves: list[_Block] = []
    for turn in range(rounds + 1):
        misfits = block.inputs - block.outputs * array_like(values, block.columns)
        steps = problem.inverse(misfits)
        bounds = np.sqrt(np.maximum(to_numpy64((misfits * steps).sum(0)), 0.0)) / values
        if turn == rounds or bounds[:wanted].max() <= to:
            break
        open_ = np.flatnonzero(bounds > to / 10)
        width = len(values)
        fresh = _applied(problem, steps[:, open_.tolist()])
        whole = block.beside([fresh, *moves], problem.each)
        mixing, values = _ritz(whole, width, problem.each)
        still = mixing.copy()
        still[:width] = 0.0
        block, *moves = problem.each(whole.mixed, (mixing, still))
    return Climb(values, block.columns, bounds)


def best_within(problem: Problem, vectors: Any) -> Climb:
    """The best eigenpairs within the span of some vectors; their bounds are not known."""
    block = _applied(problem, vectors)
    mixing, values = _ritz(block, vectors.shape[1], problem.each)
    return Climb(values, block.mixed(mixing).columns, np.full(len(values), np.nan))


def _applied(problem: Problem, columns: Any) -> _Block:
    sides = (problem.inputs, problem.outputs)
    return _Block(columns, *problem.each(lambda apply: apply(columns), sides))


def _ritz(block: _Block, count: int, each: Map) -> tuple[Floats, Floats]:
    """The weights (columns, count) of the best vectors in a block's span, and their values."""
    from scipy.linalg import eigh

    across = block.columns.T
    near, far = each(lambda side: to_numpy64(across @ side), (block.inputs, block.outputs))
    lengths = np.sqrt(np.diag(far))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    sizes, axes = np.linalg.eigh(far * scale * scale[:, None])
    # Directions that others make up already would only bring their rounding in.
    kept = sizes > DEPENDENT * sizes[-1]
    basis = scale[:, None] * axes[:, kept] / np.sqrt(sizes[kept])
    reduced = basis.T @ near @ basis
    values, mixing = eigh((reduced + reduced.T) / 2)
    return basis @ mixing[:, ::-1][:, :count], values[::-1][:count].copy()
