"""SPADE of every network at several numbers of neighbours, and what its edges distort.

What is found is plain data, small enough to be kept beside the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments
from anharmonic.measures.spectral import SpadeScores, distortion, pair_distortion, spade
from anharmonic.measures.spectral.distortion import Distance
from anharmonic.measures.spectral.search import Search, neighbours
from studies.page import Tell, silent
from studies.spade.case import TABLE, Case
from studies.streams import SpadeStream

__all__ = ["DISTANCES", "EDGES", "RANDOM", "Found", "Remembered", "mean_of", "measured_network"]

EDGES, RANDOM = 100, 2000
"""Top edges and as many random ones as in the paper, and random ones for the second claim."""
DISTANCES: tuple[Distance, ...] = ("geodesic", "resistance")


@dataclass(frozen=True)
class Remembered:
    """A search that knows the neighbours of some points already, and looks for others' anew."""

    first: Floats
    """The first rows of the points, by which they are known again."""
    nearest: Integers

    @classmethod
    def of(cls, flat: Floats, most: int) -> Remembered:
        """After one search for the most neighbours that are wanted."""
        points = np.asarray(flat, dtype=np.float64)
        return cls(points[:8].copy(), neighbours(points, most))

    def __call__(self, points: Floats, count: int) -> Integers:
        known = len(points) == len(self.nearest) and np.array_equal(points[:8], self.first)
        if not known or count > self.nearest.shape[1]:
            return neighbours(points, count)
        return self.nearest[:, :count]


def measured_network(
    flat: Floats,
    logits: Floats,
    case: Case,
    seed: int = 0,
    search: Search | str = "auto",
    tell: Tell = silent,
) -> dict[str, Any]:
    """Scores at every number of neighbours, and the distortions of Table 2.

    One eigenvector stands behind edge scores, as in the paper.
    """
    curve = [each for each in case.curve if each < len(flat) // 2]
    found: dict[str, Any] = {"scores": {}, "stretched": {}}
    for count in curve:
        tell(f"SPADE with {count} neighbours")
        blocks = 8 if count in TABLE else 0
        scores = spade(
            flat, logits, neighbours=count, rank=1, blocks=blocks, seed=seed, search=search
        )
        settings = scores.settings
        found["scores"][str(count)] = {
            "score": scores.score,
            "blocks": scores.blocks.tolist(),
            "parts": settings.output_parts,
            "added": settings.edges_added,
        }
        if count in TABLE:
            tell(f"distortion with {count} neighbours")
            found["stretched"][str(count)] = _stretched(scores, seed)
    return found


def _stretched(scores: SpadeScores, seed: int) -> dict[str, Any]:
    """Means with their errors, of top edges, of as many random ones, and of many random ones."""
    found: dict[str, Any] = {}
    for distance in DISTANCES:
        ratios = distortion(scores, EDGES, distance=distance, seed=seed)
        top, chance = ratios.means
        found[distance] = {
            "top": list(top),
            "chance": list(chance),
            "difference": list(ratios.difference),
        }
    random = generator(seed, SpadeStream.RANDOM_EDGES)
    many = random.choice(len(scores.edges), min(RANDOM, len(scores.edges)), replace=False)
    moments = Moments.of(
        pair_distortion(scores, scores.edges[np.sort(many)], distance="geodesic", seed=seed)
    )
    found["random"] = [float(moments.mean), float(moments.error)]
    return found


@dataclass(frozen=True)
class Found:
    """The measured networks of a case, in order of radius and seed."""

    case: Case
    networks: Sequence[dict[str, Any]]
    about: dict[str, Any]

    @cached_property
    def radii(self) -> Floats:
        """What each network was trained with."""
        return np.array([each["radius"] for each in self.networks])

    @cached_property
    def seeds(self) -> Integers:
        return np.array([each["seed"] for each in self.networks])

    @property
    def trained(self) -> tuple[float, ...]:
        """The case's radii that there are networks of."""
        return tuple(each for each in self.case.radii if (self.radii == each).any())

    def scores(self, count: int) -> list[dict[str, Any]]:
        return [each["scores"][str(count)] for each in self.networks]

    def values(self, count: int) -> Floats:
        """The score of every network, (networks,)."""
        return np.array([each["score"] for each in self.scores(count)])

    def joined(self, count: int) -> Any:
        """Whether the output graph had to be joined from parts, (networks,)."""
        return np.array([each["parts"] > 1 for each in self.scores(count)])

    def curve(self) -> tuple[int, ...]:
        """Numbers of neighbours that every network was measured with."""
        return tuple(
            count
            for count in self.case.curve
            if all(str(count) in each["scores"] for each in self.networks)
        )

    def stretched(self, count: int, distance: str, which: str) -> list[Any]:
        """Means of edges with their errors, one for each network."""
        held = [each["stretched"][str(count)] for each in self.networks]
        return [each["random"] if distance == "random" else each[distance][which] for each in held]

    def robust(self) -> Floats:
        """Accuracy under attack, the mean over the case's attacks, (networks,)."""
        return np.array([np.mean(each["robust"]) for each in self.networks])

    def over_seeds(self, values: Any) -> list[Estimate]:
        """One value per network in; for every radius the mean over seeds and its error out."""
        return [mean_of(np.asarray(values)[self.radii == radius]) for radius in self.trained]

    def gaps(self, values: Any, radius: float, other: float = 0.0) -> Floats:
        """By how much networks of `other` radius are above those of `radius` and the same seed."""
        held = np.asarray(values, dtype=np.float64)
        seeds = [each for each in np.unique(self.seeds) if self._both(each, radius, other)]
        return np.array(
            [held[self._at(seed, other)] - held[self._at(seed, radius)] for seed in seeds]
        )

    def _at(self, seed: int, radius: float) -> int:
        return int(np.flatnonzero((self.seeds == seed) & (self.radii == radius))[0])

    def _both(self, seed: int, radius: float, other: float) -> bool:
        here = self.radii[self.seeds == seed]
        return radius in here and other in here


def mean_of(values: Floats) -> Estimate:
    """The mean over seeds and its error."""
    moments = Moments.of(np.asarray(values, dtype=np.float64))
    return Estimate(float(moments.mean), float(moments.error))
