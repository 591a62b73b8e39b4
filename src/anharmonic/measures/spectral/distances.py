"""How far apart two nodes of a graph are: electrically, and by the shortest path."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import Disconnected, NotConverged
from anharmonic.measures.spectral.graph import Graph
from anharmonic.measures.spectral.multigrid import multigrid
from anharmonic.measures.spectral.spectrum import DENSE
from anharmonic.measures.spectral.threads import single_thread

__all__ = ["geodesic", "resistance"]

SOURCES = 64
ROUNDS = 500
TOLERANCE = 1e-6
"""Of the current that is not yet accounted for; the resistance is off by about its square."""


def resistance(graph: Graph, pairs: Integers, seed: int = 0) -> Floats:
    """Resistance between the nodes of each pair (pairs, 2) when every edge is one ohm.

    >>> triangle = Graph(3, np.array([[0, 1], [0, 2], [1, 2]]))
    >>> resistance(triangle, np.array([[0, 1]])).round(10).tolist()
    [0.6666666667]
    """
    low, high = np.asarray(pairs).T
    if graph.size <= DENSE:
        inverse = np.linalg.pinv(graph.laplacian.toarray(), hermitian=True)
        own = np.diag(inverse)
        return _within_parts(graph, low, high, own[low] + own[high] - 2 * inverse[low, high])
    if graph.count > 1:
        raise Disconnected(
            f"the graph is in {graph.count} parts: take one of them with Graph.among"
        )
    with single_thread() as each:
        approximate = multigrid(graph.laplacian, seed)
        parts = (slice(start, start + SOURCES) for start in range(0, len(low), SOURCES))
        found = each(lambda part: _between(graph, low[part], high[part], approximate), parts)
        return np.concatenate([np.empty(0), *found])


def _within_parts(graph: Graph, low: Integers, high: Integers, found: Floats) -> Floats:
    return np.where(graph.parts[low] == graph.parts[high], found, np.inf)


def _between(graph: Graph, low: Integers, high: Integers, approximate: Any) -> Floats:
    """Voltages that a current from one node to the other makes, by conjugate gradients.

    All pairs at once: a product with many columns takes little longer than with one.
    """
    columns = np.arange(len(low))
    misfits, voltages = np.zeros((2, graph.size, len(low)))
    np.add.at(misfits, (low, columns), 1.0)
    np.add.at(misfits, (high, columns), -1.0)
    moves, before = np.zeros_like(misfits), np.ones(len(low))
    for _ in range(ROUNDS):
        if (np.linalg.norm(misfits, axis=0) <= TOLERANCE).all():
            return np.asarray(voltages[low, columns] - voltages[high, columns])
        steps = approximate(misfits)
        sizes = (misfits * steps).sum(axis=0)
        moves = steps + moves * _ratio(sizes, before)
        pushed = graph.laplacian @ moves
        lengths = _ratio(sizes, (moves * pushed).sum(axis=0))
        voltages += lengths * moves
        misfits -= lengths * pushed
        before = sizes
    raise NotConverged("a resistance did not settle: take other pairs, or raise neighbours")


def _ratio(one: Floats, two: Floats) -> Floats:
    """A quotient, 0 where there is nothing left to divide by: that column is done."""
    return np.divide(one, two, out=np.zeros_like(one), where=two > 0)


def geodesic(graph: Graph, pairs: Integers) -> Floats:
    """Edges on the shortest path between the nodes of each pair; infinite where there is none.

    >>> path = Graph(4, np.array([[0, 1], [1, 2], [2, 3]]))
    >>> geodesic(path, np.array([[0, 3], [1, 2]])).tolist()
    [3.0, 1.0]
    """
    low, high = np.asarray(pairs).T
    parts = (slice(start, start + SOURCES) for start in range(0, len(low), SOURCES))
    found = [_steps(graph, low[part], high[part]) for part in parts]
    return np.concatenate([np.empty(0), *found])


def _steps(graph: Graph, low: Integers, high: Integers) -> Floats:
    """Steps from one node to the other: all pairs' surroundings grow until all are met."""
    columns, adjacency = np.arange(len(low)), graph.adjacency.astype(np.float32)
    found = np.where(low == high, 0.0, np.inf)
    reached = np.zeros((graph.size, len(low)), dtype=np.float32)
    reached[low, columns] = 1.0
    count, steps = reached.sum(), 0
    while np.isinf(found).any():
        steps += 1
        reached = np.minimum(adjacency @ reached + reached, np.float32(1.0))
        found[(reached[high, columns] > 0) & np.isinf(found)] = steps
        before, count = count, np.count_nonzero(reached)
        if count == before:
            break
    return found
