"""The ways of training that are compared, and how large a run is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.training import spade_radii
from studies.streams import SpadeStream

__all__ = ["ATTACKED", "FULL", "PENALISED", "REDUCED", "TABLE_3", "Plan", "radii_of"]

SMALL, LARGE, SHARE = 0.2, 0.4, 0.75
ATTACKED = {
    "vanilla": "every image attacked with radius 0.4",
    "random": "0.2 or 0.4, each with even chance",
    "random, 75%": "0.4 for three images in four, by chance: as many as SPADE's",
    "SPADE-guided": "0.4 for the three quarters with the largest node scores, else 0.2",
    "PGD 0.3": "every image attacked with radius 0.3",
    "PGD 0.2": "every image attacked with radius 0.2",
}
TABLE_3 = ("vanilla", "random", "random, 75%", "SPADE-guided")
"""The arms of the table alone, for runs with more seeds."""
PENALISED = {"plain": 0.0, "gamma penalty 0.1": 0.1, "gamma penalty 1": 1.0}


@dataclass(frozen=True)
class Plan:
    """How much of everything; networks are attacked with `few` and with `many` steps."""

    images: int
    tested: int
    restarted: int
    epochs: int
    seeds: int = 3
    batch_size: int = 512
    steps: int = 10
    few: int = 50
    many: int = 100
    restarts: int = 20
    rate: float = 2e-3
    penalty_radius: float = 2.0
    gamma_points: int = 1000


REDUCED = Plan(
    images=2000,
    tested=100,
    restarted=30,
    epochs=5,
    batch_size=100,
    steps=5,
    restarts=2,
    gamma_points=100,
)
FULL = Plan(images=60_000, tested=10_000, restarted=10_000, epochs=20)


def radii_of(arm: str, rows: int, seed: int, nodes: Any) -> Floats:
    """The radius of each training image in an arm; `nodes` are node scores (rows,)."""
    random = generator(seed, SpadeStream.TRAINING_ARMS)
    if arm == "vanilla":
        return np.full(rows, LARGE)
    if arm == "random":
        return random.choice([SMALL, LARGE], size=rows)
    if arm == "random, 75%":
        return spade_radii(random.random(rows), SMALL, LARGE, SHARE)
    if arm == "SPADE-guided":
        return spade_radii(nodes, SMALL, LARGE, SHARE)
    return np.full(rows, float(arm.split()[-1]))
