"""Which networks are trained, how, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.training import spade_radii
from studies.streams import SpadeStream

__all__ = [
    "ARMS",
    "DEPTHS",
    "GREY",
    "RADII",
    "SMALL_STEPS",
    "STEPS",
    "TABLES",
    "TABLE_5",
    "Arm",
    "Network",
    "every_network",
]

GREY = 255.0
"""Radii are in grey levels of 255, as the paper gives them."""
RADII = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Of Table 1; the vanilla arm of radius 8 stands beside them."""
STEPS, SMALL_STEPS = 7, 3
"""Of PGD in training, and in balls of radius 2 at most, which three steps fill."""
SMALL, LARGE, SHARE = 12.0, 14.0, 0.9
"""Two radii of Table 4, and the share with the large one: 45,000 of 50,000 pictures."""
DEPTHS = ("ResNet-10", "ResNet-18", "ResNet-34")
TABLE_5 = ("MLP", "CNN", "distilled CNN")
TABLES = ("1", "5", "4", "depth")
"""Parts of the study, in the order in which their networks are trained."""


@dataclass(frozen=True)
class Arm:
    """A row of Table 4: which radius each picture is attacked with."""

    rule: str
    """A number for all; "even", "chance" or "guided" for the choice between two."""
    spare: bool = False
    """Whether pictures that are misclassified already are left as they are."""

    def radii(self, rows: int, seed: int, nodes: Floats | None) -> Floats:
        """In grey levels, (rows,); `nodes` are node scores (rows,) for the guided rule."""
        random = generator(seed, SpadeStream.TRAINING_ARMS)
        if self.rule == "even":
            return random.choice([SMALL, LARGE], size=rows)
        if self.rule == "chance":
            return spade_radii(random.random(rows), SMALL, LARGE, SHARE)
        if self.rule == "guided":
            assert nodes is not None
            return spade_radii(nodes, SMALL, LARGE, SHARE)
        return np.full(rows, float(self.rule))


ARMS = {
    "vanilla, 8": Arm("8"),
    "vanilla, 12": Arm("12"),
    "vanilla, 14": Arm("14"),
    "random": Arm("even"),
    "random, 90%": Arm("chance"),
    "random, 90%, sparing": Arm("chance", spare=True),
    "SPADE-guided, sparing": Arm("guided", spare=True),
}


@dataclass(frozen=True)
class Network:
    """One network to train."""

    table: str
    """Which part of the study it is of, one of `TABLES`."""
    name: str
    """An architecture, or an arm of Table 4."""
    seed: int
    radius: float = 0.0

    @property
    def key(self) -> str:
        """Its file's name."""
        words = f"{self.table}-{self.name}-{self.radius:g}-{self.seed}"
        return "".join(each if each.isalnum() or each in ".-" else "_" for each in words)

    @property
    def architecture(self) -> str:
        """A name in `networks.ARCHITECTURES`."""
        if self.table == "4":
            return "ResNet-18"
        return "CNN" if self.name == "distilled CNN" else self.name

    @property
    def steps(self) -> int:
        """Of the attack in training."""
        if self.table == "4":
            return STEPS
        return SMALL_STEPS if self.radius else 0


def every_network(seeds: int = 3, more: int = 2) -> list[Network]:
    """All of them: plain ones first, which node scores come from, and spare seeds last.

    `more` seeds of the two arms that differ in SPADE's choice alone are trained if there is time.
    """
    first = range(seeds)
    plain = [Network("1", "ResNet-18", seed) for seed in first]
    robust = [Network("1", "ResNet-18", seed, radius) for seed in first for radius in RADII[1:]]
    small = [Network("5", name, 0) for name in TABLE_5]
    arms = [Network("4", name, seed) for seed in first for name in ARMS]
    depths = [Network("depth", name, seed) for seed in first for name in DEPTHS[::2]]
    extra = range(seeds, seeds + more)
    last = [Network("4", name, seed) for seed in extra for name in list(ARMS)[-2:]]
    plain_extra = [Network("1", "ResNet-18", seed) for seed in extra]
    return [*plain, *robust, *small, *arms, *depths, *plain_extra, *last]
