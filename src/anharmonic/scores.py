"""Scores: what every measure returns, and all that anything downstream may read.

A frozen table with a value, an error and a signed deviation for each point, the queries
it cost and the settings to do it again. It knows nothing of models.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, final

import numpy as np

from anharmonic._core import tables
from anharmonic._core.boundaries import label_step, mean_coordinate
from anharmonic._core.columns import kinds_in_words, remark, told, words_for
from anharmonic._core.estimate import Estimate
from anharmonic._core.metrics import Description, Metric, metric_of
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.reading import (
    MovedColumn,
    in_spreads,
    mean_in_words,
    moved_columns,
    share_in_words,
    spread_of,
)
from anharmonic._core.settings import Settings
from anharmonic._core.statistics import Moments, half_widths, stratified_error
from anharmonic._core.uncertainty import (
    LOOKS,
    half_widths_of_points,
    noise_floor,
    order_by_safe_ends,
    output_lengths,
    resolutions,
    rounding,
)
from anharmonic.errors import SettingsError

__all__ = ["Scores", "mean_coordinate"]

SUMS = "sums."
COLUMNS = ("value", "error", "squared", "signed", "output", "turns")


@final
@dataclass(frozen=True, repr=False)
class Scores:
    """One score for each point, with its error and its cost.

    A point that was not finished holds NaN; `complete` says whether there is none.

    Parameters
    ----------
    metric
        What the values are, by name; `about` knows more.
    values : (points,)
        The score, never negative for gamma.
    errors : (points,)
        Its standard error, from independent turns of the ball.
    squared : (points,)
        The score's square without the upward bias of noise; may be below 0.
    signed : (points,) or (points, columns)
        f(x) minus the mean around x.
    outputs
        f(x) itself, in the same shape as `signed`.
    turns : (points,)
        How many independent turns each point got.
    queries
        Rows the model was asked for, everything included.
    settings
        What was asked and chosen: enough to measure again.
    columns
        What the measure adds for each point, by name. Gamma has `largest`, `flat` and `same`:
        the largest change along one direction (of a pair, its even part), how many directions
        had next to none, and how many neighbours had exactly the centre's answer; see
        `resolution`.
    index
        That of the pandas frame the points came in, if any; it is not saved.
    sums
        Arrays by name that a stopped run needs to go on to the same bits.
    """

    metric: str
    values: Floats
    errors: Floats
    squared: Floats
    signed: Floats
    outputs: Floats
    turns: Integers
    queries: int
    settings: Settings = field(default_factory=Settings)
    columns: Mapping[str, Any] = field(default_factory=dict)
    index: object = field(default=None, compare=False)
    sums: Mapping[str, Any] = field(default_factory=dict)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What the measure adds, by name: a column, or something made from columns."""
            if not name.startswith("_") and "metric" in vars(self):
                made = self.about.columns
                if name in made:
                    return made[name](self)
                if name in self.columns:
                    return self.columns[name]
            raise AttributeError(f"{type(self).__name__} of {vars(self).get('metric')}: {name}")

    @property
    def about(self) -> Metric:
        """What the values are: which way is fragile, how intervals are made."""
        return metric_of(self.metric)

    def column(self, name: str) -> Any:
        """One of `columns`; zeros where the measure does not have it."""
        found = self.columns.get(name)
        return np.zeros(len(self)) if found is None else found

    def __len__(self) -> int:
        return len(self.values)

    @property
    def fragile(self) -> Literal["large", "small"]:
        """Which values are the fragile ones: large as for gamma, or small as for a margin."""
        told = self.settings.fragile or self.about.fragile
        return "small" if told == "small" else "large"

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
        if self.about.independent is not None:
            return float(Moments.of(self.about.independent(self)).mean)
        return float(self.moments.mean) if np.isfinite(self.values).any() else float("nan")

    @property
    def error(self) -> float:
        """The standard error of `mean` as an estimate for the region the points came from.

        A whole grid is no random sample of it: its cells each stand for themselves, so that only
        what differs within a cell counts, and that is read from cells side by side.
        """
        if self.about.independent is not None:
            return float(Moments.of(self.about.independent(self)).error)
        cells = self.settings.cells
        if cells and self.complete and len(self) > 1:
            return stratified_error(self.values, cells)
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
        own = self.about.noise
        noise = self.values**2 - self.squared if own is None else own(self)
        return noise_floor(noise, self.turns, self._free_columns, self.rounding)

    @property
    def _one_signed(self) -> bool:
        """Whether every turn deviates in the same direction, as shares of changed labels do."""
        settings = self.settings
        if settings.noise:  # the label at the centre changes by itself then
            return False
        if settings.kind == "label":
            return len(settings.classes) == 2
        reduction = settings.reduction
        return settings.kind == "onehot" and (
            reduction == "predicted" or isinstance(reduction, int)
        )

    @property
    def _free_columns(self) -> int:
        """How many directions noise has: probabilities sum to 1, which takes one away."""
        columns = self.signed.shape[1] if self.signed.ndim == 2 else 1
        return max(1, columns - (self.settings.kind == "probability"))

    @property
    def lowered(self) -> Floats:
        """Scores that noise can only lower on average, (points,); below 0 where turns disagree.

        Each turn is projected on the direction in which the other turns point, which on average
        cannot exceed the truth: the mean product of two different turns, `squared`, over the
        root mean square length of a mean that leaves one turn out. Shares of changed labels
        have one sign, so that noise cancels in them: they stay. What rounding of the centre
        may have added is taken off.
        """
        if self._one_signed:
            return self.values
        noise = np.maximum(self.values**2 - self.squared, 0.0)
        length = np.sqrt(self.values**2 + noise / np.maximum(self.turns - 1, 1))
        projected = np.divide(self.squared, length, out=np.zeros(len(length)), where=length != 0)
        return projected - self.rounding

    @property
    def bracketing(self) -> tuple[Floats, Floats]:
        """Two columns of independent values whose means hold the true mean between them.

        Noise can only lower the first and lift the second; where scores depend on one another,
        both are what the metric has in their place.
        """
        if self.about.independent is not None:
            independent = self.about.independent(self)
            return independent, independent
        return self.lowered, self.values

    @property
    def resolution(self) -> Floats:
        """What one more neighbour with another answer would add to each score, (points,).

        Errors below it prove little: few turns agree by chance (see `uncertainty`). It is 0 for
        models that bend smoothly.
        """
        settings = self.settings
        if settings.complete:
            return np.zeros(len(self))
        kind, directions = settings.kind, settings.directions or 1
        largest = self.column("largest")
        changes = np.where(largest > self.rounding, largest, 0.0)
        if settings.reduction == "angle":
            changes = changes / np.maximum(output_lengths(self.outputs), np.finfo(float).tiny)
        found = resolutions(
            largest=changes,
            flat=self.column("flat"),
            same=self.column("same"),
            turns=self.turns,
            directions=directions,
            paired=settings.paired,
            bounded=kind in ("onehot", "label", "probability"),
            outputs=self.outputs,
        )
        if kind in ("onehot", "label"):
            found = np.maximum(found, 1 / np.maximum(self.turns * directions, 1))
        return found

    @property
    def rounding(self) -> Floats:
        """How far rounding of the model's answer at the point itself may move each score."""
        centres = np.ones(len(self)) if self.settings.reduction == "angle" else self.outputs
        return rounding(self.settings.precision, centres)

    @property
    def full_errors(self) -> Floats:
        """Standard errors, and `resolution` for what few turns cannot show."""
        return cast(Floats, np.hypot(self.errors, self.resolution))

    def half_widths(self, level: float = 0.95) -> Floats:
        """Half of each point's interval: Student's of `full_errors`, and `rounding`.

        A tolerance stops a point when its interval is narrow, so then each of its looks gets
        its share of the chance to be wrong, and the interval holds whenever it stopped.
        """
        if self.settings.complete:
            return np.where(self.turns > 0, self.rounding, np.inf)
        looks = LOOKS if self.settings.tolerance else 1
        return half_widths_of_points(self.full_errors, self.turns, level, looks) + self.rounding

    @property
    def rms(self) -> Estimate:
        """Root of the mean square, from `squared`: noise does not lift it."""
        known = self.squared[np.isfinite(self.squared)]
        if not len(known):
            return Estimate(float("nan"), float("nan"))
        mean = Moments.of(known)
        value = float(np.sqrt(max(float(mean.mean), 0.0)))
        return Estimate(value, float(mean.error) / (2 * value) if value else float("nan"))

    @property
    def relative(self) -> Estimate:
        """The mean in units of the outputs' spread over the points: what share of it a score is."""
        return in_spreads(self.mean, self.error, spread_of(self.outputs))

    @property
    def share_of_spread(self) -> str:
        """`relative` in words; nothing where the values are not in the outputs' unit."""
        return share_in_words(self.relative, self.about.bounded, self.settings.reduction)

    def along(self) -> list[MovedColumn]:
        """How far answers move with each column of a table, the one with most weight first.

        Columns of numbers alone move together, and are not told apart.
        """
        settings = self.settings
        asked = self.turns * max(1, settings.directions)
        return moved_columns(self.columns, asked, settings.columns, settings.kinds)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval for the region's mean."""
        independent = self.about.independent
        count = self.moments.count if independent is None else len(independent(self))
        reach = float(half_widths(self.error, count, level))
        return self.mean - reach, self.mean + reach

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Interval for each point's value; a lower end below 0 is 0.

        Where answers change in steps, turns that happen to agree prove little: an interval is
        never narrower than one neighbour's change, more or less, would make it.
        """
        if self.about.intervals is not None:
            return self.about.intervals(self, level)
        reach = self.half_widths(level)
        # The length of a vector of noise is never near 0, so the lower end starts below it.
        low = self.values if self._free_columns == 1 else np.fmin(self.values, self.lowered)
        return np.maximum(low - reach, 0.0), np.minimum(self.values + reach, self.most)

    @property
    def most(self) -> float:
        """The largest score there can be: shares and probabilities are bounded."""
        if self.settings.kind not in ("onehot", "probability") or not self.about.bounded:
            return float("inf")
        largest = {"norm": float(np.sqrt(2)), "angle": float(np.pi)}
        return largest.get(str(self.settings.reduction), 1.0)

    def worst(self, count: int = 10, level: float = 0.95) -> Integers:
        """Rows of the most fragile scores, by the safe ends of their intervals.

        The largest by their lower ends or, of a measure whose small values are the fragile ones,
        the smallest by their upper ends. Unfinished points come last.
        """
        order = order_by_safe_ends(self.values, self.intervals(level), self.fragile)
        if self.about.skips_unknown:
            order = order[np.isfinite(self.values)[order]]
        return order[:count]

    @property
    def boundary_density(self) -> Estimate:
        """Area of the decision boundary for each unit of volume, from scores of labels.

        The average over a flat boundary is r·E|u₁|·A/V (supplement, section 2, in n
        dimensions), read backwards. Lengths are in the scaled features' units.
        """
        step = label_step(self.settings, self.outputs)
        reach = step * self.settings.radius * mean_coordinate(self.settings.dimension)
        return Estimate(self.mean / reach, self.error / reach)

    @property
    def boundary_area(self) -> Estimate:
        """Estimated area of the decision boundary inside the region, from scores of labels."""
        density = self.boundary_density
        volume = self.settings.volume
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
            **({"relative": list(self.relative)} if self.about.bounded else {}),
            **({"reading": self.reading} if self.reading else {}),
            "queries": self.queries,
            "settings": self.settings.plain(),
            **self._description.facts,
        }

    @property
    def reading(self) -> str:
        """Which mean this is, and why `compare` may show another, in a sentence.

        Nothing where points have no columns, as prompts have not: these are not compared so.
        """
        if self.settings.moves and not self.settings.knows("dimension"):
            return ""
        return mean_in_words(len(self), self.fragile, self.settings.moves)

    @property
    def _description(self) -> Description:
        """What the metric says of these scores beside the usual."""
        if self.about.describe is not None:
            return self.about.describe(self)
        return Description(int(np.isnan(self.values).sum()), "", {})

    def __repr__(self) -> str:
        settings, noted = self.settings, self._description
        where = f", radius {settings.radius:.4g}" if settings.knows("radius") else ""
        missing = f", {noted.unfinished:,} unfinished" if noted.unfinished else ""
        moved = remark(settings)
        relative = f", {self.share_of_spread}" if self.share_of_spread else ""
        return (
            f"<{self.metric} {Estimate(self.mean, self.error)} over {len(self):,} points"
            f"{missing}{relative}, {self.queries:,} queries{where}{moved}{noted.words}>"
        )

    def _repr_html_(self) -> str:
        settings = self.settings
        called = {"radius": "radius", "ball": words_for(settings)["ball"], "model": "model"}
        facts = settings.plain()
        cells = {
            self.metric: Estimate(self.mean, self.error),
            "points": f"{len(self):,}",
            "queries": f"{self.queries:,}",
            "noise alone": f"{self.floor:.2g}",
            # A deviation is in the outputs' unit; other measures have units of their own.
            **({"of the outputs' spread": self.relative.percent} if self.about.bounded else {}),
            **self._along_in_words(),
            # Where nothing moves there is no radius to speak of.
            **{
                word: facts.get(name, "–")
                for name, word in called.items()
                if settings.moves or settings.knows(name)
            },
            **told(settings),
            **self._kinds_in_words,
        }
        return tables.facts(cells)

    @property
    def _kinds_in_words(self) -> dict[str, str]:
        """What columns were taken for, of a table of other than numbers."""
        settings = self.settings
        return {"as": kinds_in_words(settings.columns, settings.kinds)} if settings.kinds else {}

    def _along_in_words(self) -> dict[str, str]:
        """The columns that answers move with most, of a table of other than numbers."""
        most = [f"{moved.name} ({moved.change})" for moved in self.along()[:3]]
        return {"moves most with": ", ".join(most)} if most else {}

    def to_arrow(self) -> Any:
        """The points as a pyarrow Table, settings in its metadata."""
        arrays = (self.values, self.errors, self.squared, self.signed, self.outputs, self.turns)
        columns = {**dict(zip(COLUMNS, arrays, strict=True)), **self.columns}
        about = {"metric": self.metric, "queries": self.queries, "settings": self.settings.plain()}
        return tables.arrow(columns, about)

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per point, as the first installed of pandas, polars and pyarrow, or as told."""
        found = tables.frame(self.to_arrow(), backend)
        if self.index is not None and hasattr(found, "set_axis"):
            return found.set_axis(self.index, axis=0)
        return found

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write Parquet, whole or not at all."""
        table = self.to_arrow()
        for name, array in self.sums.items():
            table = table.append_column(SUMS + name, tables.as_column(array))
        return tables.save(table, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scores:
        """Read what `save` wrote."""
        return cls.read(*tables.load(path, "scores", "Scores.save or --out"))

    @classmethod
    def read(cls, table: Any, about: Mapping[str, Any]) -> Scores:
        """From a table and the facts beside it, as `to_arrow` made them."""
        values, errors, squared, signed, outputs, turns = (
            tables.column(table, name) for name in COLUMNS
        )
        others = [name for name in table.column_names if name not in COLUMNS]
        return cls(
            metric=about["metric"],
            values=values,
            errors=errors,
            squared=squared,
            signed=signed,
            outputs=outputs,
            turns=turns,
            queries=about["queries"],
            settings=metric_of(about["metric"]).settings.read(about["settings"]),
            columns={
                name: tables.column(table, name) for name in others if not name.startswith(SUMS)
            },
            sums={
                name.removeprefix(SUMS): tables.column(table, name)
                for name in others
                if name.startswith(SUMS)
            },
        )
