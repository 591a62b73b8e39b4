"""Distortion of distances and of cuts, and the two bounds that the score puts on them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments, welch
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.spectral.distances import geodesic, resistance
from anharmonic.measures.spectral.graph import Graph
from anharmonic.measures.spectral.result import SpadeScores

__all__ = ["Bounds", "Distortion", "bounds", "cut_distortion", "distortion", "pair_distortion"]

Distance = Literal["resistance", "geodesic"]
ROUNDING = 1e-6
"""By how much of itself a bound may be missed."""


class Distortion(NamedTuple):
    """Distances among outputs over distances among inputs, for the top edges and random ones.

    Parameters
    ----------
    distance
        "resistance" or "geodesic".
    top, chance : (edges,)
        The ratio of each of the top edges, and of each random one.
    top_edges, chance_edges : (edges, 2)
        Those edges, as row numbers.
    """

    distance: Distance
    top: Floats
    chance: Floats
    top_edges: Integers
    chance_edges: Integers

    @property
    def means(self) -> tuple[Estimate, Estimate]:
        """The mean over the top edges and over random ones (the paper's Table 2)."""
        both = (Moments.of(ratios) for ratios in (self.top, self.chance))
        top, chance = (Estimate(float(moments.mean), float(moments.error)) for moments in both)
        return top, chance

    @property
    def difference(self) -> Estimate:
        """The mean over the top edges less that over random ones, with Welch's error."""
        return welch(Moments.of(self.top), Moments.of(self.chance))[0]

    def __repr__(self) -> str:
        top, chance = self.means
        return (
            f"<distortion by {self.distance} distance: {top} over the {len(self.top)} edges with "
            f"the largest scores, {chance} over {len(self.chance)} random ones>"
        )


def distortion(
    scores: SpadeScores, count: int = 100, *, distance: Distance = "resistance", seed: int = 0
) -> Distortion:
    """Distance mapping distortion of the `count` top edges against as many random ones.

    Parameters
    ----------
    scores
        Of `spade`.
    count
        Edges with the largest scores, and random ones, drawn from the input graph without those.
    distance : "resistance" or "geodesic"
        In ohms, every edge being one, or in edges of the shortest path.
    seed
        Of the random edges.

    Examples
    --------
    >>> from anharmonic.measures.spectral.scoring import spade
    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> ratios = distortion(spade(lambda x: np.sin(5 * x), points), 20)
    >>> ratios.means[0].value > ratios.means[1].value
    True

    References
    ----------
    Cheng et al., SPADE, ICML 2021 (eq. 4, Table 2).
    """
    most = len(scores.edges) // 2
    if not 1 <= count <= most:
        raise SettingsError(f"{count} edges: give a number from 1 to {most}")
    order = np.argsort(-scores.edge_values, kind="stable")
    control = generator(seed, Stream.DISTORTION_CONTROL).choice(order[count:], count, replace=False)
    edges = scores.edges[np.concatenate([order[:count], np.sort(control)])]
    ratios = pair_distortion(scores, edges, distance=distance, seed=seed)
    return Distortion(distance, ratios[:count], ratios[count:], edges[:count], edges[count:])


def pair_distortion(
    scores: SpadeScores, pairs: Integers, *, distance: Distance = "resistance", seed: int = 0
) -> Floats:
    """Distance among outputs over distance among inputs for pairs of rows, (pairs,).

    0 where the inputs are in different components, infinitely far apart.

    Parameters
    ----------
    scores
        Of `spade`.
    pairs : (pairs, 2)
        Row numbers, of rows that were scored.
    distance : "resistance" or "geodesic"
        In ohms, every edge being one, or in edges of the shortest path.
    seed
        Of the preconditioner behind resistances.

    References
    ----------
    Cheng et al., SPADE, ICML 2021 (eq. 4).
    """
    if distance not in ("resistance", "geodesic"):
        raise SettingsError(f'distance {distance!r}: give "resistance" or "geodesic"')
    inputs, outputs, rows = scores.graphs()
    _check_connected(outputs)
    # From row numbers to nodes of the graphs.
    nodes = np.searchsorted(rows, pairs)
    if not np.array_equal(rows[np.minimum(nodes, len(rows) - 1)], pairs):
        raise SettingsError("some of these rows were not scored: copies, or outside the component")
    far, near = (_distances(graph, nodes, distance, seed) for graph in (outputs, inputs))
    return np.where(np.isfinite(near), far / near, 0.0)


def _distances(graph: Graph, pairs: Integers, distance: Distance, seed: int) -> Floats:
    """Distances by components, each on its own, infinite between them."""
    if distance == "geodesic":
        return geodesic(graph, pairs)
    distances = np.full(len(pairs), np.inf)
    parts = graph.parts[pairs]
    for part in np.unique(parts[parts[:, 0] == parts[:, 1], 0]).tolist():
        nodes = np.flatnonzero(graph.parts == part)
        here = (parts == part).all(axis=1)
        distances[here] = resistance(graph.among(nodes), np.searchsorted(nodes, pairs[here]), seed)
    return distances


def _check_connected(graph: Graph) -> None:
    """Refuse scores of several components: between those there is no distance."""
    if graph.count > 1:
        raise SettingsError(
            'the components were scored apart: measure with components="join" or "largest"'
        )


def cut_distortion(scores: SpadeScores, members: Integers) -> float:
    """Edges of the output graph that leave a set of rows, over those of the input graph.

    Infinite where no input edge leaves it. A small one says that neighbouring inputs on both
    sides of the set's border are torn apart.

    Parameters
    ----------
    scores
        Of `spade`.
    members
        The set's row numbers.

    References
    ----------
    Cheng et al., SPADE, ICML 2021 (eq. 11).
    """
    inputs, outputs, rows = scores.graphs()
    inside = np.isin(rows, members)
    if not 0 < inside.sum() < len(rows):
        raise SettingsError("give some of the scored rows, not none and not all")
    return _cut(inputs, outputs, inside)


def _cut(inputs: Graph, outputs: Graph, inside: NDArray[np.bool_]) -> float:
    """cut_Y(S) / cut_X(S) of the nodes `inside`, (nodes,)."""
    far, near = (
        int((inside[graph.edges[:, 0]] != inside[graph.edges[:, 1]]).sum())
        for graph in (outputs, inputs)
    )
    return far / near if near else float("inf")


class Bounds(NamedTuple):
    """The largest distortion and the smallest cut distortion of those tried, and the score.

    Parameters
    ----------
    score
        λ_max, which bounds both.
    largest_distortion, smallest_cut
        Over the pairs and sets that `bounds` tried.
    """

    score: float
    largest_distortion: float
    smallest_cut: float

    @property
    def held(self) -> bool:
        """Theorem 1, distortion ≤ score, and Theorem 2, cut distortion ≥ 1/score."""
        return (
            self.largest_distortion <= self.score * (1 + ROUNDING)
            and self.smallest_cut >= (1 - ROUNDING) / self.score
        )


def bounds(scores: SpadeScores, count: int = 100, *, seed: int = 0) -> Bounds:
    """Look for pairs and sets that break Theorems 1 and 2: none should.

    Parameters
    ----------
    scores
        Of `spade`.
    count
        Pairs are the `count` top edges, as many random edges and random pairs; sets are the first
        vector cut at `count` of its quantiles, where cuts are smallest, and as many random sets.
    seed
        Of what is random.

    References
    ----------
    Cheng et al., SPADE, ICML 2021 (Theorems 1 and 2).
    """
    inputs, outputs, rows = scores.graphs()
    _check_connected(outputs)
    random = generator(seed, Stream.DISTORTION_PAIRS)
    top = np.argsort(-scores.edge_values, kind="stable")[:count]
    others = random.choice(len(scores.edges), min(count, len(scores.edges)), replace=False)
    pairs = rows[random.integers(len(rows), size=(count, 2))]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    tried = np.concatenate([scores.edges[top], scores.edges[others], pairs])
    # Sweep cuts of the leading eigenvector, as in Cheeger's inequality; sets of (nodes,) flags.
    first = scores.vectors[rows, 0]
    cuts = np.quantile(first, np.linspace(0, 1, count + 2)[1:-1])
    sets = [*(first > cut for cut in cuts), *(random.random((count, len(rows))) < 0.5)]
    smallest = min(_cut(inputs, outputs, inside) for inside in sets if 0 < inside.sum() < len(rows))
    largest = float(pair_distortion(scores, tried, seed=seed).max())
    return Bounds(scores.score, largest, smallest)
