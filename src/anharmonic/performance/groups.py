"""Performance of groups side by side, and their differences with intervals that hold together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from anharmonic._core import tables
from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.performance.estimator import Estimator
from anharmonic.performance.fitting import number_labels
from anharmonic.performance.labelled import powered_metric
from anharmonic.performance.metrics import metric_value, observed_credits
from anharmonic.performance.result import Interval

__all__ = ["Difference", "Groups", "compare_groups"]

FEWEST = 50
"""Rows below which a group is refused; with labels, a tenth as many labels."""


class Difference(NamedTuple):
    """A group's metric less the base group's.

    Parameters
    ----------
    metric
        What is compared, such as "accuracy".
    group, base
        The names of the two groups.
    interval
        The difference, and the interval around it.
    """

    metric: str
    group: str
    base: str
    interval: Interval

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return not self.interval.low <= 0 <= self.interval.high


@dataclass(frozen=True, repr=False)
class Groups:
    """Metrics by group, differences to the largest group, and groups that were refused.

    Parameters
    ----------
    metrics
        By group, each metric with its own interval at `level`.
    differences
        To the largest group; all their intervals of one metric hold together at `level`.
    refused
        By group, why nothing is said of it.
    level
        Of the intervals.
    """

    metrics: dict[str, dict[str, Interval]]
    differences: tuple[Difference, ...]
    refused: dict[str, str]
    level: float

    def __repr__(self) -> str:
        clear = sum(difference.clear for difference in self.differences)
        refused = f", {len(self.refused)} refused" if self.refused else ""
        return f"<{len(self.metrics)} groups, {clear} clear differences{refused}>"

    def _repr_html_(self) -> str:
        cells: dict[str, object] = {
            f"{found.metric}: {found.group} − {found.base}": str(found.interval)
            for found in self.differences
        }
        return tables.facts(cells | {f"{group}": why for group, why in self.refused.items()})

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line per difference."""
        lines = self.differences
        columns: dict[str, Any] = {
            name: np.array([getattr(line, name) for line in lines], dtype=str)
            for name in ("metric", "group", "base")
        }
        for part in Interval._fields:
            columns[part] = np.array([getattr(line.interval, part) for line in lines], dtype=float)
        columns["clear"] = np.array([line.clear for line in lines], dtype=bool)
        return tables.frame(tables.arrow(columns, {"holds": "groups"}), backend)


def compare_groups(
    estimator: Estimator,
    outputs: Floats,
    features: Floats | None,
    groups: NDArray[Any],
    *,
    labels: NDArray[Any] | None = None,
    chosen: NDArray[np.bool_] | None = None,
    probabilities: Floats | float = 1.0,
    level: float | None = None,
) -> Groups:
    """Every metric by group, and how far each group is from the largest one.

    Parameters
    ----------
    estimator
        From `fit_performance`.
    outputs, features
        Of all rows.
    groups : (rows,)
        What each row belongs to; no feature.
    labels, chosen, probabilities
        As `estimate_labelled` takes them, labels of all rows; without labels the estimate alone.
    level
        Of each metric's differences together (Bonferroni).
    """
    outputs, features = estimator.checked(outputs, features)
    names = np.asarray(groups).astype(str)
    if len(names) != len(outputs):
        raise PointsError(f"{len(names)} groups for {len(outputs)} rows: give one per row")
    level = estimator.level if level is None else level
    have = np.zeros(len(names), dtype=bool) if chosen is None or labels is None else chosen
    refused, sizes = {}, {}
    for group in sorted(set(names.tolist())):
        inside = names == group
        count, known = int(inside.sum()), int(have[inside].sum())
        if count < FEWEST:
            refused[group] = f"{count} rows are too few to say anything: at least {FEWEST} are"
        elif have.any() and known < FEWEST // 10:
            refused[group] = f"{known} labels are too few: give at least {FEWEST // 10}"
        else:
            sizes[group] = count
    found: dict[str, dict[str, tuple[float, float, int]]] = {}
    for group in sizes:
        inside = names == group
        part = outputs[inside], None if features is None else features[inside]
        if have.any():
            assert labels is not None
            chances = np.broadcast_to(np.asarray(probabilities, float), names.shape)[inside]
            given = np.asarray(labels)[inside]
            found[group] = _labelled(estimator, *part, given, have[inside], chances)
        else:
            found[group] = _unlabelled(estimator, *part)
    base = max(sizes, key=lambda group: sizes[group]) if sizes else ""
    others = [group for group in sizes if group != base]
    single = 0.5 + level / 2
    together = 1 - (1 - level) / 2 / max(len(others), 1)
    metrics = {
        group: {name: _around(*entry, single) for name, entry in entries.items()}
        for group, entries in found.items()
    }
    differences = []
    for name in estimator.metrics:
        for group in others:
            (one, error, count), (two, other, more) = found[group][name], found[base][name]
            joint = one - two, math.hypot(error, other), min(count, more)
            differences.append(Difference(name, group, base, _around(*joint, together)))
    return Groups(metrics, tuple(differences), refused, level)


def _around(value: float, error: float, count: int, upper: float) -> Interval:
    """By Student's quantile where labels were counted, else the normal one."""
    quantile = float(stdtrit(count - 1, upper)) if count else float(ndtri(upper))
    return Interval(value, value - quantile * error, value + quantile * error)


def _unlabelled(
    estimator: Estimator, outputs: Floats, features: Floats | None
) -> dict[str, tuple[float, float, int]]:
    credits = estimator.expected(outputs, features)
    variances = estimator.variances(outputs, credits, estimator.rows_alike(outputs, features))
    return {
        name: (metric_value(name, outputs, credits), math.sqrt(variances[name]), 0)
        for name in estimator.metrics
    }


def _labelled(
    estimator: Estimator,
    outputs: Floats,
    features: Floats | None,
    labels: NDArray[Any],
    chosen: NDArray[np.bool_],
    chances: Floats,
) -> dict[str, tuple[float, float, int]]:
    credits = estimator.expected(outputs, features)
    kind, classes = estimator.kind, estimator.classes or None
    observed = np.zeros_like(credits)
    numbered = number_labels(labels[chosen], kind, classes, len(labels))
    observed[chosen] = observed_credits(outputs[chosen], numbered, kind)
    found = {}
    for name in estimator.metrics:
        powered = powered_metric(name, outputs, credits, observed, chosen, chances)
        found[name] = powered.value, powered.error, int(chosen.sum())
    return found
