"""What is said to tell where a model is explainable, at equal queries."""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.measures.gamma.measure import gamma
from anharmonic.models import as_model
from anharmonic.regions import points
from studies.explainable.answering import Answering
from studies.over_data.sets import Split

__all__ = ["BUDGETS", "SCORES", "scored"]

BUDGETS = {20: (2, 5), 64: (4, 8)}
"""Queries beside the row itself: turns, and pairs of each."""
SCORES = (
    "gamma",
    "gamma ÷ spread",
    "unsigned gamma",
    "unsigned gamma ÷ spread",
    "LinearityMeasure",
    "LinearityMeasure, global",
    "LinearityMeasure within r",
    "mean |change|",
    "1 − confidence",
)
EPSILON = 0.04
"""The share of a column's range that alibi's measure reaches."""


def scored(
    ask: Answering, parts: Split, radius: float, queries: int, random: np.random.Generator
) -> dict[str, Floats]:
    """Every score (points,) from as many queries beside the one at the row."""
    centre = ask.around(np.zeros((len(ask.rows), 1, ask.width)))
    steps = random.normal(size=(len(ask.rows), queries // 2, ask.width))
    steps *= radius / np.linalg.norm(steps, axis=2, keepdims=True)
    ahead, behind = ask.around(steps) - centre, ask.around(-steps) - centre
    bends = (ahead + behind) / 2
    changes = np.concatenate([ahead, behind], axis=1)
    spread = np.sqrt((changes**2).mean(axis=1))
    unsigned = np.sqrt((bends**2).mean(axis=1))
    deviation = _gamma(ask, parts, radius, queries)
    found = {
        "gamma": deviation,
        "gamma ÷ spread": _share(np.abs(bends.mean(axis=1)), spread),
        "unsigned gamma": unsigned,
        "unsigned gamma ÷ spread": _share(unsigned, spread),
        "LinearityMeasure": _pairwise(ask, _grid(ask, parts, queries // 2, random)),
        "LinearityMeasure, global": _superposed(ask, _grid(ask, parts, queries - 1, random)),
        "LinearityMeasure within r": _pairwise(ask, steps),
        "mean |change|": np.abs(changes).mean(axis=1),
    }
    if ask.classes is not None:
        found["1 − confidence"] = 1 - centre[:, 0]
    return found


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 1e-9)


def _gamma(ask: Answering, parts: Split, radius: float, queries: int) -> Floats:
    """Gamma as the package measures it."""
    turns, pairs = BUDGETS[queries]
    classes = ask.classes is not None
    scores = gamma(
        as_model(ask.model, output="probability" if classes else None),
        points(ask.rows, moving=ask.moving.tolist()),
        reference=parts.train_numbers,
        radius=radius,
        ball="auto pairs",
        directions=pairs,
        rotations=turns,
        reduction="predicted" if classes else "norm",
        noise="ignore",
    )
    return np.asarray(scores.values / ask.spread)


def _grid(ask: Answering, parts: Split, count: int, random: np.random.Generator) -> Floats:
    """Steps of alibi's `_sample_grid`: 1 to 4 hundredths of each column's range, to either side."""
    columns = parts.train_numbers[:, ask.moving]
    hundredth = (columns.max(axis=0) - columns.min(axis=0)) / 100 / ask.units
    shape = (len(ask.rows), count, ask.width)
    signs = 2 * random.integers(2, size=shape) - 1
    return np.asarray(signs * random.integers(1, round(100 * EPSILON) + 1, size=shape) * hundredth)


def _pairwise(ask: Answering, steps: Floats) -> Floats:
    """As alibi does by default: the answer half way to a neighbour less the mean of both ends."""
    here = ask.log_outputs(ask.rows[:, None, :])
    there, between = (ask.log_outputs(ask.places(each)) for each in (steps, steps / 2))
    return np.asarray(np.linalg.norm(between - (here + there) / 2, axis=2).mean(axis=1))


def _superposed(ask: Answering, steps: Floats) -> Floats:
    """As alibi does with agg="global": at the neighbours' mean, less the mean of theirs."""
    there = ask.log_outputs(ask.places(steps)).mean(axis=1)
    middle = ask.log_outputs(ask.places(steps.mean(axis=1, keepdims=True)))[:, 0]
    return np.asarray(np.linalg.norm(middle - there, axis=1))
