"""How far apart two nodes of a graph are: electrically, and by the shortest path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.errors import Disconnected, NotConverged
from anharmonic.measures.spectral.graph import Graph
from anharmonic.measures.spectral.multigrid import multigrid
from anharmonic.measures.spectral.spectrum import DENSE
from anharmonic.measures.spectral.threads import single_thread

__all__ = ["geodesic", "resistance"]

SOURCES = 64
"""Pairs of nodes that are solved for at once."""
ROUNDS = 500
TOLERANCE = 1e-6
"""Of the current that is not yet accounted for; the resistance is off by about its square."""


def resistance(graph: Graph, pairs: Integers, seed: int = 0) -> Floats:
    """Resistance between the nodes of each pair (pairs, 2) when every edge is one ohm.

    d(p, q) = (e_p − e_q)ᵀ L⁺ (e_p − e_q) (Cheng et al., 2021, eq. 5).

    >>> triangle = Graph(3, np.array([[0, 1], [0, 2], [1, 2]]))
    >>> resistance(triangle, np.array([[0, 1]])).round(10).tolist()
    [0.6666666667]
    """
    low, high = np.asarray(pairs).T
    if graph.size <= DENSE:
        # Eq. 5 written out: L⁺_pp + L⁺_qq − 2 L⁺_pq.
        inverse = np.linalg.pinv(graph.laplacian.toarray(), hermitian=True)
        own = np.diag(inverse)
        return _within_parts(graph, low, high, own[low] + own[high] - 2 * inverse[low, high])
    if graph.count > 1:
        raise Disconnected(
            f"the graph is in {graph.count} parts: take one of them with Graph.among"
        )
    with single_thread() as parallel:
        precondition = multigrid(graph.laplacian, seed)
        parts = (slice(start, start + SOURCES) for start in range(0, len(low), SOURCES))
        values = parallel(lambda part: _voltages(graph, low[part], high[part], precondition), parts)
        return np.concatenate([np.empty(0), *values])


def _within_parts(graph: Graph, low: Integers, high: Integers, values: Floats) -> Floats:
    """The values, infinite between components: no current flows there."""
    return np.where(graph.parts[low] == graph.parts[high], values, np.inf)


def _voltages(
    graph: Graph, low: Integers, high: Integers, precondition: Callable[[Array], Array]
) -> Floats:
    """Voltages that a current from one node to the other makes, (pairs,).

    By preconditioned conjugate gradients for L x = e_low − e_high. All pairs at once: a product
    with many columns takes little longer than with one.
    """
    columns = np.arange(len(low))
    # r and x, (size, pairs); x starts at 0, so that r is the right side.
    residuals, potentials = np.zeros((2, graph.size, len(low)))
    np.add.at(residuals, (low, columns), 1.0)
    np.add.at(residuals, (high, columns), -1.0)
    directions, previous = np.zeros_like(residuals), np.ones(len(low))
    for _ in range(ROUNDS):
        if (np.linalg.norm(residuals, axis=0) <= TOLERANCE).all():
            return np.asarray(potentials[low, columns] - potentials[high, columns])
        # z = T r, then p ← z + β p with β = rᵀz over the last round's.
        steps = precondition(residuals)
        products = (residuals * steps).sum(axis=0)
        directions = steps + directions * _ratio(products, previous)
        # α = rᵀz / pᵀLp, then x ← x + α p and r ← r − α L p.
        images = graph.laplacian @ directions
        lengths = _ratio(products, (directions * images).sum(axis=0))
        potentials += lengths * directions
        residuals -= lengths * images
        previous = products
    raise NotConverged("a resistance did not settle: take other pairs, or raise neighbours")


def _ratio(above: Floats, below: Floats) -> Floats:
    """Quotients, 0 where there is nothing left to divide by: that column is done."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def geodesic(graph: Graph, pairs: Integers) -> Floats:
    """Edges on the shortest path between the nodes of each pair; infinite where there is none.

    >>> path = Graph(4, np.array([[0, 1], [1, 2], [2, 3]]))
    >>> geodesic(path, np.array([[0, 3], [1, 2]])).tolist()
    [3.0, 1.0]
    """
    low, high = np.asarray(pairs).T
    parts = (slice(start, start + SOURCES) for start in range(0, len(low), SOURCES))
    distances = [_steps(graph, low[part], high[part]) for part in parts]
    return np.concatenate([np.empty(0), *distances])


def _steps(graph: Graph, low: Integers, high: Integers) -> Floats:
    """Steps from one node to the other, (pairs,), by breadth-first searches side by side."""
    columns, adjacency = np.arange(len(low)), graph.adjacency.astype(np.float32)
    distances = np.where(low == high, 0.0, np.inf)
    # 1 where a search has been, (size, pairs).
    reached = np.zeros((graph.size, len(low)), dtype=np.float32)
    reached[low, columns] = 1.0
    count, steps = reached.sum(), 0
    while np.isinf(distances).any():
        steps += 1
        reached = np.minimum(adjacency @ reached + reached, np.float32(1.0))
        distances[(reached[high, columns] > 0) & np.isinf(distances)] = steps
        before, count = count, np.count_nonzero(reached)
        # No search reached a new node: the rest lies in other components.
        if count == before:
            break
    return distances
