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
            parts = outputs[rows], expected[rows]
            error = metric_value(name, *parts) - metric_value(name, outputs[rows], observed[rows])
            own = float(
                row_variances(metric_slopes(name, *parts), expected[rows], kind, spreads).sum()
            )
            if np.isfinite(error):
                errors.append(error)
                # The labels of these rows, and those of the rows that were fitted on.
                chance.append(own * (1 + len(rows) / (count * (1 - 1 / FOLDS))))
        excess = float(np.mean(np.square(errors)) - np.mean(chance)) if errors else 0.0
        noise = float(np.sqrt(2 / len(errors)) * np.mean(chance)) if errors else 0.0
        found[name] = max(0.0, excess - noise)
    return found
