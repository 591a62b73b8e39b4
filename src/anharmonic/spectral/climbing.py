"""The largest eigenvalues by climbing: LOBPCG, locally optimal block conjugate gradients.

Columns may be arrays of numpy's or tensors on a device; small matrices are solved in numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic.protocols import Floats
from anharmonic.regions import host
from anharmonic.spectral.multigrid import without_constants

__all__ = ["Apply", "Climb", "best_within", "climbed"]

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
        there = like(self.columns, weights)
        return _Block(*(each @ there for each in self))

    def beside(self, others: list[_Block]) -> _Block:
        space = array_namespace(self.columns)
        return _Block(*(space.concat(parts, axis=1) for parts in zip(self, *others, strict=True)))


def climbed(
    inputs: Apply, outputs: Apply, inverse: Apply, vectors: Any, wanted: int, rounds: int, to: float
) -> Climb:
    """Climb from some vectors (size, columns) until the first `wanted` eigenvalues are known.

    Known to a share `to` of themselves, or as far as `rounds` go. `inverse` stands in for the
    inverse of `outputs`: it shortens the way, and its norm of the residuals is the bound.
    """
    block, values = _best(_applied(inputs, outputs, without_constants(vectors)), vectors.shape[1])
    moves: list[_Block] = []
    for turn in range(rounds + 1):
        misfits = block.inputs - block.outputs * like(block.columns, values)
        steps = inverse(misfits)
        bounds = np.sqrt(np.maximum(host((misfits * steps).sum(0)), 0.0)) / values
        if turn == rounds or bounds[:wanted].max() <= to:
            break
        open_ = np.flatnonzero(bounds > to / 10)
        width = len(values)
        fresh = _applied(inputs, outputs, steps[:, open_.tolist()])
        whole = block.beside([fresh, *moves])
        mixing, values = _ritz(whole, width)
        still = mixing.copy()
        still[:width] = 0.0
        block, moves = whole.mixed(mixing), [whole.mixed(still)]
    return Climb(values, block.columns, bounds)


def like(columns: Any, small: Floats) -> Any:
    """A small numpy array where the columns live."""
    space = array_namespace(columns)
    return space.asarray(small, dtype=columns.dtype, device=device(columns))


def best_within(inputs: Apply, outputs: Apply, vectors: Any) -> Climb:
    """The best eigenpairs within the span of some vectors; their bounds are not known."""
    block, values = _best(_applied(inputs, outputs, vectors), vectors.shape[1])
    return Climb(values, block.columns, np.full(len(values), np.nan))


def _applied(inputs: Apply, outputs: Apply, columns: Any) -> _Block:
    return _Block(columns, inputs(columns), outputs(columns))


def _best(block: _Block, count: int) -> tuple[_Block, Floats]:
    mixing, values = _ritz(block, count)
    return block.mixed(mixing), values


def _ritz(block: _Block, count: int) -> tuple[Floats, Floats]:
    """The weights (columns, count) of the best vectors in a block's span, and their values."""
    from scipy.linalg import eigh

    far = host(block.columns.T @ block.outputs)
    near = host(block.columns.T @ block.inputs)
    lengths = np.sqrt(np.diag(far))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    sizes, axes = np.linalg.eigh(far * scale * scale[:, None])
    # Directions that others make up already would only bring their rounding in.
    kept = sizes > DEPENDENT * sizes[-1]
    basis = scale[:, None] * axes[:, kept] / np.sqrt(sizes[kept])
    reduced = basis.T @ near @ basis
    values, mixing = eigh((reduced + reduced.T) / 2)
    return basis @ mixing[:, ::-1][:, :count], values[::-1][:count].copy()
