"""What the SPADE study found, in words that follow the numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.statistics import Moments
from anharmonic.measures.spectral.distortion import Distance
from studies.spade.measuring import CURVE, DISTANCES, TABLE, Found
from studies.spade.networks import RADII

__all__ = ["verdict"]


class Orders(NamedTuple):
    """Pairs of one seed: the robust network smaller, larger, and how many of each are real."""

    smaller: int
    real_smaller: int
    larger: int
    real_larger: int


def verdict(found: Found) -> tuple[str, ...]:
    return (
        *(_fell(found, neighbours) for neighbours in TABLE),
        _correlations(found),
        *(_distorted(found, distance) for distance in DISTANCES),
        _seeds(found),
    )


def _fell(found: Found, neighbours: int) -> str:
    means = [each.value for each in found.over_seeds(found.values(neighbours))]
    shown = ", ".join(f"{each:.3g}" for each in means)
    pairs = orders(found, neighbours)
    every = pairs.smaller + pairs.larger
    word = (
        "Confirmed"
        if pairs.smaller == every
        else "Not confirmed"
        if pairs.smaller <= every / 2
        else "Confirmed in part"
    )
    steps = ", ".join(f"{each:g}" for each in RADII)
    return f"""{word} at {neighbours} neighbours: mean scores are {shown} for ε = {steps}. Of
        {every} pairs of one seed the one trained with the larger ε has the smaller score in
        {pairs.smaller} ({pairs.real_smaller} told apart from chance by blocks of the digits) and
        the larger in {pairs.larger} ({pairs.real_larger})."""


def _seeds(found: Found) -> str:
    """How far seeds alone move the score, beside what the largest radius does."""
    logarithms, radii = np.log(found.values(TABLE[0])), found.networks.radii
    spread = np.sqrt(np.mean([logarithms[radii == each].var(ddof=1) for each in RADII]))
    means = [float(logarithms[radii == each].mean()) for each in (RADII[0], RADII[-1])]
    return f"""Beside that: seeds alone move a score by {np.expm1(spread):.0%} (one standard
        deviation, {TABLE[0]} neighbours), and ε = {RADII[-1]:g} instead of 0 by
        {np.expm1(means[1] - means[0]):+.0%}. The score is no property of one network: compare at
        the same points and neighbours, over seeds."""


def orders(found: Found, neighbours: int) -> Orders:
    pairs = found.same_seed(neighbours)
    smaller = [each.real for larger, less, each in pairs if larger < less]
    larger = [each.real for larger, less, each in pairs if larger > less]
    return Orders(len(smaller), sum(smaller), len(larger), sum(larger))


def _correlations(found: Found) -> str:
    from scipy.stats import spearmanr

    robust = found.networks.robust.mean(axis=1)
    if np.ptp(robust) == 0:
        return "All networks do equally well under attack: there is nothing to correlate with."
    each = {k: float(spearmanr(found.values(k), robust).statistic) for k in CURVE}
    shown = ", ".join(f"{value:+.2f} at {k}" for k, value in each.items())
    return f"""Over all {len(robust)} networks, the rank correlation of the score with accuracy
        under attack (mean of the three radii; the claim asks for −1) is {shown} neighbours."""


def _distorted(found: Found, distance: Distance) -> str:
    lines, held = [], True
    for neighbours in TABLE:
        each = found.stretched[neighbours, distance]
        ratios = np.array([one.means[0].value / one.means[1].value for one in each])
        apart = sum(one.difference.value > 1.96 * one.difference.error for one in each)
        middle = Moments.of(np.log(ratios))
        lines.append(
            f"{np.exp(float(middle.mean)):.1f} times at {neighbours} neighbours, in {apart} of "
            f"{len(each)} networks by more than 1.96 errors"
        )
        held &= bool((ratios > 1).all())
    word = "Confirmed" if held else "Not confirmed"
    return f"""{word} by {distance} distance: top edges are distorted more than random ones,
        {"; ".join(lines)}."""
