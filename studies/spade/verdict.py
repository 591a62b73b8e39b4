"""What the SPADE study found, in words that follow the numbers."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from anharmonic._core.statistics import Moments
from studies.spade.case import TABLE
from studies.spade.measuring import DISTANCES, Found

__all__ = ["Orders", "orders", "verdict"]


class Orders(NamedTuple):
    """Pairs of one seed: the robust network smaller, larger, and how many of each are real."""

    smaller: int
    real_smaller: int
    larger: int
    real_larger: int


def verdict(found: Found) -> tuple[str, ...]:
    return (
        *(_fell(found, count) for count in TABLE),
        _correlations(found),
        *(_distorted(found, distance) for distance in DISTANCES),
        *(_random(found, count) for count in TABLE),
        _parts(found),
        _seeds(found),
    )


def _word(share: float) -> str:
    return "Confirmed" if share == 1 else "Not confirmed" if share <= 0.5 else "Confirmed in part"


def _fell(found: Found, count: int) -> str:
    means = [each.value for each in found.over_seeds(found.values(count))]
    shown = ", ".join(f"{each:.3g}" for each in means)
    pairs = orders(found, count)
    every = pairs.smaller + pairs.larger
    steps = ", ".join(f"{each:g}" for each in found.trained)
    return f"""{_word(pairs.smaller / every)} at {count} neighbours: mean scores are {shown} for
        ε = {steps}. Of {every} pairs of one seed the one trained with the larger ε has the smaller
        score in {pairs.smaller} ({pairs.real_smaller} told apart from chance by blocks of the
        test set) and the larger in {pairs.larger} ({pairs.real_larger})."""


def orders(found: Found, count: int) -> Orders:
    """Pairs of networks of one seed, those told apart by blocks with Bonferroni's correction."""
    scores = found.scores(count)
    pairs = [
        (one, two)
        for one, two in combinations(range(len(scores)), 2)
        if found.seeds[one] == found.seeds[two] and found.radii[one] != found.radii[two]
    ]
    # Bonferroni: each of m intervals at level 1 − α/m, so that all hold at once at 95%.
    level = 1 - 0.05 / max(1, len(pairs))
    counted = [[0, 0], [0, 0]]
    for one, two in pairs:
        robust, other = (one, two) if found.radii[one] > found.radii[two] else (two, one)
        gap = np.log(scores[other]["score"] / scores[robust]["score"])
        blocks = (np.log(np.array(scores[at]["blocks"])) for at in (other, robust))
        low, high = Moments.of(np.subtract(*blocks)).interval(level)
        kept = counted[0] if gap > 0 else counted[1]
        kept[0] += 1
        kept[1] += bool(low > 0 if gap > 0 else high < 0)
    return Orders(*counted[0], *counted[1])


def _seeds(found: Found) -> str:
    """How far seeds alone move the score, beside what the largest radius does."""
    logarithms, radii = np.log(found.values(TABLE[0])), found.radii
    trained = found.trained
    if len(np.unique(found.seeds)) < 2:
        return "One seed alone does not tell how far seeds move the score."
    spread = np.sqrt(np.mean([logarithms[radii == each].var(ddof=1) for each in trained]))
    means = [float(logarithms[radii == each].mean()) for each in (trained[0], trained[-1])]
    return f"""Beside that: seeds alone move a score by {np.expm1(spread):.0%} (one standard
        deviation, {TABLE[0]} neighbours), and ε = {trained[-1]:g} instead of {trained[0]:g} by
        {np.expm1(means[1] - means[0]):+.0%}. The score is no property of one network: compare at
        the same points and neighbours, over seeds."""


def _correlations(found: Found) -> str:
    from scipy.stats import spearmanr

    robust = found.robust()
    if np.ptp(robust) == 0:
        return "All networks do equally well under attack: there is nothing to correlate with."
    each = {k: float(spearmanr(found.values(k), robust).statistic) for k in found.curve()}
    shown = ", ".join(f"{value:+.2f} at {k}" for k, value in each.items())
    attacks = ", ".join(f"{radius:g}" for radius in found.case.attacks)
    return f"""Over all {len(robust)} networks, the rank correlation of the score with accuracy
        under attack (mean over radii {attacks}; the claim asks for −1) is {shown} neighbours."""


def _distorted(found: Found, distance: str) -> str:
    lines, held = [], True
    for count in TABLE:
        top, chance, apart = (
            np.array(found.stretched(count, distance, which))
            for which in ("top", "chance", "difference")
        )
        ratios = top[:, 0] / chance[:, 0]
        real = int((apart[:, 0] > 1.96 * apart[:, 1]).sum())
        lines.append(
            f"{np.exp(np.log(ratios).mean()):.1f} times at {count} neighbours, in {real} of "
            f"{len(ratios)} networks by more than 1.96 errors"
        )
        held &= bool((ratios > 1).all())
    word = "Confirmed" if held else "Not confirmed"
    return f"""{word} by {distance} distance: top edges are distorted more than random ones,
        {"; ".join(lines)}."""


def _random(found: Found, count: int) -> str:
    """Observation 2: random edges are stretched less the more robust a network is."""
    means = np.array(found.stretched(count, "random", ""))[:, 0]
    values = [each.value for each in found.over_seeds(means)]
    shown = ", ".join(f"{value:.3g}" for value in values)
    steps = len(values) - 1
    falling = int((np.diff(values) < 0).sum())
    last = found.trained[-1]
    moments = Moments.of(found.gaps(means, last))
    low, high = moments.interval()
    return f"""{_word(falling / max(1, steps))} for random edges at {count} neighbours (observation
        2): geodesic distortion is {shown}, falling in {falling} of {steps} steps of ε; ε = 0 less
        ε = {last:g} of the same seed is {float(moments.mean):.3g}, 95% interval
        [{float(low):.2g}, {float(high):.2g}]."""


def _parts(found: Found) -> str:
    joined = {
        count: {
            f"{radius:g}": int(found.joined(count)[found.radii == radius].sum())
            for radius in found.trained
            if found.joined(count)[found.radii == radius].any()
        }
        for count in found.curve()
    }
    told = [
        f"at {count} neighbours {', '.join(f'{times} at ε = {each}' for each, times in by.items())}"
        for count, by in joined.items()
        if by
    ]
    if not told:
        return "No network's output graph is in parts at any number of neighbours."
    return f"""Output graphs in parts, which joints then hold together and the score measures, by
        number of networks: {"; ".join(told)}."""
