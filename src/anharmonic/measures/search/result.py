"""What a search of many walks from point to neighbour found.

A step goes along one direction of a ball, so a walk is its start and one number per step; any
point on it can be made again without having been kept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core import tables
from anharmonic._core.columns import remark, told
from anharmonic._core.protocols import Array, Ball, Floats, Integers
from anharmonic._core.statistics import Rate
from anharmonic.errors import SettingsError
from anharmonic.measures.search.flips import FlipCurve, flip_curve, step_in_words
from anharmonic.measures.search.step_rule import StepRule, StepSettings, walking_ball
from anharmonic.measures.setup.batching import Flags

if TYPE_CHECKING:
    import pandas

__all__ = ["Search"]

LISTED = 10
"""Rows that are named in a line."""
COLUMNS = ("start", "choice", "label", "margin", "gamma", "flip", "queries")


@dataclass(frozen=True, repr=False)
class Search:
    """Where walks from some points led, and when the decision changed.

    Parameters
    ----------
    starts : (points, n)
        The coordinates that moved, before the first step.
    choices : (points, steps)
        Which direction each step took; −1 where none was taken.
    labels : (points, steps + 1)
        The class (a column's number) before the first step and after each; −1 where the model
        was not called.
    margins : (points, steps + 1)
        Output of the first class less the best other; NaN where the model was not called.
    gammas : (points, steps)
        With climb="gamma", the chosen neighbour's gamma, from directions that had no part in
        choosing it. NaN otherwise.
    flips : (points,)
        The first step with another class; −1 for none.
    queries : (points,)
        Rows the model was asked for.
    settings
        How the search was made.
    ball
        The ball, where it is not one that the settings name.
    ends : (points, n)
        Where the walks ended; worked out from the choices where it is not given.
    trail : (points, steps + 1, n)
        Where the walks stood after each step, in tables of other than numbers: coded as
        `starts` are.
    index
        The rows' labels, of a pandas frame; no file keeps them.
    distances, reached : (points,)
        How far from its start, in scaled units, each walk was at its first flip (NaN where there
        was none) and at its end; worked out from the paths where they are not given.
    names
        What the rows are called: the labels of a pandas frame, or a column of ids.
    """

    starts: Floats
    choices: Integers
    labels: Integers
    margins: Floats
    gammas: Floats
    flips: Integers
    queries: Integers
    settings: StepSettings
    ball: Ball | None = field(default=None, compare=False)
    ends: Array = field(default=None, compare=False)
    trail: Array = field(default=None, compare=False)
    index: pandas.Index | None = field(default=None, compare=False)
    distances: Array = field(default=None, compare=False)
    reached: Array = field(default=None, compare=False)
    names: tuple[str, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.distances is None:
            distances, reached = _distances_of_paths(self)
            object.__setattr__(self, "distances", distances)
            object.__setattr__(self, "reached", reached)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def flipped(self) -> Flags:
        """Whether each point's decision changed on the way, (points,)."""
        return self.flips >= 0

    @property
    def taken(self) -> Integers:
        """How many steps each point was due and got, those that went nowhere included."""
        return np.asarray(np.maximum((self.labels >= 0).sum(axis=1) - 1, 0))

    @property
    def stuck(self) -> Integers:
        """Steps of each point that the grid or the bounds rounded to nothing."""
        return np.asarray(self.taken - (self.choices >= 0).sum(axis=1))

    @property
    def started(self) -> bool:
        """Whether any point was asked for."""
        return bool((self.labels >= 0).any())

    @property
    def complete(self) -> bool:
        """Whether every walk went on to its flip or its last step."""
        stopped = self.flipped & bool(self.settings.stop)
        return bool((stopped | (self.taken == self.settings.steps)).all())

    @property
    def rate(self) -> Rate:
        """The share of points that flipped, among those that were asked for."""
        return Rate.of(int(self.flipped.sum()), int((self.labels[:, 0] >= 0).sum()))

    @property
    def curve(self) -> FlipCurve:
        """The share of decisions changed within each distance.

        A search finds a way across a boundary, not the shortest: within each distance at least so
        many decisions can be changed.
        """
        asked = int((self.labels[:, 0] >= 0).sum())
        furthest = float(np.nanmax(self.reached, initial=0.0))
        return flip_curve(self.distances, asked, furthest, self.settings.nearest_distance)

    def flipped_rows(self, count: int | None = None) -> Integers:
        """Rows whose decision changed, the nearest first.

        Parameters
        ----------
        count
            How many at most; all where it is not given.
        """
        rows = np.flatnonzero(self.flipped)
        # Distances that differ by rounding are equal; then the smaller lead comes first.
        distances = np.round(np.nan_to_num(self.distances[rows], nan=np.inf), 9)
        order = np.lexsort((self.margins[rows, 0], self.flips[rows], distances))
        return np.asarray(rows[order][:count])

    def row_name(self, row: int) -> str:
        """What a row is called; its number from 0 where it has no name."""
        return str(row) if self.names is None else self.names[row]

    def path(self, row: int) -> Array:
        """Every point of one walk, its start first: (steps taken + 1, …)."""
        if self.trail is not None:
            return self.trail[row, : self.taken[row] + 1]
        step_rule = self.step_rule
        position = self.starts[row]
        positions = [position]
        for step, choice in enumerate(self.choices[row, : self.taken[row]].tolist()):
            if choice >= 0:
                # Walks draw on even turns: see `StepChooser.step`.
                position = step_rule.step(position, row, 2 * step, choice)
            positions.append(position)
        return self._in_shape_of_points(np.stack(positions))

    def end(self, rows: Sequence[int] | Integers | None = None) -> Array:
        """Where walks ended: (rows, …)."""
        wanted = range(len(self)) if rows is None else [int(row) for row in rows]
        if self.ends is not None:
            return self._in_shape_of_points(np.asarray(self.ends[list(wanted)]))
        return np.stack([self.path(row)[-1] for row in wanted])

    @property
    def step_rule(self) -> StepRule:
        """How the steps were made."""
        settings = self.settings
        ball = self.ball
        if ball is None:
            if settings.asked_ball is None:
                raise SettingsError(
                    "this search was made with a ball of your own, which is not in the file: "
                    "set it with dataclasses.replace(search, ball=…)"
                )
            ball = walking_ball(
                settings.asked_ball, settings.dimension, settings.directions, settings.climb
            )
        bounds, grid = settings.bounds, settings.grid
        return StepRule(
            ball=ball,
            radius=settings.radius,
            units=np.asarray(settings.scale),
            limits=None if bounds is None else (np.asarray(bounds[0]), np.asarray(bounds[1])),
            grid=None if grid is None else np.asarray(grid),
            seed=settings.seed,
        )

    def _in_shape_of_points(self, positions: Array) -> Array:
        """Positions (rows, n) in the shape of the points, where no column was held still."""
        shape = tuple(self.settings.shape)
        flat = self.settings.still or len(shape) < 2
        return positions if flat else positions.reshape(-1, *shape)

    def name_of(self, label: int) -> str:
        """A class's name, or its number where it has none."""
        classes = self.settings.classes
        return str(classes[label]) if classes and 0 <= label < len(classes) else str(label)

    def summary(self) -> dict[str, object]:
        """The headline as plain numbers, ready for JSON."""
        low, high = self.rate[1:]
        first = self.flips[self.flipped]
        return {
            "climb": self.settings.climb,
            "points": len(self),
            "flipped": int(self.flipped.sum()),
            "rate": self.rate.value,
            "interval95": [low, high],
            "median_first_flip": float(np.median(first)) if len(first) else None,
            "flipped_rows": self.flipped_list(),
            "curve": {
                "unit": self.curve.unit,
                "furthest": self.curve.furthest,
                "within": [
                    {"distance": distance, "share": rate.value, "interval95": [rate.low, rate.high]}
                    for distance, rate in self.curve.marks()
                ],
            },
            "stuck_steps": int(self.stuck.sum()),
            "complete": self.complete,
            "queries": int(self.queries.sum()),
            "settings": self.settings.plain(),
        }

    def flipped_list(self, count: int | None = None) -> list[dict[str, object]]:
        """Rows whose decision changed, the nearest first, as plain values.

        Parameters
        ----------
        count
            How many at most; all where it is not given.
        """
        unit = self.settings.nearest_distance or 1.0
        return [
            {
                "row": row,
                "name": self.row_name(row),
                "from": self.name_of(int(self.labels[row, 0])),
                "to": self.name_of(int(self.labels[row, self.flips[row]])),
                "step": int(self.flips[row]),
                "distance": _plain(float(self.distances[row]) / unit),
                "margin": _plain(float(self.margins[row, 0])),
            }
            for row in self.flipped_rows(count).tolist()
        ]

    @property
    def sentences(self) -> list[str]:
        """How far decisions are from changing, and which change first, a sentence each."""
        if not self.flipped.any():
            return [f"No decision changed within {self.curve.furthest:.3g} {self.curve.unit}."]
        within = ", ".join(
            f"{rate.value:.1%} within {mark:.3g}" for mark, rate in self.curve.marks()
        )
        first = ", ".join(self.row_name(row) for row in self.flipped_rows(LISTED).tolist())
        rest = int(self.flipped.sum()) - LISTED
        more = f" and {rest:,} more" if rest > 0 else ""
        return [
            f"At least so many decisions change: {within} {self.curve.unit}.",
            f"Rows that flip, the nearest first: {first}{more}.",
        ]

    def __repr__(self) -> str:
        stuck, unfinished = int(self.stuck.sum()), "" if self.complete else ", unfinished"
        nowhere = f", {stuck:,} steps went nowhere" if stuck else ""
        moved = remark(self.settings)
        return (
            f"<search by {self.settings.climb}: {int(self.flipped.sum()):,} of {len(self):,} "
            f"points flipped, {self.rate}, in {self.settings.steps} steps of "
            f"{step_in_words(self.settings)}, "
            f"{int(self.queries.sum()):,} queries{nowhere}{unfinished}{moved}. "
            f"{' '.join(self.sentences)}>"
        )

    def _repr_html_(self) -> str:
        cells = {
            "flipped": f"{int(self.flipped.sum()):,} of {len(self):,} points, {self.rate}",
            "steps": f"{self.settings.steps} of {step_in_words(self.settings)}",
            **{
                f"within {mark:.3g} {self.curve.unit}": str(rate)
                for mark, rate in self.curve.marks()
            },
            "flip first": ", ".join(
                self.row_name(row) for row in self.flipped_rows(LISTED).tolist()
            )
            or "none",
            "steps that went nowhere": f"{int(self.stuck.sum()):,}",
            "queries": f"{int(self.queries.sum()):,}",
            **self.settings.chosen(("climb", "ball", "radius", "model")),
            **told(self.settings),
        }
        return tables.facts(cells)

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per point: classes and margins before and after, first flip, steps, queries."""
        last = np.arange(len(self)), self.taken
        columns = {
            "row": np.arange(len(self)),
            **({} if self.names is None else {"name": list(self.names)}),
            "label": np.array([self.name_of(label) for label in self.labels[:, 0].tolist()]),
            "end_label": np.array([self.name_of(label) for label in self.labels[last].tolist()]),
            "first_flip": self.flips,
            "distance": self.distances,
            "steps": self.taken,
            "stuck": self.stuck,
            "margin": self.margins[:, 0],
            "end_margin": self.margins[last],
            "queries": self.queries,
        }
        made = tables.frame(tables.arrow(columns, {"holds": "table"}), backend)
        if self.index is not None and hasattr(made, "set_axis"):
            return made.set_axis(self.index, axis=0)
        return made

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write Parquet, whole or not at all: starts and steps, so that paths come back too."""
        arrays = (
            *(self.starts, self.choices, self.labels, self.margins, self.gammas),
            *(self.flips, self.queries),
        )
        about = {"holds": "search", "settings": self.settings.plain()}
        columns = dict(zip(COLUMNS, arrays, strict=True))
        columns |= {"distance": self.distances, "reached": self.reached}
        if self.names is not None:
            columns["name"] = np.array(self.names)
        if self.trail is not None:
            columns["trail"] = self.trail.reshape(len(self), -1)
        return tables.save(tables.arrow(columns, about), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Search:
        """Read what `save` wrote."""
        table, about = tables.load(path, "search", "Search.save or anharmonic search --out")
        start, choice, label, margin, gamma, flip, queries = (
            tables.column(table, name) for name in COLUMNS
        )
        settings = StepSettings.read(about["settings"])
        trail = None
        if "trail" in table.column_names:
            trail = tables.column(table, "trail").reshape(len(start), settings.steps + 1, -1)
        # Files of 0.1.0 have none of these.
        distance, reached, names = (
            tables.column(table, name) if name in table.column_names else None
            for name in ("distance", "reached", "name")
        )
        return cls(
            *(start, choice, label, margin, gamma, flip, queries, settings),
            trail=trail,
            distances=distance,
            reached=reached,
            names=None if names is None else tuple(names.tolist()),
        )


def _distances_of_paths(search: Search) -> tuple[Floats, Floats]:
    """Distances at the first flip and at the end; unknown where a path cannot be made again."""
    distances, reached = np.full((2, len(search)), np.nan)
    table = search.trail is not None
    if table or (search.ball is None and search.settings.asked_ball is None):
        return distances, reached
    for row in range(len(search)):
        path = search.path(row).reshape(search.taken[row] + 1, -1)
        lengths = np.linalg.norm((path - path[0]) / np.asarray(search.settings.scale), axis=1)
        reached[row] = lengths[-1]
        if search.flipped[row]:
            distances[row] = lengths[search.flips[row]]
    return distances, reached


def _plain(number: float) -> float | None:
    """For JSON, which knows no NaN."""
    return number if np.isfinite(number) else None
