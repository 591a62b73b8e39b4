"""An approximate inverse of a connected graph's Laplacian: one symmetric multigrid V-cycle.

Smoothed aggregation (Vaněk, Mandel and Brezina, 1996): nodes are gathered into aggregates around
seeds three steps apart, and a coarser Laplacian joins the aggregates, until few are left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.measures.spectral.graph import SparseMatrix
from anharmonic.measures.spectral.products import Precision
from anharmonic.models.torch_arrays import placed, sparse

__all__ = [
    "Hierarchy",
    "Level",
    "as_preconditioner",
    "build_hierarchy",
    "hierarchy_on_device",
    "multigrid",
    "v_cycle",
    "without_constants",
]

COARSEST, DIRECT = 400, 4000
"""Nodes that are few enough for a dense inverse, and that are so where the next level is tiny."""
FEWEST = 32
"""Nodes of the smallest level worth having: on fewer there is little left to correct, and a
single node's Laplacian is rounding error."""
CROWDED = 50
"""Entries per row from which on two steps reach nearly everything, and one is enough."""
DAMPING = 2 / 3
"""ω of Jacobi's step: D⁻¹L has no eigenvalue above 2, and errors of those from 1 to 2, the rough
ones, shrink threefold: |1 − ωλ| ≤ ⅓."""


class Level(NamedTuple):
    """A Laplacian L (size, size) and what a cycle needs there.

    `damped_inverse` is ωD⁻¹ (size, 1), `prolongation` P (size, aggregates) takes values of the
    coarser level to this one, and `restriction` is Pᵀ. Matrices are sparse.
    """

    laplacian: Array
    damped_inverse: Array
    prolongation: Array
    restriction: Array


class Hierarchy(NamedTuple):
    """Levels from the finest on, and the inverse of the coarsest Laplacian, dense."""

    levels: list[Level]
    coarsest_inverse: Array


def build_hierarchy(
    laplacian: SparseMatrix, seed: int, precision: Precision = np.float32
) -> Hierarchy:
    """Levels for a connected graph's Laplacian; single precision does for a preconditioner."""
    levels, random = [], generator(seed, Stream.AGGREGATES)
    matrix = laplacian.tocsr()
    while matrix.shape[0] > COARSEST:
        damped_inverse = DAMPING / matrix.diagonal()[:, None]
        prolongation = _prolongation(matrix, damped_inverse, _aggregates(matrix, random))
        tiny = prolongation.shape[1] < FEWEST and matrix.shape[0] <= DIRECT
        if tiny or prolongation.shape[1] == matrix.shape[0]:
            break
        narrow = prolongation.astype(precision)
        levels.append(
            Level(
                matrix.astype(precision),
                damped_inverse.astype(precision),
                narrow,
                narrow.T.tocsr(),
            )
        )
        # Galerkin's coarse operator PᵀLP, (aggregates, aggregates).
        matrix = (prolongation.T @ (matrix @ prolongation)).tocsr()
    # A multiple of 11ᵀ makes the Laplacian invertible; what the inverse makes of constants is
    # taken off by `as_preconditioner`.
    size = matrix.shape[0]
    regular = matrix.toarray() + matrix.diagonal().mean() / size
    coarsest_inverse = np.linalg.inv(regular) if size > 1 else np.zeros((1, 1))
    return Hierarchy(levels, coarsest_inverse.astype(precision))


def _aggregates(matrix: SparseMatrix, random: np.random.Generator) -> Integers:
    """Which aggregate each node is in, (size,): that of a seed at most two steps away.

    Seeds are a maximal independent set at distance two (one, in a crowded graph), by Luby's
    rounds: of the nodes that no seed is near yet, those become seeds that come first, in a random
    order, within that distance (Bell, Dalton and Olson, 2012).
    """
    size = matrix.shape[0]
    starts, others = matrix.indptr[:-1], matrix.indices
    crowded = matrix.nnz > CROWDED * size

    def over_neighbours(values: Array) -> Array:
        # Every row has its diagonal entry, so none is empty and a node sees itself.
        return np.maximum.reduceat(values[others], starts)

    def nearby(values: Array) -> Array:
        if crowded:
            return over_neighbours(values)
        return over_neighbours(over_neighbours(values))

    order = random.permutation(size).astype(np.int32) + 1
    seeds, free = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
    while free.any():
        waiting = np.where(free, order, 0)
        fresh = free & (nearby(waiting) == order)
        seeds |= fresh
        free &= nearby(fresh.astype(np.int8)) == 0
    # Labels from 1 on, 0 for none: of the seed beside a node, or else of one two steps away.
    labels = np.zeros(size, dtype=np.int32)
    labels[seeds] = 1 + np.arange(int(seeds.sum()))
    beside: NDArray[np.int32] = over_neighbours(labels)
    return np.asarray(np.where(beside > 0, beside, over_neighbours(beside)) - 1)


def _prolongation(
    matrix: SparseMatrix, damped_inverse: Floats, aggregates: Integers
) -> SparseMatrix:
    """P = (I − ωD⁻¹L)T, (size, aggregates): Jacobi's step smooths the piecewise constant T."""
    from scipy.sparse import csr_array, diags_array

    size = len(aggregates)
    shape = (size, int(aggregates.max()) + 1)
    # Row pointers of T in compressed form: one entry per row, in its aggregate's column.
    starts = np.arange(size + 1, dtype=np.int32)
    constant = csr_array((np.ones(size), aggregates, starts), shape=shape)
    smooth: SparseMatrix = constant - diags_array(damped_inverse[:, 0]) @ (matrix @ constant)
    return smooth.tocsr()


def v_cycle(grid: Hierarchy, right: Array, depth: int = 0) -> Array:
    """An approximate solution of L x = right, (size, columns), from the level `depth` on.

    All columns at once, which is why the smoother is Jacobi's and not Gauss and Seidel's. The
    same step before and after the coarse correction makes the cycle symmetric.
    """
    if depth == len(grid.levels):
        return grid.coarsest_inverse @ right
    laplacian, damped_inverse, prolongation, restriction = grid.levels[depth]
    # Before: one Jacobi step from zero.
    solution = damped_inverse * right
    # The residual's smooth part, (aggregates, columns), is solved for on the coarser level.
    coarse = restriction @ (right - laplacian @ solution)
    solution += prolongation @ v_cycle(grid, coarse, depth + 1)
    # After: one more Jacobi step.
    return solution + damped_inverse * (right - laplacian @ solution)


def multigrid(
    laplacian: SparseMatrix, seed: int, precision: Precision = np.float32
) -> Callable[[Array], Array]:
    """An approximate inverse that takes and gives columns, (size,) or (size, columns).

    What it gives is orthogonal to the constants.

    >>> from anharmonic.measures.spectral.graph import Graph
    >>> path = Graph(900, np.stack([np.arange(899), np.arange(1, 900)], axis=1))
    >>> voltage = np.sin(np.arange(900) / 100)
    >>> solution = multigrid(path.laplacian, seed=0)(path.laplacian @ voltage)
    >>> bool(np.std(solution - voltage) < 0.3 * np.std(voltage))
    True
    """
    return as_preconditioner(build_hierarchy(laplacian, seed, precision))


def as_preconditioner(grid: Hierarchy) -> Callable[[Array], Array]:
    """The cycle of a hierarchy as a function of columns, in the hierarchy's own precision."""

    def precondition(columns: Array) -> Array:
        xp = array_namespace(columns)
        right = without_constants(columns).reshape(len(columns), -1)
        solution = v_cycle(grid, xp.astype(right, grid.coarsest_inverse.dtype))
        return without_constants(xp.astype(solution, columns.dtype)).reshape(columns.shape)

    return precondition


def hierarchy_on_device(grid: Hierarchy, device: str) -> Hierarchy:
    """The same hierarchy on a device of torch's."""
    levels = [
        Level(
            sparse(level.laplacian, device),
            placed(level.damped_inverse, device),
            sparse(level.prolongation, device),
            sparse(level.restriction, device),
        )
        for level in grid.levels
    ]
    return Hierarchy(levels, placed(grid.coarsest_inverse, device))


def without_constants(columns: Array) -> Array:
    """Columns less their means: the projection I − 11ᵀ/size."""
    return columns - columns.mean(0)
