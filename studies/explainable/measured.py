"""Every model of one split: what its explanations are worth, and what was said to tell."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.measures.explain import contributions
from anharmonic.models import as_model
from anharmonic.regions import points
from studies.explainable.answering import Answering
from studies.explainable.scores import BUDGETS, scored
from studies.explainable.surrogates import TARGETS, lime, shapley_moves, slopes_move, surrogate
from studies.over_data.sets import Split, split
from studies.overfitting.families import FAMILIES, built
from studies.streams import ExplainableStream

__all__ = ["CAPACITIES", "Measured", "correlation", "measured_set"]

CAPACITIES = (1, 3)
"""Of the overfitting study's five: one that fits well, and one that begins to memorise."""
ROWS = 40
ROUNDING = 1e-9


class Measured(NamedTuple):
    """One model.

    `within` has Spearman's correlations over rows, "score @ queries | target"; `means` the mean of
    every score and target over rows; `columns` the correlations over columns, averaged over rows,
    of what is said of a column with how far its attribution moves.
    """

    family: str
    capacity: int
    within: dict[str, float]
    means: dict[str, float]
    columns: dict[str, float]


def measured_set(name: str, seed: int, data: Path | None = None) -> list[Measured]:
    """Five families at two capacities, and a linear model, on one split of one data set."""
    parts = split(name, seed, data)
    order = generator(seed, ExplainableStream.ROWS).permutation(len(parts.test_numbers))
    rows = parts.test_numbers[np.sort(order[:ROWS])]
    return [
        _measured(family, capacity, model, parts, rows, seed)
        for family, capacity, model in _fitted(parts, seed)
    ]


def _fitted(parts: Split, seed: int) -> Iterator[tuple[str, int, Any]]:
    classes = parts.task == "classification"
    with warnings.catch_warnings():
        # The largest networks stop before they converge, as people's do.
        warnings.simplefilter("ignore")
        yield "linear", 0, _linear(classes).fit(parts.train_numbers, parts.train_answers)
        for family in FAMILIES:
            for capacity in CAPACITIES:
                model = built(family, capacity, parts.task, parts.train_numbers.shape[1], seed)
                if classes and family == "kernel":
                    # A support vector machine has no probabilities of its own.
                    continue
                yield family, capacity, model.fit(parts.train_numbers, parts.train_answers)


def _linear(classes: bool) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    bare = LogisticRegression(max_iter=1000) if classes else LinearRegression()
    return make_pipeline(StandardScaler(), bare)


def _measured(
    family: str, capacity: int, model: Any, parts: Split, rows: Floats, seed: int
) -> Measured:
    ask = Answering.of(model, parts, rows)
    radius = _radius(ask, parts)
    random = generator(seed, ExplainableStream.DRAWS)
    targets, moves = _targets(ask, parts, radius, random)
    told = {
        f"{name} @ {queries}": values
        for queries in BUDGETS
        for name, values in scored(ask, parts, radius, queries, random).items()
    }
    within = {
        f"{score} | {target}": correlation(told[score], targets[target])
        for score in told
        for target in TARGETS
    }
    means = {name: float(values.mean()) for name, values in (told | targets).items()}
    return Measured(family, capacity, within, means, _by_column(ask, parts, radius, moves))


def _radius(ask: Answering, parts: Split) -> float:
    """The median distance between nearest training rows, along the columns that move."""
    from scipy.spatial import KDTree

    rows = parts.train_numbers[:2000, ask.moving] / ask.units
    distances = KDTree(rows).query(rows, k=2)[0][:, 1]
    apart = distances[distances > 0]
    return float(np.median(apart))


def _targets(
    ask: Answering, parts: Split, radius: float, random: np.random.Generator
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Every target (points,), and what moves or stands per column (points, width)."""
    near, slopes = surrogate(ask, radius, random)
    wide, _ = surrogate(ask, 2 * radius, random)
    line, again = lime(ask, random)
    shapley, values_moved, values = shapley_moves(ask, radius, parts.train_numbers, random)
    turned, slopes_moved = slopes_move(ask, radius, slopes, random)
    pairs = (near, wide, line, again, shapley, turned)
    figures = [figure for pair in pairs for figure in pair]
    columns = {
        "Shapley values moved": values_moved,
        "slopes moved": slopes_moved,
        "size of the Shapley value": np.abs(values),
        "size of the slope": np.abs(slopes),
    }
    return dict(zip(TARGETS, figures, strict=True)), columns


def _by_column(
    ask: Answering, parts: Split, radius: float, columns: dict[str, Floats]
) -> dict[str, float]:
    """Do contributions to gamma name the columns whose attribution moves?"""
    classes = ask.classes is not None
    shares = contributions(
        as_model(ask.model, output="probability" if classes else None),
        points(ask.rows, moving=ask.moving.tolist()),
        reference=parts.train_numbers,
        radius=radius,
        reduction="predicted" if classes else "norm",
    )
    told = {
        "contribution to gamma": np.abs(shares.values),
        "size of the Shapley value": columns["size of the Shapley value"],
        "size of the slope": columns["size of the slope"],
    }
    return {
        f"{name} | {target}": _mean_correlation(values, columns[target])
        for name, values in told.items()
        for target in ("Shapley values moved", "slopes moved")
    }


def _mean_correlation(one: Floats, other: Floats) -> float:
    """Over columns, averaged over the rows where both vary."""
    known = [correlation(a, b) for a, b in zip(one, other, strict=True)]
    finite = [value for value in known if np.isfinite(value)]
    return float(np.mean(finite)) if len(finite) >= len(known) / 2 else float("nan")


def correlation(one: Floats, other: Floats) -> float:
    """Spearman's; NaN where one of them does not vary beyond rounding.

    >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 9.0]))
    1.0
    """
    first, second = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if min(np.ptp(first), np.ptp(second)) <= ROUNDING:
        return float("nan")
    return float(spearmanr(first, second).statistic)
