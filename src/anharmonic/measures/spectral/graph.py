"""Graphs of neighbours: unweighted, undirected, their Laplacians, and how they hang together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.measures.spectral.search import TREE_DIMENSIONS

__all__ = ["Graph", "SparseMatrix", "graph_of", "join_components"]

FEW_PARTS = 64
"""Components up to which a kd-tree for each is quicker than comparing everything."""
SCANNED = 2**22
"""Distances held at once, while components are joined."""


class SparseMatrix(Protocol):
    """What is used of scipy's `csr_array`: rows compressed, row i at indptr[i] : indptr[i + 1]."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def indptr(self) -> Integers: ...

    @property
    def indices(self) -> Integers: ...

    @property
    def nnz(self) -> int: ...

    @property
    def T(self) -> SparseMatrix: ...  # noqa: N802  numpy's name

    def __matmul__(self, other: Array) -> Array: ...

    def __getitem__(self, item: object) -> SparseMatrix: ...

    def astype(self, dtype: type[np.floating]) -> SparseMatrix: ...

    def diagonal(self) -> Floats: ...

    def toarray(self) -> Floats: ...

    def tocsr(self) -> SparseMatrix: ...


@dataclass(frozen=True)
class Graph:
    """An unweighted, undirected graph.

    Parameters
    ----------
    size
        How many nodes there are, numbered from 0.
    edges : (edges, 2)
        Pairs of nodes, each once, the lower number first.

    Examples
    --------
    >>> path = Graph(3, np.array([[0, 1], [1, 2]]))
    >>> path.laplacian.toarray().tolist()
    [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
    """

    size: int
    edges: Integers

    @cached_property
    def adjacency(self) -> SparseMatrix:
        """Ones where there is an edge, (size, size), sparse."""
        from scipy.sparse import csr_array

        # Narrow numbers: half as much to read at every product.
        low, high = self.edges.T.astype(np.int32 if self.size < 2**31 else np.int64)
        both = np.concatenate([low, high]), np.concatenate([high, low])
        adjacency: SparseMatrix = csr_array(
            (np.ones(len(both[0])), both), shape=(self.size, self.size)
        )
        return adjacency

    @cached_property
    def degrees(self) -> Floats:
        """How many edges each node has, (size,)."""
        return np.asarray(np.bincount(self.edges.ravel(), minlength=self.size), dtype=np.float64)

    @cached_property
    def laplacian(self) -> SparseMatrix:
        """L = D − A, sparse: the combinatorial one, whose null vectors are the constants.

        Normalised ones of two graphs share no null vector, which makes the score infinite.
        """
        from scipy.sparse import diags_array

        laplacian: SparseMatrix = diags_array(self.degrees) - self.adjacency
        return laplacian.tocsr()

    @cached_property
    def parts(self) -> Integers:
        """Which connected component each node is in, (size,), the largest numbered 0."""
        from scipy.sparse.csgraph import connected_components

        labels = connected_components(self.adjacency, directed=False)[1]
        # argsort of an order is the rank: the largest component's label becomes 0.
        order = np.argsort(-np.bincount(labels), kind="stable")
        return np.asarray(np.argsort(order)[labels], dtype=np.int64)

    @property
    def count(self) -> int:
        """How many components there are."""
        return int(self.parts.max()) + 1

    def among(self, nodes: Integers) -> Graph:
        """The graph on some nodes alone (ascending), numbered anew."""
        numbers = np.full(self.size, -1)
        numbers[nodes] = np.arange(len(nodes))
        edges = numbers[self.edges]
        return Graph(len(nodes), edges[(edges >= 0).all(axis=1)])


def graph_of(indices: Integers) -> Graph:
    """The graph in which two rows are joined if either is a neighbour of the other.

    `indices` (rows, neighbours) are those that a search gave.
    """
    rows, count = indices.shape
    one, two = np.repeat(np.arange(rows), count), indices.ravel()
    # An edge as one number, low · rows + high: sorting those is quicker than sorting pairs.
    keys = np.unique(np.minimum(one, two) * rows + np.maximum(one, two))
    return Graph(rows, np.stack(np.divmod(keys, rows), axis=1))


def join_components(graph: Graph, points: Floats) -> tuple[Graph, int]:
    """The graph connected through its components' nearest pairs, and how many edges that took.

    Round after round every component but the largest is joined to the row nearest to it, as in
    Borůvka's minimal spanning tree.
    """
    before = len(graph.edges)
    while graph.count > 1:
        links = np.array(_links(graph, points))
        links.sort(axis=1)
        graph = Graph(graph.size, np.unique(np.concatenate([graph.edges, links]), axis=0))
    return graph, len(graph.edges) - before


def _links(graph: Graph, points: Floats) -> list[tuple[int, int]]:
    """For every component but the largest, its node and the node outside that are nearest."""
    by_tree = graph.count <= FEW_PARTS and points.shape[1] <= TREE_DIMENSIONS
    nearest = _nearest_by_tree if by_tree else _nearest_by_scan
    links = []
    # Nodes sorted by component: component c is order[starts[c] : starts[c + 1]].
    order = np.argsort(graph.parts, kind="stable")
    starts = np.searchsorted(graph.parts[order], np.arange(graph.count + 1))
    for part in range(1, graph.count):
        members = order[starts[part] : starts[part + 1]]
        outside = np.flatnonzero(graph.parts != part)
        distances, positions = nearest(points[members], points[outside])
        best = int(np.argmin(distances))
        links.append((int(members[best]), int(outside[positions[best]])))
    return links


def _nearest_by_tree(members: Floats, others: Floats) -> tuple[Floats, Integers]:
    """Each member's distance to the nearest of the others, and that one's position, (members,)."""
    from scipy.spatial import KDTree

    distances, positions = KDTree(others).query(members)
    return distances, positions


def _nearest_by_scan(members: Floats, others: Floats) -> tuple[Floats, Integers]:
    """The same with squared distances, which have the same minimum, by comparing everything."""
    from scipy.spatial.distance import cdist

    step = max(1, SCANNED // len(others))
    squares, positions = np.empty(len(members)), np.empty(len(members), dtype=np.int64)
    for start in range(0, len(members), step):
        block = cdist(members[start : start + step], others, "sqeuclidean")
        positions[start : start + step] = block.argmin(axis=1)
        squares[start : start + step] = block.min(axis=1)
    return squares, positions
