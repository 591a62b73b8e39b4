"""Scores: what every measure returns, and all that anything downstream may read.

A frozen table with a value, an error and a signed deviation for each point, the queries
it cost and the settings to do it again. It knows nothing of models.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln

from anharmonic import tables
from anharmonic.errors import SettingsError
from anharmonic.moments import Estimate, Moments, half_widths
from anharmonic.protocols import Floats, Integers

__all__ = ["Scores", "mean_coordinate"]

SUMS = "sums."
COLUMNS = ("value", "error", "squared", "signed", "output", "turns")


@dataclass(frozen=True, repr=False)
class Scores:
    """One score for each point, with its error and its cost.

    - `values` (points,): the score, never negative for gamma.
    - `errors` (points,): its standard error, from independent turns of the ball.
    - `squared` (points,): the score's square without the upward bias of noise; may be below 0.
    - `signed` (points,) or (points, columns): f(x) minus the mean around x.
    - `outputs`: f(x) itself, in the same shape as `signed`.
    - `turns` (points,): how many independent turns each point got.
    - `queries`: rows the model was asked for, everything included.

    A point that was not finished holds NaN; `complete` says whether there is none. Scores of a
    run that was stopped have its `sums` too, arrays by name, so that it goes on to the same bits.
    """

    metric: str
    values: Floats
    errors: Floats
    squared: Floats
    signed: Floats
    outputs: Floats
    turns: Integers
    queries: int
    settings: dict[str, Any] = field(default_factory=dict)
    sums: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def started(self) -> bool:
        """Whether any point is measured."""
        return bool((self.turns > 0).any())

    @property
    def complete(self) -> bool:
        return bool(np.isfinite(self.values).all())

    @property
    def moments(self) -> Moments:
        """Count, mean and spread of the values that are there."""
        return Moments.of(self.values[np.isfinite(self.values)])

    @property
    def mean(self) -> float:
        """The average over the points."""
        return float(self.moments.mean) if np.isfinite(self.values).any() else float("nan")

    @property
    def error(self) -> float:
        """The standard error of `mean` as an estimate for the region the points came from."""
        return float(self.moments.error)

    @property
    def ball_error(self) -> float:
        """The part of the error that more turns would remove: the error for just these points."""
        errors = self.errors[np.isfinite(self.errors)]
        return float(np.sqrt(np.sum(errors**2)) / len(errors)) if len(errors) else float("nan")

    @property
    def floor(self) -> float:
        """What noise alone would make the mean read where the true value is 0 everywhere."""
        if self._one_signed:
            return 0.0
        known = np.isfinite(self.squared)
        if not known.any():
            return float("nan")
        power = np.maximum(self.values[known] ** 2 - self.squared[known], 0.0)
        return float(_mean_length(self._free_columns) * np.mean(np.sqrt(power)))

    @property
    def _one_signed(self) -> bool:
        """Whether every turn deviates in the same direction, as shares of changed labels do."""
        known = self.settings
        if known.get("noise"):  # the label at the centre changes by itself then
            return False
        if known.get("kind") == "label":
            return len(known.get("classes") or ()) == 2
        reduction = known.get("reduction")
        return known.get("kind") == "onehot" and (
            reduction == "predicted" or isinstance(reduction, int)
        )

    @property
    def _free_columns(self) -> int:
        """How many directions noise has: probabilities sum to 1, which takes one away."""
        columns = self.signed.shape[1] if self.signed.ndim == 2 else 1
        return max(1, columns - (self.settings.get("kind") == "probability"))

    @property
    def lowered(self) -> Floats:
        """Scores that noise can only lower on average, (points,); below 0 where turns disagree.

        Each turn is projected on the direction in which the other turns point, which on average
        cannot exceed the truth: the mean product of two different turns, `squared`, over the
        root mean square length of a mean that leaves one turn out. Shares of changed labels
        have one sign, so that noise cancels in them: they stay.
        """
        if self._one_signed:
            return self.values
        noise = np.maximum(self.values**2 - self.squared, 0.0)
        length = np.sqrt(self.values**2 + noise / np.maximum(self.turns - 1, 1))
        return np.divide(self.squared, length, out=np.zeros(len(length)), where=length != 0)

    @property
    def rms(self) -> Estimate:
        """Root of the mean square, from `squared`: noise does not lift it."""
        known = self.squared[np.isfinite(self.squared)]
        if not len(known):
            return Estimate(float("nan"), float("nan"))
        mean = Moments.of(known)
        value = float(np.sqrt(max(float(mean.mean), 0.0)))
        return Estimate(value, float(mean.error) / (2 * value) if value else float("nan"))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval for the region's mean."""
        low, high = self.moments.interval(level)
        return float(low), float(high)

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Interval for each point's value; a lower end below 0 is 0.

        Labels change in steps, so turns that happen to agree prove little: an interval of
        labels is never narrower than one neighbour's label, more or less, would make it.
        """
        errors = self.errors
        if self.settings.get("kind") in ("onehot", "label"):
            asked = np.maximum(self.turns * self.settings.get("directions", 1), 1)
            errors = np.maximum(errors, 1 / asked)
        reach = half_widths(errors, self.turns, level)
        # The length of a vector of noise is never near 0, so the lower end starts below it.
        low = self.values if self._free_columns == 1 else np.fmin(self.values, self.lowered)
        return np.maximum(low - reach, 0.0), self.values + reach

    def worst(self, count: int = 10, level: float = 0.95) -> Integers:
        """Rows of the largest scores, by the lower ends of their intervals: noise is no guilt."""
        low = self.intervals(level)[0]
        usable = np.where(np.isfinite(low), low, np.where(np.isfinite(self.values), 0.0, -1.0))
        order = np.lexsort((-np.nan_to_num(self.values), -usable))
        return order[:count].astype(np.int64)

    @property
    def boundary_density(self) -> Estimate:
        """Area of the decision boundary for each unit of volume, from scores of labels.

        The average over a flat boundary is r·E|u₁|·A/V (supplement, section 2, in n
        dimensions), read backwards. Lengths are in the scaled features' units.
        """
        classes = self.settings.get("classes")
        counted = self.settings.get("kind") == "onehot" or (
            self.settings.get("kind") == "label" and classes is not None and len(classes) == 2
        )
        if not counted:
            raise SettingsError(
                "the boundary's area is read from labels: measure with output='onehot' "
                "(or output='label' for two classes)"
            )
        reach = self.settings["radius"] * mean_coordinate(self.settings["dimension"])
        return Estimate(self.mean / reach, self.error / reach)

    @property
    def boundary_area(self) -> Estimate:
        """Estimated area of the decision boundary inside the region, from scores of labels."""
        density = self.boundary_density
        volume = self.settings.get("volume")
        if volume is None:
            raise SettingsError(
                "these points have no volume: measure on regions.grid(…) or regions.hull(…), "
                "or multiply boundary_density by the volume you have in mind"
            )
        return Estimate(density.value * volume, density.error * volume)

    def summary(self) -> dict[str, Any]:
        """The headline as plain numbers, ready for JSON."""
        low, high = self.interval()
        return {
            "metric": self.metric,
            "points": len(self),
            "measured": int(np.isfinite(self.values).sum()),
            "mean": self.mean,
            "error": self.error,
            "interval95": [low, high],
            "noise_floor": self.floor,
            "rms": list(self.rms),
            "queries": self.queries,
            "settings": self.settings,
        }

    def __repr__(self) -> str:
        radius = self.settings.get("radius")
        where = "" if radius is None else f", radius {radius:.4g}"
        missing = "" if self.complete else f", {int(np.isnan(self.values).sum()):,} unfinished"
        return (
            f"<{self.metric} {Estimate(self.mean, self.error)} over {len(self):,} points"
            f"{missing}, {self.queries:,} queries{where}>"
        )

    def _repr_html_(self) -> str:
        cells = {
            self.metric: Estimate(self.mean, self.error),
            "points": f"{len(self):,}",
            "queries": f"{self.queries:,}",
            "noise alone": f"{self.floor:.2g}",
            "radius": self.settings.get("radius", "–"),
            "ball": self.settings.get("ball", "–"),
            "model": self.settings.get("model", "–"),
        }
        return tables.facts(cells)

    def to_arrow(self) -> Any:
        """The points as a pyarrow Table, settings in its metadata."""
        arrays = (self.values, self.errors, self.squared, self.signed, self.outputs, self.turns)
        about = {"metric": self.metric, "queries": self.queries, "settings": self.settings}
        return tables.arrow(dict(zip(COLUMNS, arrays, strict=True)), about)

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row a point, as the first installed of pandas, polars and pyarrow, or as told."""
        return tables.frame(self.to_arrow(), backend)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write Parquet, whole or not at all."""
        table = self.to_arrow()
        for name, array in self.sums.items():
            table = table.append_column(SUMS + name, tables.as_column(array))
        return tables.save(table, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scores:
        """Read what `save` wrote."""
        table, about = tables.load(path, "scores", "Scores.save or --out")
        values, errors, squared, signed, outputs, turns = (
            tables.column(table, name) for name in COLUMNS
        )
        return cls(
            metric=about["metric"],
            values=values,
            errors=errors,
            squared=squared,
            signed=signed,
            outputs=outputs,
            turns=turns,
            queries=about["queries"],
            settings=about["settings"],
            sums={
                name.removeprefix(SUMS): tables.column(table, name)
                for name in table.column_names
                if name.startswith(SUMS)
            },
        )


def _mean_length(dimension: int) -> float:
    """Mean length of normal noise, as a share of its root mean square."""
    half = dimension / 2
    return float(np.exp(gammaln(half + 0.5) - gammaln(half)) / np.sqrt(half))


def mean_coordinate(dimension: int) -> float:
    """E|u₁| over the unit sphere: how far a direction reaches along a fixed one, on average.

    >>> round(mean_coordinate(3), 12)
    0.5
    """
    logarithm = gammaln(dimension / 2) - gammaln((dimension + 1) / 2)
    return float(np.exp(logarithm) / np.sqrt(np.pi))
