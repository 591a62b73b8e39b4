"""Scores of photos from what was measured: larger should mean less stable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from studies.images.measurements import NOT_WALKED, Measurements
from studies.images.measuring import BALLS, BUDGETS, STEPS, WALKS

__all__ = [
    "KINDS",
    "LABELS",
    "RECOMMENDED",
    "Label",
    "Score",
    "budgets",
    "candidates",
    "known_scores",
]

KINDS = (*BALLS, *(f"walks {steps} {ball}" for steps, ball in WALKS))
RECOMMENDED = f"sway ({KINDS[3]})"
"""What `nstep_robustness(kind="sway")` gives."""
LABELS = {
    "gamma ascent": ("gamma", STEPS),
    "margin-greedy": ("margin", STEPS),
    "margin-greedy in 5": ("margin", 5),
}
"""What counts as unstable: the climb that changes the class, and within how many steps."""


class Label(NamedTuple):
    """Which photos a label is known for, and which of all are unstable, (photos,) each."""

    known: Any
    unstable: Any

    @classmethod
    def of(cls, found: Measurements, name: str) -> Label:
        """The majority of seeds; where two agree a third was not always asked."""
        climb, within = LABELS[name]
        first = found.arrays[f"{climb}/flips"]
        flipped = (first >= 0) & (first <= within)
        kept = (first != NOT_WALKED) & ~flipped
        enough = len(first) // 2 + 1
        unstable = flipped.sum(axis=0) >= enough
        return cls(unstable | (kept.sum(axis=0) >= enough), unstable)


class Score(NamedTuple):
    """A way to score, and its queries beside the one at the photo itself."""

    name: str
    queries: int
    of: Callable[[Measurements], Floats]

    def __str__(self) -> str:
        return f"{self.name}, {self.queries} queries"


def budgets(found: list[Measurements]) -> list[int]:
    """Those that every network was asked for."""
    most = min(int(each.arrays[f"{kind}/changes"][0].size) for each in found for kind in KINDS)
    return [budget for budget in BUDGETS if budget <= most]


def margin(found: Measurements) -> Floats:
    return -found.arrays["margin"].astype(np.float64)


def probability(found: Measurements) -> Floats:
    return -found.arrays["probability"].astype(np.float64)


def known_scores(allowed: list[int]) -> Iterator[Score]:
    """What the paper, the literature and this package offer, at every budget."""
    yield Score("margin", 0, margin)
    yield Score("softmax P", 0, probability)
    for budget in allowed:
        for name, kind in (("singles", "onehot"), ("pairs", "onehot pairs"), ("auto", "auto")):
            yield Score(f"gamma, {name}", budget, _gamma(kind, budget))
            yield Score(f"P·exp(−25·gamma), {name}", budget, _paper(kind, budget))
        for name, kind in (("one-hot", "onehot"), ("dense", "dense pairs")):
            yield Score(f"drift z, {name}", budget, formed("z", kind, budget))
        yield Score("flip rate", budget, _flip_rate("onehot", budget))
        yield Score("mean |change|", budget, _mean_change("onehot", budget))
        yield Score("walks, end margin", budget, formed("end margin", KINDS[3], budget))
        yield Score("walks, z", budget, formed("z", KINDS[3], budget))
        yield Score("walks, flip rate", budget, _flip_rate(KINDS[3], budget))
        yield Score("walks, sway", budget, formed("sway", KINDS[3], budget))


def _gamma(kind: str, budget: int) -> Callable[[Measurements], Floats]:
    def of(found: Measurements) -> Floats:
        if kind == "auto":
            return found.arrays[f"auto {budget}"].astype(np.float64)
        return np.asarray(np.abs(found.around(kind, budget, "own").mean(axis=(1, 2))))

    return of


def _paper(kind: str, budget: int) -> Callable[[Measurements], Floats]:
    return lambda found: probability(found) * np.exp(-STEPS * _gamma(kind, budget)(found))


def _flip_rate(kind: str, budget: int) -> Callable[[Measurements], Floats]:
    def of(found: Measurements) -> Floats:
        ends = found.around(kind, budget) - margin(found)[:, None, None]
        return np.asarray((ends < 0).mean(axis=(1, 2)))

    return of


def _mean_change(kind: str, budget: int) -> Callable[[Measurements], Floats]:
    return lambda found: np.asarray(np.abs(found.around(kind, budget)).mean(axis=(1, 2)))


Form = Callable[[Floats, Floats, int], Floats]
"""From margins (photos,), changes (photos, each) and steps still to go: how steady, larger more."""

FORMS: dict[str, Form] = {
    "sway": lambda gap, moved, steps: gap / np.sqrt((moved**2).mean(axis=1)),
    "spread": lambda gap, moved, steps: gap / moved.std(axis=1, ddof=1),
    "mean size": lambda gap, moved, steps: gap / np.abs(moved).mean(axis=1),
    "largest drop": lambda gap, moved, steps: gap / np.maximum(-moved.min(axis=1), 1e-3),
    "z": lambda gap, moved, steps: (
        (gap + steps * moved.mean(axis=1)) / (np.sqrt(steps) * moved.std(axis=1, ddof=1))
    ),
    "end margin": lambda gap, moved, steps: gap + steps * moved.mean(axis=1),
    "median end": lambda gap, moved, steps: gap + steps * np.median(moved, axis=1),
    "worst end": lambda gap, moved, steps: gap + moved.min(axis=1),
    "end less sd": lambda gap, moved, steps: (
        gap + steps * moved.mean(axis=1) - np.sqrt(steps) * moved.std(axis=1, ddof=1)
    ),
    "end less 2 sd": lambda gap, moved, steps: (
        gap + steps * moved.mean(axis=1) - 2 * np.sqrt(steps) * moved.std(axis=1, ddof=1)
    ),
}


def formed(form: str, kind: str, budget: int) -> Callable[[Measurements], Floats]:
    """A score from changes of the margin: a step away, or at the ends of walks."""

    def of(found: Measurements) -> Floats:
        changes = found.around(kind, budget)
        steps = 1 if kind.startswith("walks") else STEPS
        return -FORMS[form](-margin(found), changes.reshape(len(changes), -1), steps)

    return of


def candidates(allowed: list[int]) -> list[Score]:
    """Every form of every kind of change at every budget."""
    return [
        Score(f"{form} ({kind})", budget, formed(form, kind, budget))
        for budget in allowed
        for kind in KINDS
        for form in FORMS
    ]
