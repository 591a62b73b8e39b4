"""From arguments to a `StepChooser`: a setup, a ball of directions, and a grid to round to."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Ball, Floats
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.search.step_rule import StepRule, StepSettings, walking_ball
from anharmonic.measures.search.steps import Climb, StepChooser
from anharmonic.measures.setup.batching import caller_for
from anharmonic.measures.setup.settling import DEFAULTS, SetupArguments, settle
from anharmonic.measures.setup.table_rows import table_rows
from anharmonic.regions import Region

__all__ = ["StepArguments", "prepare"]


class StepArguments(SetupArguments, total=False):
    """How steps are made: arguments that everything which takes steps has in common.

    See `adversarial_search` for what they mean and what they are where they are left out.
    """

    ball: str | Ball
    directions: int
    grid: ArrayLike | None


def prepare(
    model: object,
    points: object,
    climb: Climb,
    *,
    share: float = 1.0,
    **arguments: Unpack[StepArguments],
) -> tuple[StepChooser, StepSettings]:
    """What chooses steps, and the settings that let it be made again.

    A radius of "auto" is this `share` of the distance between nearest neighbours.
    """
    directions, ball = arguments.get("directions", 20), arguments.get("ball", "auto")
    fewest = 2 if climb == "gamma" else 1
    if directions < fewest:
        raise SettingsError(f"directions must be at least {fewest}, got {directions}")
    shared = {name: value for name, value in arguments.items() if name in DEFAULTS}
    setup = settle(model, points, **cast(SetupArguments, shared))
    if setup.nearest_distance is not None:
        setup = replace(setup, radius=share * setup.radius)
    region = setup.region
    step_rule = StepRule(
        ball=walking_ball(
            ball, setup.ball_dimension, directions, climb, table=region.neighbourhood is not None
        ),
        radius=setup.radius,
        units=setup.units,
        limits=setup.limits,
        grid=_grid(arguments.get("grid"), region),
        seed=setup.seed,
        table=table_rows(region),
        zeros_stay=region.form == "sparse",
    )
    settings = setup.describe(
        StepSettings,
        ball=step_rule.ball.name,
        grid=None if step_rule.grid is None else step_rule.grid.tolist(),
        shape=list(region.shape),
        climb=climb,
        asked_ball=ball if isinstance(ball, str) else None,
        directions=directions,
    )
    # A call holds whole sets of neighbours, which only now have a size.
    caller, chunk = caller_for(
        setup.model, region, arguments.get("batch_size"), step_rule.ball.count
    )
    return StepChooser(caller, step_rule, climb, chunk), settings


def _grid(grid: ArrayLike | None, region: Region) -> Floats | None:
    """The rounding of each moving column; points that are not on the grid are refused."""
    if grid is None:
        return None
    if region.neighbourhood is not None:
        raise SettingsError(
            "grid= is for rows of numbers: here whole numbers step on their own grid; leave it out"
        )
    try:
        cells = np.broadcast_to(np.asarray(grid, dtype=np.float64), (region.dimension,)).copy()
    except (TypeError, ValueError) as problem:
        raise SettingsError("grid is a number, or one for each column that moves") from problem
    if not (np.isfinite(cells).all() and (cells >= 0).all()):
        raise SettingsError("a grid's cells are positive numbers, or 0 for a column left free")
    in_cells = to_numpy64(region.values) / np.where(cells > 0, cells, 1.0)
    off_grid = (np.abs(in_cells - np.round(in_cells)) > 1e-6) & (cells > 0)
    if off_grid.any():
        row = int(np.flatnonzero(off_grid.any(axis=1))[0])
        raise PointsError(
            f"row {row} is not on the grid: round the points "
            "first, or give 0 for the columns that are free"
        )
    return cells
