"""Ways to make one number of a model's gammas, and how well each ranks by the true gap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments
from studies.overfitting.measurements import FRACTIONS, REGIONS, Trained

__all__ = ["Found", "Number", "Rule", "average", "best", "candidates", "correlation", "over_sets"]

Found = Mapping[str, Sequence[Sequence[Trained]]]
"""For each data set, for each of its splits, every model."""
Number = Callable[[Trained], float]


class Rule(NamedTuple):
    """Which regions at which radius, and how their means become one number."""

    regions: tuple[str, ...]
    fraction: float
    how: Literal["max", "mean"] = "max"

    def of(self, values: Floats) -> float:
        """One number from values (regions, fractions)."""
        rows = [REGIONS.index(region) for region in self.regions]
        some = values[rows, FRACTIONS.index(self.fraction)]
        return float(some.max() if self.how == "max" else some.mean())

    def gamma(self, model: Trained) -> float:
        """What the rule makes of a model's gammas."""
        return self.of(model.gammas)

    def __str__(self) -> str:
        radius = f"r = {self.fraction:g} NN"
        if len(self.regions) == 1:
            return f"{self.regions[0]}, {radius}"
        joined = " and ".join(self.regions) if len(self.regions) == 2 else "all three"
        return f"{'larger' if self.how == 'max' else 'mean'} of {joined}, {radius}"


def candidates() -> list[Rule]:
    """Every rule that was tried on the first half."""
    single: list[tuple[str, ...]] = [(region,) for region in REGIONS]
    several: list[tuple[str, ...]] = [("training", "new"), ("training", "hull"), REGIONS]
    hows: tuple[Literal["max", "mean"], ...] = ("max", "mean")
    return [Rule(regions, fraction) for regions in single for fraction in FRACTIONS] + [
        Rule(regions, fraction, how)
        for regions in several
        for how in hows
        for fraction in FRACTIONS
    ]


def correlation(number: Number, models: Sequence[Trained]) -> float:
    """Spearman's rank correlation of a number with the true gap; 0 where nothing varies."""
    values, gaps = [number(model) for model in models], [model.gap for model in models]
    if len(set(values)) == 1 or len(set(gaps)) == 1:
        return 0.0
    return float(spearmanr(values, gaps).statistic)


def over_sets(found: Found, sets: Sequence[str], number: Number) -> list[float]:
    """The correlation of a number with the gap on each data set, averaged over splits."""
    return [
        float(np.mean([correlation(number, models) for models in found[name]])) for name in sets
    ]


def average(values: Sequence[float]) -> tuple[Estimate, tuple[float, float]]:
    """The mean over data sets, its error, and its 95% interval within −1 and 1."""
    moments = Moments.of(np.array(values))
    low, high = moments.interval()
    interval = max(-1.0, float(low)), min(1.0, float(high))
    return Estimate(float(moments.mean), float(moments.error)), interval


def best(found: Found, sets: Sequence[str]) -> Rule:
    """The rule with the largest average on these sets."""
    return max(candidates(), key=lambda rule: float(np.mean(over_sets(found, sets, rule.gamma))))
