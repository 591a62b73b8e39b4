"""Every model measured in three regions at several radii, beside its true gap."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.setup.scale import nearest_distance, scaled
from anharmonic.models import as_model
from anharmonic.regions import Region, as_region, hull
from anharmonic.scores import Scores
from studies.overfitting.families import CAPACITIES, FAMILIES, built, parameters
from studies.overfitting.sets import Split, split
from studies.streams import OverfittingStream

__all__ = ["FRACTIONS", "REGIONS", "Trained", "measured_set"]

FRACTIONS = (0.5, 1.0, 2.0, 4.0)
"""Radii, in median distances between nearest neighbours of the training points."""
REGIONS = ("training", "new", "hull")
POINTS = 100
CHANGES = 16


class Trained(NamedTuple):
    """A model's size, its scores with labels, and what was measured without.

    `gammas` and `changes` are (regions, fractions).
    """

    family: str
    capacity: int
    parameters: float
    train_score: float
    test_score: float
    gammas: Floats
    changes: Floats
    queries: int

    @property
    def gap(self) -> float:
        """How much better the model does on what it has seen: what overfitting is."""
        return self.train_score - self.test_score


def measured_set(name: str, seed: int) -> list[Trained]:
    """All families at all capacities on one split of one data set."""
    parts = split(name, seed)
    regions = [as_region(_some(parts.train, seed)), as_region(_some(parts.test, seed))]
    regions.append(hull(parts.train, POINTS, seed, method="mix"))
    _, units, known = scaled(regions[0], "auto", parts.train)
    distance = nearest_distance(known.values, units, seed)
    return [
        _measured(family, capacity, model, parts, regions, distance, seed)
        for family, capacity, model in _fitted(parts, seed)
    ]


def _some(points: Floats, seed: int) -> Floats:
    return generator(seed, OverfittingStream.MEASURED_POINTS).permutation(points)[:POINTS]


def _fitted(parts: Split, seed: int) -> Iterator[tuple[str, int, Any]]:
    for family in FAMILIES:
        for capacity in CAPACITIES:
            model = built(family, capacity, parts.task, parts.train.shape[1], seed)
            with warnings.catch_warnings():
                # The largest networks stop before they converge, as people's do.
                warnings.simplefilter("ignore")
                yield family, capacity, model.fit(parts.train, parts.train_answers)


def _measured(
    family: str,
    capacity: int,
    model: Any,
    parts: Split,
    regions: list[Region],
    distance: float,
    seed: int,
) -> Trained:
    output = "onehot" if parts.task == "classification" else None
    asked = as_model(model, output=output)
    found = [
        [
            gamma(
                asked,
                region,
                radius=fraction * distance,
                ball="auto pairs",
                reduction="norm",
                reference=parts.train,
                noise="ignore",
                seed=seed,
            )
            for fraction in FRACTIONS
        ]
        for region in regions
    ]
    changes = [
        [_change(asked, region, scores, seed) for scores in row]
        for region, row in zip(regions, found, strict=True)
    ]
    return Trained(
        family,
        capacity,
        parameters(family, capacity, model, len(parts.train)),
        float(model.score(parts.train, parts.train_answers)),
        float(model.score(parts.test, parts.test_answers)),
        np.array([[scores.mean for scores in row] for row in found]),
        np.array(changes),
        sum(scores.queries for row in found for scores in row),
    )


def _change(model: Any, region: Region, scores: Scores, seed: int) -> float:
    """Mean |change| from a point to its neighbours; for labels, the share that changes."""
    if scores.settings.kind == "onehot":
        return float((scores.signed * scores.outputs).sum(axis=1).mean())
    held = region.holding(scores.settings.still)
    steps = generator(seed, OverfittingStream.RANDOM_STEPS).standard_normal(
        (CHANGES, *held.values.shape)
    )
    steps *= scores.settings.radius / np.linalg.norm(steps, axis=-1, keepdims=True)
    moved = (held.values + steps * np.array(scores.settings.scale)).reshape(-1, held.dimension)
    rows = np.tile(np.arange(len(held)), CHANGES)
    answers = model(held.restored(moved, rows)).reshape(CHANGES, -1)
    return float(np.abs(answers - scores.outputs.reshape(1, -1)).mean())
