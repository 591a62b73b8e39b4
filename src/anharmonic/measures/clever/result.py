"""CleverScores: a bound for every point, and how far its fits can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic._core import tables
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.statistics import half_widths
from anharmonic.measures.clever.weibull import State
from anharmonic.scores import Scores

__all__ = ["CleverScores"]

FITS = {
    "target": "targets",
    "slope": "slopes",
    "shape": "shapes",
    "agreement": "agreement",
    "state": "states",
    "steepest": "steepest",
}
"""Columns of a file and the fields they hold."""


@dataclass(frozen=True, repr=False)
class CleverScores(Scores):
    """CLEVER bounds: `values` (points,) is the smallest over the targets; larger is more robust.

    - `signed` (points, targets): each target's bound, at most the radius. `outputs`: the margin
      to it. `targets`: which class it is, -1 for none.
    - `slopes`: the estimated largest slope of each margin in the ball. `shapes`, `agreement`: of
      its fit, the law's shape and Kolmogorov and Smirnov's probability. `states`: how it was
      found, see `State`.
    - `steepest` (points, targets): the largest slope that was met, on a sample or a climb. No
      bound is above the margin over it, so `intervals` end there.
    - `errors`: of `values`, from the fit. A point whose gradients vanish, or whose outputs jump,
      is masked and holds NaN: flat is not the same as robust.
    - `turns`: blocks a point got. `queries`: rows asked for; gradients are counted in settings.
    """

    targets: Integers = None  # type: ignore[assignment]
    slopes: Floats = None  # type: ignore[assignment]
    shapes: Floats = None  # type: ignore[assignment]
    agreement: Floats = None  # type: ignore[assignment]
    states: Integers = None  # type: ignore[assignment]
    steepest: Floats = None  # type: ignore[assignment]

    @property
    def masked(self) -> Any:
        """Points whose gradients vanish or whose outputs jump, (points,) of bool."""
        return np.isin(self.states, [int(State.masked), int(State.jumps)]).any(axis=1)

    @property
    def jumping(self) -> Any:
        """Points whose outputs jump, as trees' do, and have no slope, (points,) of bool."""
        return (self.states == int(State.jumps)).any(axis=1)

    @property
    def capped(self) -> Any:
        """Points whose bound is the radius itself: the ball was too small to say more."""
        return self.values >= self.settings["radius"]

    @property
    def fits(self) -> dict[str, int]:
        """How many ends were found in which way."""
        return {state.name: int((self.states == int(state)).sum()) for state in State}

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Interval for each point's bound: from the fit below, from slopes that were met above."""
        reach = half_widths(self.errors, self.turns, level)
        with np.errstate(divide="ignore", invalid="ignore"):
            met = np.fmin.reduce(self.outputs / self.steepest, axis=1)
        high = np.fmin(np.where(np.isnan(met), self.values + reach, met), self.settings["radius"])
        return np.maximum(self.values - reach, 0.0), np.where(np.isnan(self.values), np.nan, high)

    def worst(self, count: int = 10, level: float = 0.95) -> Integers:
        """Rows of the smallest bounds, by the upper ends of their intervals."""
        high = self.intervals(level)[1]
        order = np.argsort(np.where(np.isfinite(high), high, np.inf), kind="stable")
        return order[: min(count, int(np.isfinite(high).sum()))].astype(np.int64)

    def summary(self) -> dict[str, Any]:
        """The headline as plain numbers, ready for JSON."""
        return {
            **super().summary(),
            "masked": int(self.masked.sum()),
            "capped": int(self.capped.sum()),
            "fits": self.fits,
        }

    def __repr__(self) -> str:
        masked, capped = int(self.masked.sum()), int(self.capped.sum())
        jumping = int(self.jumping.sum())
        noted = f", {masked - jumping:,} masked (no gradient)" if masked > jumping else ""
        noted += f", {jumping:,} masked (outputs jump, as trees' do)" if jumping else ""
        noted += f", {capped:,} at the radius or beyond" if capped else ""
        # What is masked is finished.
        missing = int(np.isnan(self.values).sum())
        left = f", {missing - masked:,} unfinished" if missing > masked else ""
        told = super().__repr__()[:-1].replace(f", {missing:,} unfinished", left)
        return f"{told}{noted}>"

    def to_arrow(self) -> Any:
        """The points as a pyarrow Table with the fits beside them, settings in its metadata."""
        table = super().to_arrow()
        more = tables.arrow({name: getattr(self, field) for name, field in FITS.items()}, {})
        for name in more.column_names:
            table = table.append_column(name, more[name])
        return table

    @classmethod
    def _read(cls, table: Any, about: dict[str, Any]) -> Scores:
        plain = Scores._read(table, about)
        # Files of version 0.1.0 know no slopes that were met.
        unknown = np.full_like(tables.column(table, "slope"), np.nan)
        fits = {
            field: tables.column(table, name) if name in table.column_names else unknown
            for name, field in FITS.items()
        }
        return cls(**vars(plain), **fits)
