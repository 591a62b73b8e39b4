"""Walks from point to neighbour: how a step is made, and what a search of many walks found.

A step goes along one direction of a ball, so a walk is its start and one number per step; any
point on it can be made again without having been kept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic import balls
from anharmonic._core import tables
from anharmonic._core.columns import remark, told
from anharmonic._core.protocols import Array, Ball, Draw, Floats, Integers
from anharmonic._core.randomness import integers
from anharmonic._core.settings import Settings
from anharmonic._core.statistics import Rate
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.batching import Flags
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.sphere import around
from anharmonic.measures.setup.table_rows import ONE_COLUMN, TableRows, one_column

if TYPE_CHECKING:
    import pandas

__all__ = ["Search", "StepRule", "walking_ball"]

COLUMNS = ("start", "choice", "label", "margin", "gamma", "flip", "queries")


def walking_ball(
    ball: str | Ball, dimension: int, directions: int, climb: str, table: bool = False
) -> Ball:
    """The directions a step chooses from; "auto" steps along one coordinate at a time.

    All of them where there are no more than `directions`, else as many drawn afresh for every
    step. A random walk needs one direction per step. In a `table` of other than numbers "auto"
    moves one column at a time, which is drawn too.
    """
    if table and isinstance(ball, str) and ball in ("auto", ONE_COLUMN):
        return one_column(dimension, directions)
    if isinstance(ball, str):
        name = "cross" if 2 * dimension <= directions else "onehot"
        ball = balls.named(name if ball == "auto" else ball, dimension, directions)
    if ball.dimension != dimension:
        raise SettingsError(
            f"the ball has {ball.dimension} dimensions and {dimension} columns move: "
            f"build it with {dimension}"
        )
    drawn = ball.count // 2 if ball.paired else ball.count
    if climb == "gamma" and ball.fresh and drawn < 2:
        raise SettingsError(
            "climbing gamma chooses on one half of the directions and scores on the other: "
            f"{drawn} cannot be halved, ask for more with directions="
        )
    if climb != "random" or ball.fresh:
        return ball
    if not isinstance(ball, balls.Directions):
        raise SettingsError(
            "a random walk needs a ball that draws anew: build it with balls.sampled"
        )
    return balls.sampled(ball, 2 if ball.paired else 1)


@dataclass(frozen=True)
class StepRule:
    """How far a step goes and where it may end: a `Neighbourhood`, and a grid to round to."""

    ball: Ball
    radius: float
    units: Floats
    limits: tuple[Floats, Floats] | None
    grid: Floats | None
    seed: int
    table: TableRows | None = None
    zeros_stay: bool = False

    @property
    def pairs_alike(self) -> bool:
        """A step to one side may be longer than that to the other: only one is taken."""
        return False

    @property
    def half(self) -> int:
        """Directions the ball draws; with pairs their reflections come after them."""
        return self.ball.count // 2 if self.ball.paired else self.ball.count

    def neighbours(
        self,
        start: Array,
        rows: Integers,
        turn: int,
        first: int,
        stop: int,
        owners: Integers | None = None,
    ) -> Array:
        """Where steps along directions first…stop end, reflections after: (rows, ends, n).

        `owners` are the region's rows, where `rows` only number what is drawn.
        """
        # Rounding keeps to the bounds as well.
        unbounded = self if self.grid is None else replace(self, limits=None)
        segments = [Segment(turn, first, stop)]
        points, _ = around(unbounded, start, rows, segments, owners=owners)
        return self.rounded(points)

    def anywhere(
        self, start: Array, rows: Integers, turn: int, owners: Integers | None = None
    ) -> tuple[Array, Integers]:
        """Where a random step of each row ends, (rows, n), and the choice it stands for.

        It goes along the turn's first direction or, with pairs, against it.
        """
        ends = self.neighbours(start, rows, turn, 0, 1, owners)
        side = np.zeros(len(rows), dtype=np.int64)
        if self.ball.paired:
            # An index no ball draws from, so that the side is independent of the direction.
            draw = Draw(self.seed, rows, np.full(len(rows), turn), np.empty(0))
            side = integers(draw, np.array([self.ball.count]), 2)[:, 0]
        return ends[np.arange(len(rows)).tolist(), side.tolist()], side * self.half

    def step(self, start: Array, row: int, turn: int, choice: int) -> Array:
        """Where one chosen step from `start` (n,) ends."""
        index = choice % self.half
        ends = self.neighbours(start[None, :], np.array([row]), turn, index, index + 1)
        return ends[0, choice // self.half]

    def rounded(self, points: Array) -> Array:
        """Points on the grid, within the bounds; a coordinate whose grid is 0 is free."""
        if self.grid is None:
            return points
        xp = array_namespace(points)
        like = {"dtype": points.dtype, "device": device(points)}
        rounds, cell = self.grid > 0, np.where(self.grid > 0, self.grid, 1.0)
        on_grid = xp.round(points if (cell == 1).all() else points / xp.asarray(cell, **like))
        if not (cell == 1).all():
            on_grid *= xp.asarray(cell, **like)
        if not rounds.all():
            on_grid = xp.where(xp.asarray(rounds, device=device(points)), on_grid, points)
        if self.limits is None:
            return on_grid
        low, high = (np.asarray(edge) for edge in self.limits)
        # The outermost multiples of a cell that lie within the bounds.
        inside = np.ceil(low / cell - 1e-9) * cell, np.floor(high / cell + 1e-9) * cell
        edges = (
            np.where(rounds, multiple, bound)
            for multiple, bound in zip(inside, (low, high), strict=True)
        )
        return xp.clip(on_grid, *(xp.asarray(edge, **like) for edge in edges))


@dataclass(frozen=True, kw_only=True)
class StepSettings(Settings):
    """Settings of everything that takes steps.

    Parameters
    ----------
    climb, asked_ball, grid, shape
        What steps lower or raise, the ball's name as it was given, the rounding of each column,
        and the shape of one point.
    steps, stop
        The most steps of a walk, and whether it ends at its first flip.
    event, nstep
        When a flip counts and how its chance is estimated, of `nstep_robustness`.
    """

    climb: str = ""
    asked_ball: str | None = None
    grid: tuple[float, ...] | None = None
    shape: tuple[int, ...] = ()
    steps: int = 0
    stop: bool = True
    event: str = "end"
    nstep: str | None = None


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
            "stuck_steps": int(self.stuck.sum()),
            "complete": self.complete,
            "queries": int(self.queries.sum()),
            "settings": self.settings.plain(),
        }

    def __repr__(self) -> str:
        stuck, unfinished = int(self.stuck.sum()), "" if self.complete else ", unfinished"
        nowhere = f", {stuck:,} steps went nowhere" if stuck else ""
        moved = remark(self.settings)
        return (
            f"<search by {self.settings.climb}: {int(self.flipped.sum()):,} of {len(self):,} "
            f"points flipped, {self.rate}, in {self.settings.steps} steps, "
            f"{int(self.queries.sum()):,} queries{nowhere}{unfinished}{moved}>"
        )

    def _repr_html_(self) -> str:
        cells = {
            "flipped": f"{int(self.flipped.sum()):,} of {len(self):,} points, {self.rate}",
            "steps": self.settings.steps,
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
            "label": np.array([self.name_of(label) for label in self.labels[:, 0].tolist()]),
            "end_label": np.array([self.name_of(label) for label in self.labels[last].tolist()]),
            "first_flip": self.flips,
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
        return cls(start, choice, label, margin, gamma, flip, queries, settings, trail=trail)
