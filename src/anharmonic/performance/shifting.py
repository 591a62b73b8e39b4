"""How an estimate drifts from its labels along a reference, beyond what chance explains.

Stretches that follow each other are left out of a fit; how far the estimate is from their labels
is a variance for traffic, which is a stretch as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.performance.expecting import contiguous_folds, fit_folds
from anharmonic.performance.metrics import (
    METRICS,
    Task,
    metric_slopes,
    metric_value,
    observed_credits,
    row_variances,
)

__all__ = ["drift_variances"]

FOLDS = 4
CHUNKS = 20
"""Stretches in which the estimate is held against the labels."""
WIDEST = 0.25
"""The largest variance of what lies between 0 and 1: of an AUC that no stretch has."""


def drift_variances(
    outputs: Floats,
    labels: NDArray[Any],
    inputs: Floats,
    spreads: Floats,
    kind: Task,
    seed: int,
    *,
    trees: bool,
) -> dict[str, float]:
    """Between stretches, by metric: mean squared errors less what they are while nothing drifts.

    A moment estimate (DerSimonian and Laird, 1986), less one standard error of it: most references
    do not drift, and chance alone is no reason for wider intervals.
    """
    count = len(outputs)
    fold = contiguous_folds(count, FOLDS)
    _, expected = fit_folds(outputs, labels, inputs, fold, kind, seed, trees=trees)
    observed = observed_credits(outputs, labels, kind)
    stretches = np.array_split(np.arange(count), max(4, min(CHUNKS, count // 100)))
    found = {}
    for name in METRICS[kind]:
        errors, chance = [], []
        for rows in stretches:
            scored = _present(observed[rows]) if name == "auc" else None
            if scored == []:
                continue
            parts = outputs[rows], expected[rows]
            estimate = metric_value(name, *parts, scored)
            errors.append(estimate - metric_value(name, outputs[rows], observed[rows], scored))
            slopes = metric_slopes(name, *parts, scored)
            own = float(row_variances(slopes, expected[rows], kind, spreads).sum())
            # The labels of these rows, and those of the rows that were fitted on.
            chance.append(own * (1 + len(rows) / (count * (1 - 1 / FOLDS))))
        if not errors:
            # Nothing is known of it, and it lies between 0 and 1.
            found[name] = WIDEST
            continue
        excess = float(np.mean(np.square(errors)) - np.mean(chance))
        noise = float(np.sqrt(2 / len(errors)) * np.mean(chance))
        found[name] = max(0.0, excess - noise)
    return found


def _present(credits: Floats) -> list[int]:
    """Classes that some of the rows have and others do not: those with an AUC of their own.

    Of two classes the second, as everywhere.
    """
    shares = credits.mean(axis=0)
    there = np.flatnonzero((shares > 0) & (shares < 1)).tolist()
    return there[-1:] if credits.shape[1] == 2 else there
