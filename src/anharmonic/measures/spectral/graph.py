"""Graphs of neighbours: unweighted, undirected, their Laplacians, and how they hang together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.measures.spectral.search import TREE_DIMENSIONS

__all__ = ["Graph", "graph_of", "joined"]

FEW_PARTS = 64


@dataclass(frozen=True)
class Graph:
    """Undirected edges (edges, 2) between `size` nodes, each once, the lower number first.

    >>> path = Graph(3, np.array([[0, 1], [1, 2]]))
    >>> path.laplacian.toarray().tolist()
    [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
    """

    size: int
    edges: Integers

    @cached_property
    def adjacency(self) -> Any:
        """Ones where there is an edge, (size, size), sparse."""
        from scipy.sparse import csr_array

        # Narrow numbers: half as much to read at every product.
        low, high = self.edges.T.astype(np.int32 if self.size < 2**31 else np.int64)
        both = np.concatenate([low, high]), np.concatenate([high, low])
        return csr_array((np.ones(len(both[0])), both), shape=(self.size, self.size))

    @cached_property
    def degrees(self) -> Floats:
        return np.asarray(np.bincount(self.edges.ravel(), minlength=self.size), dtype=np.float64)

    @cached_property
    def laplacian(self) -> Any:
        """Degrees less adjacency, sparse: the combinatorial one, whose null vectors are constants.

        Normalised ones of two graphs share no null vector, which makes the score infinite.
        """
        from scipy.sparse import diags_array

        return (diags_array(self.degrees) - self.adjacency).tocsr()

    @cached_property
    def parts(self) -> Integers:
        """Which connected component each node is in, (size,), the largest numbered 0."""
        from scipy.sparse.csgraph import connected_components

        labels = connected_components(self.adjacency, directed=False)[1]
        order = np.argsort(-np.bincount(labels), kind="stable")
        return np.asarray(np.argsort(order)[labels], dtype=np.int64)

    @property
    def count(self) -> int:
        """How many components there are."""
        return int(self.parts.max()) + 1

    def among(self, nodes: Integers) -> Graph:
        """The graph on some nodes alone (ascending), numbered anew."""
        place = np.full(self.size, -1)
        place[nodes] = np.arange(len(nodes))
        edges = place[self.edges]
        return Graph(len(nodes), edges[(edges >= 0).all(axis=1)])


def graph_of(found: Integers) -> Graph:
    """The graph in which two rows are joined if either is a neighbour of the other."""
    rows, count = found.shape
    one, two = np.repeat(np.arange(rows), count), found.ravel()
    keys = np.unique(np.minimum(one, two) * rows + np.maximum(one, two))
    return Graph(rows, np.stack(np.divmod(keys, rows), axis=1))


def joined(graph: Graph, points: Floats) -> tuple[Graph, int]:
    """The graph made whole by its components' nearest pairs, and how many edges that took.

    Round after round every component but the largest is joined to the row nearest to it, as in
    Borůvka's minimal spanning tree.
    """
    before = len(graph.edges)
    while graph.count > 1:
        added = np.array(_links(graph, points))
        added.sort(axis=1)
        graph = Graph(graph.size, np.unique(np.concatenate([graph.edges, added]), axis=0))
    return graph, len(graph.edges) - before


def _links(graph: Graph, points: Floats) -> list[tuple[int, int]]:
    """For every component but the largest, its node and the node outside that are nearest."""
    few = graph.count <= FEW_PARTS and points.shape[1] <= TREE_DIMENSIONS
    nearest = _nearest_by_tree if few else _nearest_by_scan
    links = []
    order = np.argsort(graph.parts, kind="stable")
    bounds = np.searchsorted(graph.parts[order], np.arange(graph.count + 1))
    for part in range(1, graph.count):
        members = order[bounds[part] : bounds[part + 1]]
        outside = np.flatnonzero(graph.parts != part)
        squares, places = nearest(points[members], points, outside)
        best = int(np.argmin(squares))
        links.append((int(members[best]), int(outside[places[best]])))
    return links


def _nearest_by_tree(asked: Floats, points: Floats, outside: Integers) -> tuple[Floats, Integers]:
    from scipy.spatial import KDTree

    distances, places = KDTree(points[outside]).query(asked)
    return distances, places


def _nearest_by_scan(asked: Floats, points: Floats, outside: Integers) -> tuple[Floats, Integers]:
    from scipy.spatial.distance import cdist

    step = max(1, 2**22 // len(points))
    among = points[outside]
    squares, places = np.empty(len(asked)), np.empty(len(asked), dtype=np.int64)
    for start in range(0, len(asked), step):
        part = cdist(asked[start : start + step], among, "sqeuclidean")
        places[start : start + step] = part.argmin(axis=1)
        squares[start : start + step] = part.min(axis=1)
    return squares, places
