"""From two graphs to scores: connectivity settled, eigenpairs found, edges and nodes scored."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from anharmonic.errors import Disconnected, SettingsError
from anharmonic.protocols import Floats, Integers
from anharmonic.spectral.graph import Graph, graph_of, joined
from anharmonic.spectral.search import Search, automatic, neighbours, recall
from anharmonic.spectral.spectrum import Spectrum, leading

__all__ = ["Components", "Plan", "Side", "Solution", "checked", "side", "solved"]

Components = Literal["join", "largest", "each", "refuse"]


class Plan(NamedTuple):
    """How to score, the same for every model and every block."""

    neighbours: int
    rank: int
    components: Components
    search: str | Search
    seed: int


def checked(plan: Plan) -> Plan:
    """The plan, if it has a meaning."""
    if plan.components not in get_args(Components):
        names = ", ".join(get_args(Components))
        raise SettingsError(f"components {plan.components!r}: give one of {names}")
    if plan.rank < 1:
        raise SettingsError(f"rank {plan.rank}: give 1 or more")
    return plan


class Side(NamedTuple):
    """Points, their graph, and how their neighbours were found."""

    points: Floats
    graph: Graph
    search: str
    recall: float


class Solution(NamedTuple):
    """Scores of nodes and of the input graph's edges (NaN where an edge leaves its part).

    `outputs` is the output graph as it was used; `parts` are the (size, score) of what was
    solved apart, the largest score first.
    """

    eigenvalues: Floats
    vectors: Floats
    values: Floats
    edge_values: Floats
    outputs: Graph
    parts: list[tuple[int, float]]
    added: int
    residual: float

    @property
    def score(self) -> float:
        return float(self.eigenvalues[0])


def side(points: Floats, plan: Plan, measure: bool = True) -> Side:
    """The graph of some points; the recall of a search that may miss is measured on a sample."""
    found = neighbours(points, plan.neighbours, plan.search)
    if callable(plan.search):
        name = "own"
    else:
        name = automatic(points) if plan.search == "auto" else plan.search
    exact = name in ("exact", "tree")
    share = 1.0 if exact else recall(points, found, seed=plan.seed) if measure else float("nan")
    return Side(points, graph_of(found), name, share)


def solved(inputs: Graph, outputs: Side, plan: Plan) -> Solution:
    """Scores of one model. The input graph may be in parts: that leaves every λ finite."""
    graph, added = outputs.graph, 0
    if graph.count > 1 and plan.components == "refuse":
        raise Disconnected(
            f"the output graph is in {graph.count:,} parts, the largest of "
            f"{int((graph.parts == 0).sum()):,} points: raise neighbours, or give "
            'components="join", "largest" or "each"'
        )
    if plan.components == "join":
        graph, added = joined(graph, outputs.points)
    kept = 1 if plan.components == "largest" else graph.count
    order = np.argsort(graph.parts, kind="stable")
    bounds = np.searchsorted(graph.parts[order], np.arange(kept + 1))
    groups = [order[bounds[part] : bounds[part + 1]] for part in range(kept)]
    return _assembled(inputs, graph, [each for each in groups if len(each) > 1], added, plan)


def _assembled(
    inputs: Graph, outputs: Graph, groups: list[Integers], added: int, plan: Plan
) -> Solution:
    """Solve every group of nodes on its own and put the scores side by side."""
    rank = min(plan.rank, inputs.size - 1)
    vectors = np.full((inputs.size, rank), np.nan)
    edge_values = np.full(len(inputs.edges), np.nan)
    found: list[tuple[int, Spectrum]] = []
    for nodes in groups:
        part = inputs.among(nodes)
        spectrum = _spectrum(part, outputs.among(nodes), plan)
        many = len(spectrum.values)
        vectors[nodes, :many], vectors[nodes, many:] = spectrum.vectors, 0.0
        member = np.zeros(inputs.size, dtype=bool)
        member[nodes] = True
        embedded = spectrum.vectors * np.sqrt(np.maximum(spectrum.values, 0.0))
        low, high = part.edges.T
        inside = member[inputs.edges].all(axis=1)
        edge_values[inside] = np.square(embedded[low] - embedded[high]).sum(axis=1)
        found.append((len(nodes), spectrum))
    found.sort(key=lambda each: -each[1].values[0])
    best = found[0][1]
    return Solution(
        np.pad(best.values, (0, rank - len(best.values))),
        vectors,
        _means(inputs, edge_values),
        edge_values,
        outputs,
        [(size, float(each.values[0])) for size, each in found],
        added,
        max(each.residual for _, each in found),
    )


def _spectrum(inputs: Graph, outputs: Graph, plan: Plan) -> Spectrum:
    if len(inputs.edges):
        return leading(inputs, outputs, plan.rank, plan.seed)
    # No two of these outputs belong to neighbouring inputs.
    return Spectrum(np.zeros(1), np.zeros((inputs.size, 1)), 0.0)


def _means(graph: Graph, edge_values: Floats) -> Floats:
    """Each node's mean over its edges that have a score: divided by how many those are."""
    known = np.isfinite(edge_values)
    ends, twice = graph.edges[known].ravel(), np.repeat(edge_values[known], 2)
    total = np.bincount(ends, twice, minlength=graph.size)
    count = np.bincount(ends, minlength=graph.size)
    none = np.full(graph.size, np.nan)
    return np.asarray(np.divide(total, count, out=none, where=count > 0))
