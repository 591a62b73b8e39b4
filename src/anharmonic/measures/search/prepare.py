"""From arguments to a climber: model, region, units, radius, ball, bounds and grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from anharmonic import models
from anharmonic._core.protocols import Ball, Floats
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.search.result import Stride, walking_ball
from anharmonic.measures.search.steps import Climb, Climber
from anharmonic.measures.setup.batching import question_about
from anharmonic.measures.setup.fingerprints import fingerprint
from anharmonic.measures.setup.scale import limits, radius_of, scaled
from anharmonic.regions import Region, as_region, host

__all__ = ["StepArguments", "set_out"]


class StepArguments(TypedDict, total=False):
    """How steps are made: arguments that everything which takes steps has in common.

    See `adversarial_search` for what they mean and what they are where they are left out.
    """

    radius: float | Literal["auto"]
    ball: str | Ball
    directions: int
    bounds: Any
    grid: ArrayLike | None
    scale: ArrayLike | Literal["auto"] | None
    reference: Any
    moving: Sequence[str | int] | None
    output: Any
    seed: int
    batch_size: int | None


def set_out(
    model: Any, points: Any, climb: Climb, **arguments: Unpack[StepArguments]
) -> tuple[Climber, dict[str, Any]]:
    """A climber, and the facts that let it be set out again."""
    directions, batch_size = arguments.get("directions", 20), arguments.get("batch_size")
    _counted(directions, 2 if climb == "gamma" else 1, batch_size)
    output, seed, ball = (
        arguments.get("output"),
        arguments.get("seed", 0),
        arguments.get("ball", "auto"),
    )
    asked = models.as_model(model, output=output)
    region, units, known = scaled(
        as_region(points, arguments.get("moving")),
        arguments.get("scale", "auto"),
        arguments.get("reference"),
        [asked],
    )
    reach, distance = radius_of(arguments.get("radius", "auto"), known, units, seed)
    stride = Stride(
        ball=walking_ball(ball, region.dimension, directions, climb),
        radius=reach,
        units=units,
        limits=limits(arguments.get("bounds"), region),
        grid=_grid(arguments.get("grid"), region),
        seed=seed,
    )
    facts = _described(stride, region) | {
        "model": asked.name,
        "kind": asked.kind,
        "classes": None if asked.classes is None else [str(each) for each in asked.classes],
        "output": output if isinstance(output, str | int | None) else repr(output),
        "climb": climb,
        "nearest_distance": distance,
        "asked_ball": ball if isinstance(ball, str) else None,
        "directions": directions,
    }
    question, chunk = question_about(asked, region, batch_size, stride.ball.count)
    return Climber(question, stride, climb, chunk), facts


def _described(stride: Stride, region: Region) -> dict[str, Any]:
    within, grid = stride.limits, stride.grid
    return {
        "radius": stride.radius,
        "scale": stride.units.tolist(),
        "ball": stride.ball.name,
        "bounds": None if within is None else [edge.tolist() for edge in within],
        "grid": None if grid is None else grid.tolist(),
        "seed": stride.seed,
        "points": len(region),
        "dimension": region.dimension,
        "columns": list(region.columns),
        "still": list(region.still),
        "shape": list(region.shape),
        "fingerprint": fingerprint(region, stride.units),
    }


def _grid(grid: ArrayLike | None, region: Region) -> Floats | None:
    """The rounding of each moving column, and whether the points are round to begin with."""
    if grid is None:
        return None
    try:
        cells = np.broadcast_to(np.asarray(grid, dtype=np.float64), (region.dimension,)).copy()
    except (TypeError, ValueError) as problem:
        raise SettingsError("grid is a number, or one for each column that moves") from problem
    if not (np.isfinite(cells).all() and (cells >= 0).all()):
        raise SettingsError("a grid's cells are positive numbers, or 0 for a column left free")
    values = host(region.values) / np.where(cells > 0, cells, 1.0)
    off = (np.abs(values - np.round(values)) > 1e-6) & (cells > 0)
    if off.any():
        raise PointsError(
            f"row {int(np.flatnonzero(off.any(axis=1))[0])} is not on the grid: round the points "
            "first, or give 0 for the columns that are free"
        )
    return cells


def _counted(directions: int, fewest: int, batch_size: int | None) -> None:
    if directions < fewest:
        raise SettingsError(f"directions must be at least {fewest}, got {directions}")
    if batch_size is not None and batch_size < 1:
        raise SettingsError(f"batch_size must be at least 1, got {batch_size}")
