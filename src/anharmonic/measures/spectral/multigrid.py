"""An approximate inverse of a connected graph's Laplacian: one symmetric multigrid cycle.

Smoothed aggregation: nodes are gathered around seeds three steps apart, and a coarser Laplacian
joins the gatherings, until few are left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.models.torch_arrays import placed, sparse

__all__ = [
    "Hierarchy",
    "Level",
    "approximately",
    "cycle",
    "hierarchy",
    "moved",
    "multigrid",
    "without_constants",
]

COARSEST, DIRECT = 400, 4000
"""Nodes that are few enough for a dense inverse, and that are so where the next level is tiny."""
FEWEST = 32
"""Nodes of a level that says anything; a single one has no Laplacian but rounding."""
CROWDED = 50
"""Entries in a row from which on two steps reach nearly everything, and one is enough."""
DAMPING = 2 / 3
"""Of Jacobi's step: D⁻¹L has no eigenvalue above 2, so errors between ⅔ and 2 shrink threefold."""


class Level(NamedTuple):
    """A Laplacian, the damped inverse of its diagonal (size, 1), and the ways down and up."""

    matrix: Any
    inverse: Any
    finer: Any
    coarser: Any


class Hierarchy(NamedTuple):
    """Levels from the finest on, and the inverse of the coarsest Laplacian, dense."""

    levels: list[Level]
    coarsest: Any


def hierarchy(laplacian: Any, seed: int, precision: Any = np.float32) -> Hierarchy:
    """Levels for a connected graph's Laplacian; single precision does for a preconditioner."""
    levels, random = [], generator(seed, Stream.AGGREGATES)
    matrix = laplacian.tocsr()
    while matrix.shape[0] > COARSEST:
        inverse = DAMPING / matrix.diagonal()[:, None]
        finer = _smoothed(matrix, inverse, _aggregate(matrix, random))
        few = finer.shape[1] < FEWEST and matrix.shape[0] <= DIRECT
        if few or finer.shape[1] == matrix.shape[0]:
            break
        levels.append(Level(*(each.astype(precision) for each in (matrix, inverse, finer, finer))))
        levels[-1] = levels[-1]._replace(coarser=levels[-1].finer.T.tocsr())
        matrix = (finer.T @ (matrix @ finer)).tocsr()
    # Constants get a share, so that there is an inverse; what it makes of them is taken off.
    size = matrix.shape[0]
    whole = matrix.toarray() + matrix.diagonal().mean() / size
    coarsest = np.linalg.inv(whole) if size > 1 else np.zeros((1, 1))
    return Hierarchy(levels, coarsest.astype(precision))


def _aggregate(matrix: Any, random: Any) -> Integers:
    """Which gathering each node is in, (size,): the seed at most two steps away.

    A node becomes a seed when it comes first, in a random order, of all nodes within two steps
    (one, in a crowded graph) that have none yet.
    """
    size = matrix.shape[0]
    starts, others = matrix.indptr[:-1], matrix.indices
    crowded = matrix.nnz > CROWDED * size

    def spread(values: Integers) -> Integers:
        # Every row has its diagonal entry, so none is empty and a node sees itself.
        return np.maximum.reduceat(values[others], starts)

    def around(values: Integers) -> Integers:
        return spread(values) if crowded else spread(spread(values))

    order = random.permutation(size).astype(np.int32) + 1
    seeds, free = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
    while free.any():
        waiting = np.where(free, order, 0)
        fresh = free & (around(waiting) == order)
        seeds |= fresh
        free &= around(fresh.astype(np.int8)) == 0
    labels = np.zeros(size, dtype=np.int32)
    labels[seeds] = 1 + np.arange(int(seeds.sum()))
    near = spread(labels)
    return np.asarray(np.where(near > 0, near, spread(near)) - 1)


def _smoothed(matrix: Any, inverse: Floats, gathering: Integers) -> Any:
    """From values of gatherings to values of nodes, made smooth by one step of Jacobi's."""
    from scipy.sparse import csr_array, diags_array

    size = len(gathering)
    shape = (size, int(gathering.max()) + 1)
    places = np.arange(size + 1, dtype=np.int32)
    flat = csr_array((np.ones(size), gathering, places), shape=shape)
    return (flat - diags_array(inverse[:, 0]) @ (matrix @ flat)).tocsr()


def cycle(grid: Hierarchy, wanted: Any, depth: int = 0) -> Any:
    """All columns at once, which is why the smoother is Jacobi's and not Gauss and Seidel's."""
    if depth == len(grid.levels):
        return grid.coarsest @ wanted
    matrix, inverse, finer, coarser = grid.levels[depth]
    found = inverse * wanted
    found += finer @ cycle(grid, coarser @ (wanted - matrix @ found), depth + 1)
    return found + inverse * (wanted - matrix @ found)


def multigrid(laplacian: Any, seed: int, precision: Any = np.float32) -> Callable[[Any], Any]:
    """An approximate inverse that takes and gives columns, (size,) or (size, columns).

    What it gives is orthogonal to the constants.

    >>> from anharmonic.measures.spectral.graph import Graph
    >>> path = Graph(900, np.stack([np.arange(899), np.arange(1, 900)], axis=1))
    >>> voltage = np.sin(np.arange(900) / 100)
    >>> found = multigrid(path.laplacian, seed=0)(path.laplacian @ voltage)
    >>> bool(np.std(found - voltage) < 0.3 * np.std(voltage))
    True
    """
    return approximately(hierarchy(laplacian, seed, precision))


def approximately(grid: Hierarchy) -> Callable[[Any], Any]:
    """The cycle of a hierarchy as a function of columns, in the hierarchy's own precision."""

    def approximate(columns: Any) -> Any:
        space = array_namespace(columns)
        wanted = without_constants(columns).reshape(len(columns), -1)
        found = cycle(grid, space.astype(wanted, grid.coarsest.dtype))
        return without_constants(space.astype(found, columns.dtype)).reshape(columns.shape)

    return approximate


def moved(grid: Hierarchy, device: str) -> Hierarchy:
    """The same hierarchy on a device."""
    levels = [
        Level(
            sparse(each.matrix, device),
            placed(each.inverse, device),
            sparse(each.finer, device),
            sparse(each.coarser, device),
        )
        for each in grid.levels
    ]
    return Hierarchy(levels, placed(grid.coarsest, device))


def without_constants(columns: Any) -> Any:
    """Columns less their means."""
    return columns - columns.mean(0)
