"""SPADE of every network at several numbers of neighbours, and what its top edges distort."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments
from anharmonic.measures.spectral import SpadeScores, compare, distortion
from anharmonic.measures.spectral.distortion import Distance, Distortion
from anharmonic.measures.spectral.ranking import Ranking, Ratio
from studies.mnist import Digits
from studies.page import Tell
from studies.spade.networks import RADII, Networks

__all__ = ["CURVE", "DISTANCES", "EDGES", "TABLE", "Found", "measured"]

TABLE = (10, 20)
"""Neighbours in the paper's tables: these scores get intervals."""
CURVE = (5, 10, 15, 20)
EDGES = 100
DISTANCES: tuple[Distance, ...] = ("geodesic", "resistance")


@dataclass(frozen=True)
class Found:
    """Rankings by neighbours, and distortions by neighbours and distance, in networks' order."""

    networks: Networks
    rankings: dict[int, Ranking]
    stretched: dict[tuple[int, Distance], list[Distortion]]

    @property
    def names(self) -> list[str]:
        return _names(self.networks)

    def scores(self, neighbours: int) -> list[SpadeScores]:
        return [self.rankings[neighbours].scores[name] for name in self.names]

    def values(self, neighbours: int) -> Floats:
        """The score of every network, (networks,)."""
        return np.array([each.score for each in self.scores(neighbours)])

    def over_seeds(self, values: Floats) -> list[Estimate]:
        """One value a network in; for every radius the mean over seeds and its error out."""
        return [_mean(np.asarray(values)[self.networks.radii == radius]) for radius in RADII]

    def same_seed(self, neighbours: int) -> list[tuple[float, float, Ratio]]:
        """Ratios of two networks of one seed, with the radii of the larger and the smaller."""
        radii, seeds = self.networks.radii, self.networks.seeds
        about = dict(zip(self.names, zip(radii, seeds, strict=True), strict=True))
        return [
            (float(about[each.larger][0]), float(about[each.smaller][0]), each)
            for each in self.rankings[neighbours].ratios
            if about[each.larger][1] == about[each.smaller][1]
        ]


def _names(networks: Networks) -> list[str]:
    both = zip(networks.radii.tolist(), networks.seeds.tolist(), strict=True)
    return [f"ε = {radius:g}, seed {own}" for radius, own in both]


def _mean(values: Floats) -> Estimate:
    moments = Moments.of(values)
    return Estimate(float(moments.mean), float(moments.error))


def measured(networks: Networks, asked: Digits, seed: int, tell: Tell) -> Found:
    """Scores at every number of neighbours, and the distortions of Table 2.

    One eigenvector stands behind edge scores, as in the paper.
    """
    flat = asked.images.reshape(len(asked.images), -1)
    outputs = dict(zip(_names(networks), networks.logits, strict=True))
    rankings, stretched = {}, {}
    for neighbours in CURVE:
        tell(f"SPADE with {neighbours} neighbours")
        blocks = 8 if neighbours in TABLE else 0
        rankings[neighbours] = compare(
            flat, outputs, neighbours=neighbours, rank=1, blocks=blocks, seed=seed
        )
        for distance in DISTANCES if neighbours in TABLE else ():
            tell(f"distortion by {distance} distance, {neighbours} neighbours")
            stretched[neighbours, distance] = [
                distortion(rankings[neighbours].scores[name], EDGES, distance=distance, seed=seed)
                for name in outputs
            ]
    return Found(networks, rankings, stretched)
