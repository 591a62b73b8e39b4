"""Small graphs with known answers, and scores made of them."""

from __future__ import annotations

import numpy as np

from anharmonic.measures.spectral.graph import Graph
from anharmonic.measures.spectral.solution import Plan, Side, solve


def path(size):
    return Graph(size, np.stack([np.arange(size - 1), np.arange(1, size)], axis=1))


def cycle(size):
    edges = np.concatenate([path(size).edges, [[0, size - 1]]])
    return Graph(size, edges[np.lexsort((edges[:, 1], edges[:, 0]))])


def complete(size):
    return Graph(size, np.argwhere(np.triu(np.ones((size, size)), 1)))


def random_graph(random, size, extra):
    """A random tree and some more edges: connected."""
    order = random.permutation(size)
    tree = [(order[random.integers(place)], order[place]) for place in range(1, size)]
    more = random.integers(size, size=(extra, 2))
    edges = np.sort(np.concatenate([np.array(tree), more[more[:, 0] != more[:, 1]]]), axis=1)
    return Graph(size, np.unique(edges, axis=0))


def score(inputs, outputs, rank=1, components="join"):
    nowhere = np.zeros((inputs.size, 1))
    plan = Plan(1, rank, components, "auto", 0)
    return solve(Side(nowhere, inputs, "own", 1.0), Side(nowhere, outputs, "own", 1.0), plan)
