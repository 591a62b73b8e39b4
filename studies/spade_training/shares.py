"""Accuracies of a run by arm, attack and seed, and how arms differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments

__all__ = ["Gap", "Names", "estimate", "gap", "shares", "unlearnt"]

LEARNT = 80
"""Percent of clean images that every arm must have right for the arms to be compared."""


class Names(NamedTuple):
    """What a run's attacks are called, and how many passes through a network each takes."""

    few: str
    many: str
    strongest: str
    passes: dict[str, int]

    @classmethod
    def of(cls, plan: dict[str, Any]) -> Names:
        few, many = f"PGD-{plan['few']}", f"PGD-{plan['many']}"
        strongest = f"{plan['restarts']}×{many}"
        passes = {
            "clean": 1,
            f"{few}, 0.1": plan["few"] + 1,
            f"{few}, 0.2": plan["few"] + 1,
            few: plan["few"] + 1,
            many: plan["many"] + 1,
            strongest: plan["restarts"] * (plan["many"] + 1),
        }
        return cls(few, many, strongest, passes)


def shares(arm: dict[str, Any], attack: str) -> Floats:
    """Accuracy in percent of each seed."""
    each = arm["hits"][attack]
    hits: Floats = np.asarray(each["hits"], dtype=np.float64)
    return 100 * hits / int(each["count"])


def unlearnt(arms: dict[str, Any], compared: Sequence[str], least: float = LEARNT) -> str:
    """Why a run is not judged: arms that know too little to be robust or not; "" where none does.

    A network that has learnt nothing keeps its answer under attack as well as without one.
    """
    clean = {arm: float(np.mean(shares(arms[arm], "clean"))) for arm in compared}
    weak = ", ".join(f"{arm} {share:.0f}%" for arm, share in clean.items() if share < least)
    if not weak:
        return ""
    return (
        f"Not judged: below {least:g}% of clean images right, accuracies under attack tell how "
        f"little was learnt ({weak}). Train longer, or on more images."
    )


def estimate(values: Any) -> Estimate:
    """Their mean and its error."""
    moments = Moments.of(np.asarray(values, dtype=np.float64))
    return Estimate(float(moments.mean), float(moments.error))


class Gap(NamedTuple):
    """How many points one arm is ahead of another, with its 95% interval."""

    value: Estimate
    low: float
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.value} points, 95% interval [{self.low:.1f}, {self.high:.1f}]"


def gap(arms: dict[str, Any], one: str, other: str, attack: str) -> Gap:
    """How far one arm is ahead of another, seed by seed."""
    moments = Moments.of(shares(arms[one], attack) - shares(arms[other], attack))
    low, high = moments.interval()
    return Gap(Estimate(float(moments.mean), float(moments.error)), float(low), float(high))
