"""What walks cost and found, what networks know, and whether chances come true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Rate
from anharmonic.measures.stability import flip_chance
from studies.images.measurements import CLIMBS, NOT_WALKED, Measurements
from studies.images.measuring import STEPS
from studies.images.ranking import Interval, interval, resamples
from studies.images.scoring import KINDS

__all__ = ["Climbed", "accuracy", "brier", "budgets_left", "flips_found", "queries"]

EQUAL = 2
"""Seeds every photo was walked with: a third gamma ascent only where two disagreed."""


class Climbed(NamedTuple):
    """Walks, the share that flipped, queries a walk, and flips in 1,000 queries."""

    walks: int
    share: Rate
    queries: float
    rate: Interval


def queries(found: Measurements) -> int:
    """All that a network was asked."""
    return sum(int(piece["queries"]) for piece in found.facts["pieces"].values())


def accuracy(found: Measurements, top: int) -> Rate | None:
    """The share of photos whose class, in their file's name, is among the first `top`.

    None where names are not numbers of the network's classes.
    """
    names = [re.match(r"(\d+)_", str(name)) for name in found.facts.get("photos", [])]
    if found.facts.get("trained on") != "ImageNet" or "top" not in found.arrays or None in names:
        return None
    truth = np.array([int(name[1]) for name in names if name is not None])
    right = (found.arrays["top"][:, :top] == truth[:, None]).any(axis=1)
    return Rate.of(int(right.sum()), len(right))


def flips_found(found: Measurements, seed: int) -> dict[str, Climbed]:
    """What each climb found, of those that were made."""
    told = {}
    for climb in CLIMBS:
        flips, cost = (found.arrays[f"{climb}/{what}"][:EQUAL] for what in ("flips", "queries"))
        walked = (flips != NOT_WALKED).all(axis=0)
        hits = (flips[:, walked] >= 0).sum(axis=0).astype(np.float64)
        paid = cost[:, walked].sum(axis=0).astype(np.float64)
        if not len(hits):
            continue
        counts = resamples(len(hits), seed)
        rate = interval(
            1000 * float(hits.sum() / paid.sum()), 1000 * (counts @ hits) / (counts @ paid)
        )
        walks = hits.size * len(flips)
        share = Rate.of(int(hits.sum()), walks)
        told[climb] = Climbed(walks, share, float(paid.sum() / walks), rate)
    return told


def budgets_left(found: Measurements, allowed: Sequence[int]) -> list[int]:
    """Numbers of walks to predict from that leave at least as many to be predicted."""
    walks = found.arrays[f"{KINDS[3]}/changes"].shape[2]
    return sorted({min(budget, walks // 2) for budget in allowed if walks >= 4})


def brier(found: Measurements, budget: int) -> dict[str, Estimate]:
    """Mean squared distance of a chance, from `budget` queries, to whether walks ended flipped.

    The walks that are predicted are others than those predicted from. "average rate" gives
    everybody the share of all walks that flipped.
    """
    ends = found.arrays[f"{KINDS[3]}/changes"][:, 0].astype(np.float64)
    gap = found.arrays["margin"].astype(np.float64)
    seen = (gap[:, None] + ends[:, budget:] < 0).astype(np.float64)
    one_step = found.around("onehot", budget)[:, 0]
    guesses = {
        "drift": _chance(gap, one_step, STEPS),
        "walks": _chance(gap, ends[:, :budget], 1),
        "average rate": np.full(len(gap), seen.mean()),
    }
    return {name: _distance(chance, seen) for name, chance in guesses.items()}


def _chance(gap: Floats, changes: Floats, steps: int) -> Floats:
    return flip_chance(gap, changes.mean(axis=1), changes.std(axis=1, ddof=1), steps, "end")[0]


def _distance(chance: Floats, seen: Floats) -> Estimate:
    each = ((chance[:, None] - seen) ** 2).mean(axis=1)
    return Estimate(float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))))
