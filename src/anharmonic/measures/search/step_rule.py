"""How a step is made: the ball it chooses from, how far it goes, and where it may end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import array_namespace, device

from anharmonic import balls
from anharmonic._core.protocols import Array, Ball, Draw, Floats, Integers
from anharmonic._core.randomness import integers
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.sphere import around
from anharmonic.measures.setup.table_rows import ONE_COLUMN, TableRows, one_column

__all__ = ["StepRule", "StepSettings", "walking_ball"]


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
