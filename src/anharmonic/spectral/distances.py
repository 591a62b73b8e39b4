"""How far apart two nodes of a graph are: electrically, and by the shortest path."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic.errors import Disconnected, NotConverged
from anharmonic.protocols import Floats, Integers
from anharmonic.spectral.graph import Graph
from anharmonic.spectral.multigrid import multigrid
from anharmonic.spectral.spectrum import DENSE
from anharmonic.spectral.threads import single_thread

__all__ = ["geodesic", "resistance"]

SOURCES = 64
TOLERANCE = 1e-9


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
    with single_thread():
        approximate = multigrid(graph.laplacian, seed)
        every = zip(low.tolist(), high.tolist(), strict=True)
        return np.array([_between(graph, one, two, approximate) for one, two in every])


def _within_parts(graph: Graph, low: Integers, high: Integers, found: Floats) -> Floats:
    return np.where(graph.parts[low] == graph.parts[high], found, np.inf)


def _between(graph: Graph, one: int, two: int, approximate: Any) -> float:
    from scipy.sparse.linalg import LinearOperator, cg

    current = np.zeros(graph.size)
    current[one] += 1.0
    current[two] -= 1.0
    shape = graph.laplacian.shape
    preconditioner = LinearOperator(shape, matvec=approximate, dtype=np.float64)
    voltage, failed = cg(graph.laplacian, current, rtol=TOLERANCE, maxiter=500, M=preconditioner)
    if failed:
        raise NotConverged(f"the resistance between {one} and {two} did not settle: other pairs?")
    return float(voltage[one] - voltage[two])


def geodesic(graph: Graph, pairs: Integers) -> Floats:
    """Edges on the shortest path between the nodes of each pair; infinite where there is none.

    >>> path = Graph(4, np.array([[0, 1], [1, 2], [2, 3]]))
    >>> geodesic(path, np.array([[0, 3], [1, 2]])).tolist()
    [3.0, 1.0]
    """
    from scipy.sparse.csgraph import dijkstra

    low, high = np.asarray(pairs).T
    sources, places = np.unique(low, return_inverse=True)
    found = np.empty(len(low))
    for start in range(0, len(sources), SOURCES):
        some = sources[start : start + SOURCES]
        lengths = dijkstra(graph.adjacency, directed=False, indices=some, unweighted=True)
        here = (places >= start) & (places < start + SOURCES)
        found[here] = lengths[places[here] - start, high[here]]
    return found
