"""A model's performance without labels, with an interval, or a refusal in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.performance.alike import Likeness
from anharmonic.performance.expecting import Member, design
from anharmonic.performance.metrics import (
    METRICS,
    Task,
    metric_slopes,
    metric_value,
    row_variances,
)
from anharmonic.performance.reach import Reach
from anharmonic.performance.result import Interval, Performance

__all__ = ["Estimator", "Reference"]

MOST_OUTSIDE = 0.15
"""A larger share of rows unlike any of the reference, and the estimate is a guess."""
MOST_FAR = 0.7
"""Beyond this distance of a column from the reference's, intervals no longer held."""
FEWEST_ALIKE = 100.0
"""So many reference rows must stand behind an estimate, counted as if weighted by likeness."""
FEWEST_ROWS = 30


class Reference(NamedTuple):
    """The labelled rows: outputs, observed credits, and those expected out of fold."""

    outputs: Floats
    observed: Floats
    expected: Floats


@dataclass(frozen=True)
class Estimator:
    """Fitted by `fit_performance`.

    Parameters
    ----------
    kind
        "classes" or "numbers".
    classes
        What the classes are called, in the order of the outputs' columns.
    members
        Fits whose expected credits are averaged.
    reach, likeness
        What the reference covers, and how many of its rows are like others.
    ranks
        Of each feature, the values that its ranks are read off.
    reference
        Labelled rows that everything was fitted on.
    drift
        Variance of the estimate's error between stretches of the reference, by metric.
    spreads : (2,)
        For numbers, Var|e| = k₁·(E|e|)² and Var e² = k₂·(E e²)².
    level
        Of the intervals.
    has_features
        Whether it was fitted with features.
    """

    kind: Task
    classes: tuple[object, ...]
    members: tuple[Member, ...]
    reach: Reach
    likeness: Likeness
    ranks: tuple[Floats, ...]
    reference: Reference
    drift: Mapping[str, float]
    spreads: Floats
    level: float = 0.9
    has_features: bool = False

    @property
    def metrics(self) -> tuple[str, ...]:
        return METRICS[self.kind]

    def expected(self, outputs: Floats, features: Floats | None = None) -> Floats:
        """Expected credits of rows: each class's probability, or |e| and e² (rows, columns)."""
        outputs, features = self.checked(outputs, features)
        inputs = self._inputs(outputs, features)
        total = self.members[0].expected(outputs, inputs)
        # One after the other, so that the same row has the same bits in any batch.
        for member in self.members[1:]:
            total = total + member.expected(outputs, inputs)
        return np.asarray(total / len(self.members))

    def _inputs(self, outputs: Floats, features: Floats | None) -> Floats:
        ordered = None if features is None else rank_codes(features, self.ranks)
        return design(outputs, ordered)

    def checked(self, outputs: Floats, features: Floats | None) -> tuple[Floats, Floats | None]:
        """As arrays of the shapes that were fitted, or an error."""
        outputs = np.asarray(outputs, dtype=np.float64)
        if outputs.shape[1:] != self.reference.outputs.shape[1:]:
            raise PointsError(
                "the outputs have another shape than the reference's: give them alike"
            )
        if not self.has_features:
            return outputs, None
        if features is None:
            raise PointsError("the reference had features: give those of the rows too")
        features = np.asarray(features, dtype=np.float64)
        if features.shape != (len(outputs), len(self.ranks)):
            raise PointsError(
                f"features of shape {features.shape}: give ({len(outputs)}, {len(self.ranks)})"
            )
        return outputs, features

    def estimate(
        self, outputs: Floats, features: Floats | None = None, *, level: float | None = None
    ) -> Performance:
        """Performance on these rows, without labels.

        Parameters
        ----------
        outputs : (rows, classes) or (rows,)
            What the model answered.
        features : (rows, columns)
            As at the fit.
        level
            Of the intervals; that of the fit if None.
        """
        outputs, features = self.checked(outputs, features)
        credits = self.expected(outputs, features)
        level = self.level if level is None else level
        alike = self.rows_alike(outputs, features)
        variances = self.variances(outputs, credits, alike)
        found = {}
        for name in self.metrics:
            value = metric_value(name, outputs, credits) if len(outputs) else math.nan
            half = float(ndtri(0.5 + level / 2)) * math.sqrt(variances[name])
            found[name] = within(name, value, half)
        known, reason = self.judge(outputs, features, alike)
        last = max(len(outputs) - 1, 0)
        return Performance(found, len(outputs), 0, known, reason, level, last=last)

    def variances(self, outputs: Floats, credits: Floats, alike: float) -> dict[str, float]:
        """The error's variance: labels of these rows + finite reference + drift, by metric."""
        found = {}
        for name in self.metrics:
            own = self.label_variance(name, outputs, credits)
            # One row's variance over the rows of the reference that are like these.
            found[name] = own + own * len(outputs) / max(alike, 1.0) + self.drift[name]
        return found

    def label_variance(self, name: str, outputs: Floats, credits: Floats) -> float:
        """Var(metric | rows): what their labels, as expected, still leave open."""
        if not len(outputs):
            return math.nan
        slopes = metric_slopes(name, outputs, credits)
        return float(row_variances(slopes, credits, self.kind, self.spreads).sum())

    def rows_alike(self, outputs: Floats, features: Floats | None) -> float:
        """The reference's effective sample size for rows like these."""
        return self.likeness.rows_alike(self._inputs(outputs, features))

    def judge(self, outputs: Floats, features: Floats | None, alike: float) -> tuple[bool, str]:
        """Whether the estimate has grounds, and words for why not."""
        if len(outputs) < FEWEST_ROWS:
            return False, f"{len(outputs)} rows are too few: give at least {FEWEST_ROWS}"
        if self.kind == "numbers" and not self.reference.observed.any():
            return False, (
                "the model makes no error at the reference, so that nothing says how large one "
                "is: give held-out rows with their own labels, or label some of these"
            )
        shown = shown_columns(outputs, features)
        outside = self.reach.outside(shown)
        share = float(outside.any(axis=1).mean())
        if share > MOST_OUTSIDE:
            worst = self.reach.worst(outside)
            return False, f"{share:.0%} of the rows lie outside the reference: {worst}"
        far = self.reach.distances(shown)
        furthest = int(far.argmax())
        if far[furthest] > MOST_FAR:
            return False, (
                f"{self.reach.names[furthest]} is distributed unlike in the reference "
                f"(distance {far[furthest]:.2f} of 1): label some of these rows"
            )
        if alike < FEWEST_ALIKE:
            return False, (
                f"the reference has too few rows of this kind (as good as {alike:.0f}): "
                "label some of these"
            )
        return True, ""


def within(name: str, value: float, half: float) -> Interval:
    """An interval that stays where the metric can be, all of that if there is no value."""
    highest = 1.0 if name in {"accuracy", "auc"} else math.inf
    if math.isnan(value) or math.isnan(half):
        return Interval(value, 0.0, highest)
    value, low, high = (min(highest, max(0.0, end)) for end in (value, value - half, value + half))
    return Interval(value, low, high)


def shown_columns(outputs: Floats, features: Floats | None) -> Floats:
    """All columns whose reach is kept: features, then outputs."""
    shown = outputs.reshape(len(outputs), -1)
    return shown if features is None else np.concatenate([features, shown], axis=1)


def rank_codes(features: Floats, ranks: tuple[Floats, ...]) -> Floats:
    """Codes of categories by their order in the reference; a new one counts as missing."""
    ordered = features.copy()
    for column, order in enumerate(ranks):
        if len(order):
            cells = features[:, column]
            codes = np.where(np.isnan(cells), -1, cells).astype(np.int64)
            inside = (codes >= 0) & (codes < len(order))
            ordered[:, column] = np.where(inside, order[np.where(inside, codes, 0)], np.nan)
    return ordered
