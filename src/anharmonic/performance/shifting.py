"""What a shift does to an estimate's error, learnt from a reference that is all there is.

Stretches that follow each other are left out of a fit, and so are the ends of columns; how far the
estimate then is from the labels, beyond their noise, is a variance for traffic that shifts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.performance.boosting import Size
from anharmonic.performance.estimator import row_variances
from anharmonic.performance.expecting import (
    Member,
    blend,
    contiguous_folds,
    fit_folds,
    fit_member,
)
from anharmonic.performance.metrics import (
    METRICS,
    Task,
    metric_slopes,
    metric_value,
    observed_credits,
)

__all__ = ["Probe", "columns_that_matter", "drift_variances", "end_variances"]

FOLDS = 4
CHUNKS = 20
"""Stretches of the reference in which the estimate is held against the labels."""
ENDS, END = 3, 0.2
"""Columns whose ends are left out, and the share of rows in an end."""


class Probe(NamedTuple):
    """Rows with labels, and how expectations of them are blended."""

    outputs: Floats
    labels: NDArray[Any]
    inputs: Floats
    weights: Floats
    spreads: Floats
    kind: Task
    seed: int
    size: Size | None

    def excess(self, name: str, rows: NDArray[Any], expected: Floats) -> float:
        """Squared error of the estimate on these rows, less the variance of their labels."""
        outputs = self.outputs[rows]
        observed = observed_credits(outputs, self.labels[rows], self.kind)
        error = metric_value(name, outputs, expected) - metric_value(name, outputs, observed)
        slopes = metric_slopes(name, outputs, expected)
        return error**2 - float(row_variances(slopes, expected, self.kind, self.spreads).sum())


def drift_variances(probe: Probe) -> dict[str, float]:
    """What the estimate misses in stretches that its fit did not see, beyond the labels' noise.

    The mean of squared errors less what they are expected to be while nothing drifts: a moment
    estimate of the variance between stretches (DerSimonian and Laird, 1986).
    """
    count = len(probe.outputs)
    fold = contiguous_folds(count, FOLDS)
    fitted = probe.outputs, probe.labels, probe.inputs
    _, parts = fit_folds(*fitted, fold, probe.kind, probe.seed, size=probe.size)
    expected = blend(parts, probe.weights, probe.kind)
    stretches = np.array_split(np.arange(count), max(4, min(CHUNKS, count // 100)))
    return {
        name: _mean([probe.excess(name, rows, expected[rows]) for rows in stretches])
        for name in METRICS[probe.kind]
    }


def end_variances(probe: Probe, columns: Sequence[int]) -> dict[str, float]:
    """What the estimate misses where an end of one of these columns was left out of its fit."""
    found: dict[str, list[float]] = {name: [] for name in METRICS[probe.kind]}
    for column in columns:
        cells = probe.inputs[:, column]
        ends = cells <= np.nanquantile(cells, END), cells >= np.nanquantile(cells, 1 - END)
        for end in ends:
            # An end that is half of the rows is no end: one value fills it.
            if not 50 <= end.sum() <= len(cells) / 2:
                continue
            rest = probe.outputs[~end], probe.labels[~end], probe.inputs[~end]
            member = fit_member(*rest, probe.kind, probe.seed, size=probe.size)
            parts = member.parts(probe.outputs[end], probe.inputs[end])
            expected = blend(parts, probe.weights, probe.kind)
            for name, errors in found.items():
                errors.append(probe.excess(name, np.flatnonzero(end), expected))
    return {name: _mean(errors) for name, errors in found.items()}


def columns_that_matter(members: Sequence[Member], width: int) -> list[int]:
    """The columns that the trees split by most; without trees the outputs, which are last."""
    splits = np.zeros(width)
    for member in members:
        for trees in member.rests:
            used = trees.features[trees.features >= 0]
            splits += np.bincount(used, minlength=width)
    if not splits.any():
        return [width - 1]
    return [int(column) for column in np.argsort(-splits, kind="stable")[:ENDS]]


def _mean(excesses: list[float]) -> float:
    """A variance: the mean of what could be measured, not below 0."""
    finite = [excess for excess in excesses if np.isfinite(excess)]
    return max(0.0, float(np.mean(finite))) if finite else 0.0
