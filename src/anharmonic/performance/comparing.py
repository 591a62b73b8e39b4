"""Groups compared: each metric by group, and how far each group is from the largest one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.performance.estimator import Estimator
from anharmonic.performance.groups import Difference, Groups
from anharmonic.performance.labelled import FEWEST_LABELS, powered_metric
from anharmonic.performance.metrics import metric_value, row_influences
from anharmonic.performance.result import Interval
from anharmonic.performance.sampled import chances_of, check_chosen, sampled_rows

__all__ = ["FEWEST", "compare_groups"]

FEWEST = 50
"""Rows below which a group is refused."""


class Found(NamedTuple):
    """A metric of a group: its value, standard error, and degrees of freedom (None: many)."""

    value: float
    error: float
    freedom: float | None


def compare_groups(
    estimator: Estimator,
    outputs: Floats,
    features: Floats | None,
    groups: NDArray[Any],
    *,
    labels: NDArray[Any] | None = None,
    chosen: NDArray[np.bool_] | None = None,
    probabilities: Floats | float | None = None,
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
        As `estimate_labelled` takes them, labels of all rows; without `chosen` every row has one,
        and without labels there is the estimate alone, which needs grounds in each group.
    level
        Of each metric's differences together (Bonferroni).
    """
    outputs, features = estimator.checked(outputs, features)
    names = np.asarray(groups).astype(str)
    if len(names) != len(outputs):
        raise PointsError(f"{len(names)} groups for {len(outputs)} rows: give one per row")
    if labels is None and chosen is not None:
        raise PointsError("rows are chosen and have no labels: give labels= too")
    if labels is not None and len(labels) != len(outputs):
        raise PointsError(
            f"{len(labels)} labels for {len(outputs)} rows: give one per row, anything where none "
            "is known, and say with chosen= which are"
        )
    have = np.ones(len(names), dtype=bool) if chosen is None else np.asarray(chosen, dtype=bool)
    check_chosen(have, len(names))
    chances = None if probabilities is None else chances_of(probabilities, len(names))
    level = estimator.level if level is None else level
    found: dict[str, dict[str, Found]] = {}
    refused, sizes = {}, {}
    for group in sorted(set(names.tolist())):
        inside = names == group
        part = outputs[inside], None if features is None else features[inside]
        if inside.sum() < FEWEST:
            why = f"{inside.sum()} rows are too few to say anything: at least {FEWEST} are"
            entries: dict[str, Found] | None = None
        elif labels is None:
            entries, why = _unlabelled(estimator, *part)
        else:
            own = None if chances is None else chances[inside]
            given = np.asarray(labels)[inside]
            entries, why = _labelled(estimator, *part, given, have[inside], own)
        if entries is None:
            refused[group] = why
            continue
        sizes[group] = int(inside.sum())
        found[group] = {name: one for name, one in entries.items() if np.isfinite(one.value)}
        for name in entries.keys() - found[group].keys():
            refused[f"{group}: {name}"] = "its labels are all alike: label more of its rows"
    single = 0.5 + level / 2
    metrics = {
        group: {name: _around(*entry, single) for name, entry in entries.items()}
        for group, entries in found.items()
    }
    return Groups(metrics, _differences(estimator, found, sizes, level), refused, level)


def _differences(
    estimator: Estimator, found: dict[str, dict[str, Found]], sizes: dict[str, int], level: float
) -> tuple[Difference, ...]:
    """Of each group to the largest one, in intervals that hold together for each metric."""
    if not sizes:
        return ()
    base = max(sizes, key=lambda group: sizes[group])
    others = [group for group in sizes if group != base]
    together = 1 - (1 - level) / 2 / max(len(others), 1)
    differences = []
    for name in estimator.metrics:
        for group in others:
            if name in found[group] and name in found[base]:
                one, other = found[group][name], found[base][name]
                freedoms = [each.freedom for each in (one, other) if each.freedom is not None]
                error, freedom = math.hypot(one.error, other.error), min(freedoms, default=None)
                interval = _around(one.value - other.value, error, freedom, together)
                differences.append(Difference(name, group, base, interval))
    return tuple(differences)


def _around(value: float, error: float, freedom: float | None, upper: float) -> Interval:
    """By Student's quantile where labels were counted, else the normal one."""
    quantile = float(ndtri(upper)) if freedom is None else float(stdtrit(freedom, upper))
    return Interval(value, value - quantile * error, value + quantile * error)


def _unlabelled(
    estimator: Estimator, outputs: Floats, features: Floats | None
) -> tuple[dict[str, Found] | None, str]:
    """Each metric as it is estimated, or None and why not."""
    alike = estimator.rows_alike(outputs, features)
    known, reason = estimator.judge(outputs, features, alike)
    if not known:
        return None, reason
    credits = estimator.expected(outputs, features)
    variances = estimator.variances(outputs, credits, alike)
    found = {}
    for name in estimator.metrics:
        # Of the rows' own labels, or of which rows were drawn: what holds for either.
        drawn = float((row_influences(name, outputs, credits, np.ones(len(outputs))) ** 2).sum())
        more = max(0.0, drawn - estimator.label_variance(name, outputs, credits))
        value = metric_value(name, outputs, credits)
        found[name] = Found(value, math.sqrt(variances[name] + more), None)
    return found, ""


def _labelled(
    estimator: Estimator,
    outputs: Floats,
    features: Floats | None,
    labels: NDArray[Any],
    chosen: NDArray[np.bool_],
    chances: Floats | None,
) -> tuple[dict[str, Found] | None, str]:
    """Each metric as its labels say, or None and why not."""
    if chosen.sum() < FEWEST_LABELS:
        return None, f"{chosen.sum()} labels are too few: give at least {FEWEST_LABELS}"
    rows = sampled_rows(estimator, outputs, features, labels, chosen, chances)
    found = {}
    for name in estimator.metrics:
        powered = powered_metric(estimator, name, rows)
        error = math.hypot(powered.error, powered.drawn)
        found[name] = Found(powered.value, error, rows.freedom)
    return found, ""
