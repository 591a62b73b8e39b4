"""From two graphs to scores: components joined or parted, eigenpairs, scores of edges and nodes."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import Disconnected, SettingsError
from anharmonic.measures.spectral.graph import Graph, graph_of, join_components
from anharmonic.measures.spectral.search import (
    Search,
    choose_search,
    neighbours,
    recall,
    rescale_if_extreme,
    ties,
)
from anharmonic.measures.spectral.spectrum import ROUGH, TOLERANCE, leading
from anharmonic.models.torch_arrays import accelerated

__all__ = ["Components", "Plan", "Side", "Solution", "build_side", "checked_plan", "solve"]

Components = Literal["join", "largest", "each", "refuse"]


class Plan(NamedTuple):
    """How to score, the same for every model and every block."""

    neighbours: int
    rank: int
    components: Components
    search: str | Search
    seed: int


def checked_plan(plan: Plan) -> Plan:
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
    ties: float = 0.0


class Solution(NamedTuple):
    """Scores of nodes (NaN where left out) and of the input graph's edges.

    `inputs` and `outputs` are the graphs as they were used; `parts` are the (size, score) of what
    was solved apart, the largest score first; `torn` counts edges of the whole input graph
    between different components of the outputs.
    """

    eigenvalues: Floats
    vectors: Floats
    values: Floats
    edge_values: Floats
    inputs: Graph
    outputs: Graph
    parts: list[tuple[int, float]]
    added: int
    torn: int
    residual: float

    @property
    def score(self) -> float:
        return float(self.eigenvalues[0])


def build_side(points: Floats, plan: Plan, measure: bool = True) -> Side:
    """The graph of some points; what a search may miss and ties are measured on a sample."""
    points = rescale_if_extreme(points)
    indices = neighbours(points, plan.neighbours, plan.search)
    name = "own" if callable(plan.search) else choose_search(points, plan.search)
    exact = name in ("exact", "tree", "torch")
    share = 1.0 if exact else recall(points, indices, seed=plan.seed) if measure else float("nan")
    equal = ties(points, plan.neighbours, seed=plan.seed) if measure else float("nan")
    return Side(points, graph_of(indices), name, share, equal)


def solve(inputs: Side, outputs: Side, plan: Plan) -> Solution:
    """Scores of one model. The input graph may be in parts: that leaves every λ finite."""
    graph, added = outputs.graph, 0
    if graph.count > 1 and plan.components == "refuse":
        raise Disconnected(
            f"the output graph is in {graph.count:,} parts, the largest of "
            f"{int((graph.parts == 0).sum()):,} points: raise neighbours, or give "
            'components="join", "largest" or "each"'
        )
    # The output components of both ends of every input edge, (edges, 2), before any are joined.
    ends = graph.parts[inputs.graph.edges]
    if plan.components == "join":
        graph, added = join_components(graph, outputs.points)
    kept = 1 if plan.components == "largest" else graph.count
    # Nodes sorted by component: component c is order[starts[c] : starts[c + 1]].
    order = np.argsort(graph.parts, kind="stable")
    starts = np.searchsorted(graph.parts[order], np.arange(kept + 1))
    groups = [order[starts[part] : starts[part + 1]] for part in range(kept)]
    return _solve_groups(inputs, graph, groups, plan)._replace(
        added=added, torn=int((ends[:, 0] != ends[:, 1]).sum())
    )


def _solve_groups(inputs: Side, outputs: Graph, groups: list[Integers], plan: Plan) -> Solution:
    """Solve every group of nodes as if there were no others, and put the scores side by side."""
    size = inputs.graph.size
    rank = min(plan.rank, size - 1)
    device = accelerated() if plan.search == "torch" else None
    tolerance = ROUGH if plan.search == "fast" else TOLERANCE
    vectors = np.full((size, rank), np.nan)
    edges, edge_values, solved = [], [], []
    for nodes in groups:
        # A part of the points has neighbours of its own, none outside.
        if len(nodes) == size:
            graph = inputs.graph
        else:
            graph = build_side(inputs.points[nodes], plan, measure=False).graph
        spectrum = leading(graph, outputs.among(nodes), rank, plan.seed, device, tolerance)
        pairs = len(spectrum.values)
        vectors[nodes, :pairs], vectors[nodes, pairs:] = spectrum.vectors, 0.0
        # V_r = [v_i √λ_i], (nodes, pairs): Cheng et al. (2021), eq. 13.
        embedding = spectrum.vectors * np.sqrt(np.maximum(spectrum.values, 0.0))
        # An edge's score is ‖V_rᵀ(e_p − e_q)‖²: eq. 14.
        low, high = graph.edges.T
        edges.append(nodes[graph.edges])
        edge_values.append(np.square(embedding[low] - embedding[high]).sum(axis=1))
        solved.append((len(nodes), spectrum))
    solved.sort(key=lambda part: -part[1].values[0])
    # Edges of all groups in the order of their nodes, as a graph has them.
    every, scores = np.concatenate(edges), np.concatenate(edge_values)
    order = np.lexsort((every[:, 1], every[:, 0]))
    used, best = Graph(size, every[order]), solved[0][1]
    return Solution(
        eigenvalues=np.pad(best.values, (0, rank - len(best.values))),
        vectors=vectors,
        values=_node_values(used, scores[order]),
        edge_values=scores[order],
        inputs=used,
        outputs=outputs,
        parts=[(count, float(spectrum.values[0])) for count, spectrum in solved],
        added=0,
        torn=0,
        residual=max(spectrum.residual for _, spectrum in solved),
    )


def _node_values(graph: Graph, edge_values: Floats) -> Floats:
    """Each node's mean over its edges, (size,), NaN without any: Cheng et al. (2021), eq. 17."""
    total = np.bincount(graph.edges.ravel(), np.repeat(edge_values, 2), minlength=graph.size)
    none = np.full(graph.size, np.nan)
    return np.asarray(np.divide(total, graph.degrees, out=none, where=graph.degrees > 0))
