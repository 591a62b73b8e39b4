"""Every model measured in three regions at several radii, beside its true gap."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from anharmonic.meanvalue import gamma
from anharmonic.protocols import Array, Floats
from anharmonic.randomness import generator
from anharmonic.regions import Region, as_region, hull
from anharmonic.reproduce.overfitting.families import CAPACITIES, FAMILIES, built, parameters
from anharmonic.reproduce.overfitting.sets import Split, split
from anharmonic.scaling import nearest_distance

__all__ = ["FRACTIONS", "REGIONS", "Measurement", "Trained", "measured_on", "trained_on"]

FRACTIONS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Radii, in median distances between nearest neighbours."""
REGIONS = ("training", "new", "hull")
POINTS = 100
CHANGES = 16


class Trained(NamedTuple):
    """A model, how large it is and how well it does on points it has and has not seen."""

    family: str
    capacity: int
    model: Any
    parameters: float
    train_score: float
    test_score: float

    @property
    def gap(self) -> float:
        return self.train_score - self.test_score


class Measurement(NamedTuple):
    """What one model does in one region at one radius."""

    region: str
    fraction: float
    gamma: float
    change: float
    queries: int


def trained_on(parts: Split, seed: int) -> Iterator[Trained]:
    """All families at all capacities."""
    for family in FAMILIES:
        for capacity in CAPACITIES:
            model = built(family, capacity, parts.task, parts.train.shape[1], seed)
            with warnings.catch_warnings():
                # The largest networks stop before they converge, as people's do.
                warnings.simplefilter("ignore")
                model.fit(parts.train, parts.train_answers)
            yield Trained(
                family,
                capacity,
                model,
                parameters(family, capacity, model, len(parts.train)),
                float(model.score(parts.train, parts.train_answers)),
                float(model.score(parts.test, parts.test_answers)),
            )
