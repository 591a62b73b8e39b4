"""How much of everything is trained and attacked: the study, a reduced one, and a trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from studies.spade_cifar.arms import GREY, RADII, TABLES, Network, every_network
from studies.spade_cifar.attacking import Assault
from studies.spade_cifar.networks import ARCHITECTURES, WIDTH, resnet
from studies.spade_cifar.nodes import NEIGHBOURS
from studies.spade_cifar.training import Course

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["FULL", "REDUCED", "TINY", "Plan"]

FEW = Assault(tuple(radius / GREY for radius in RADII[1:]), 20, 1)
MANY = Assault((2 / GREY, 4 / GREY, 8 / GREY), 50, 10, 2 / GREY)
"""The paper's 10PGD-50, with steps of 2."""


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    course: Course
    plain_rate: float = 0.05
    """The largest rate for networks without batch statistics."""
    images: int = 50_000
    tested: int = 10_000
    attacked: int = 2000
    restarted: int = 1000
    seeds: int = 3
    more: int = 0
    few: Assault = FEW
    many: Assault = MANY
    neighbours: int = NEIGHBOURS
    """Behind node scores."""
    compiled: bool = True
    width: int = WIDTH
    """Channels of a residual network's first stage."""
    tables: tuple[str, ...] = TABLES
    """Those whose networks are trained."""

    def networks(self) -> list[Network]:
        """Those to train, in order."""
        every = every_network(self.seeds, self.more)
        return [network for network in every if network.table in self.tables]

    def make(self, architecture: str) -> Callable[[], Module]:
        """What builds a network of this plan."""
        if architecture == "ResNet-18" and self.width != WIDTH:
            return partial(resnet, width=self.width)
        return ARCHITECTURES[architecture]


FULL = Plan(Course(epochs=12))
TINY = Plan(
    Course(epochs=1, batch_size=20),
    images=60,
    tested=80,
    attacked=20,
    restarted=10,
    seeds=2,
    more=0,
    few=FEW._replace(steps=10),
    many=MANY._replace(steps=10, restarts=2),
    neighbours=10,
)
REDUCED = Plan(
    Course(epochs=4, batch_size=100, rate=0.1),
    images=20_000,
    attacked=500,
    neighbours=10,
    compiled=False,
    width=8,
    tables=("1",),
)
