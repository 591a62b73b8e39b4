"""`adversarial_search`: settle the arguments, walk, and keep what was found whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from anharmonic import models
from anharmonic.ascent.steps import Climb, Climber
from anharmonic.ascent.walkers import Progress, Walkers
from anharmonic.asking import Question, pace_for
from anharmonic.deviation import chunk_size
from anharmonic.errors import (
    InputError,
    MeasurementStopped,
    ModelError,
    PointsError,
    SettingsError,
)
from anharmonic.fingerprints import fingerprint
from anharmonic.protocols import Ball, Floats
from anharmonic.regions import Region, as_region, host
from anharmonic.scaling import limits, radius_of, scaled
from anharmonic.walks import Search, Stride, walking_ball

__all__ = ["CLIMBS", "adversarial_search"]

CLIMBS = ("margin", "output", "gamma", "random")


def adversarial_search(
    model: Any,
    points: Any,
    *,
    radius: float | Literal["auto"] = "auto",
    steps: int = 25,
    ball: str | Ball = "auto",
    directions: int = 20,
    climb: Climb = "margin",
    bounds: Any = None,
    grid: ArrayLike | None = None,
    budget: int | None = None,
    stop: bool = True,
    scale: ArrayLike | Literal["auto"] | None = "auto",
    reference: Any = None,
    output: Any = None,
    resume: Search | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    batch_size: int | None = None,
) -> Search:
    """Walk from each point, a neighbour a step, and record when its class changes.

    - `climb`: "margin" goes to the neighbour where the first class leads least (or trails
      most), "output" to where that class's own output is lowest; "gamma" is the paper's
      Algorithm 2 (gamma of the first class's output, chosen on one half of each neighbour's
      ball and recorded from the other); "random" goes anywhere. A step costs `directions`
      queries; "gamma" directions·(directions + 1); "random" one. Each point costs one more.
    - `ball`: "auto" steps along one coordinate, as the paper does; or a name or a ball.
    - `grid`: round every coordinate (numbers, 0 for a free one), as `grid=1.0` for grey levels.
      Steps that end where they began are not taken and counted in `stuck`.
    - `stop`: end a walk at its first flip. `budget`: queries in all.
    - `resume`: an unfinished search, or one that should take more `steps`.
    - The other arguments are `gamma`'s.

    Margins are in the outputs' unit. Where probabilities are 0 or 1 to rounding they say
    nothing about where to go: search with output="logit" then.

    >>> import numpy as np
    >>> def slope(x):
    ...     return np.stack([x[:, 0], -x[:, 0]], axis=1)
    >>> found = adversarial_search(slope, np.array([[0.9, 0.0]]), radius=0.25, scale=None)
    >>> found.flips.tolist(), found.path(0)[:, 0].round(2).tolist()
    ([4], [0.9, 0.65, 0.4, 0.15, -0.1])

    Reference: Harmonic Machine Learning Models are Robust (section 5, algorithm 2).
    """
    _checked(climb, steps, directions, budget, batch_size)
    asked = models.as_model(model, output=output)
    region, units, known = scaled(as_region(points), scale, reference)
    reach, distance = radius_of(radius, known, units, seed)
    chosen = walking_ball(ball, region.dimension, directions, climb)
    within = limits(bounds, region)
    stride = Stride(chosen, reach, units, within, _grid(grid, region), seed)
    settings: dict[str, Any] = {
        "model": asked.name,
        "kind": asked.kind,
        "classes": None if asked.classes is None else [str(each) for each in asked.classes],
        "output": output if isinstance(output, str | int | None) else repr(output),
        "climb": climb,
        "steps": steps,
        "stop": stop,
        "budget": budget,
        "radius": reach,
        "nearest_distance": distance,
        "scale": units.tolist(),
        "ball": chosen.name,
        "asked_ball": ball if isinstance(ball, str) else None,
        "directions": directions,
        "bounds": None if within is None else [edge.tolist() for edge in within],
        "grid": None if stride.grid is None else stride.grid.tolist(),
        "seed": seed,
        "points": len(region),
        "dimension": region.dimension,
        "columns": list(region.columns),
        "still": list(region.still),
        "shape": list(region.shape),
        "fingerprint": fingerprint(region, units),
    }
    question = Question(asked, region, pace_for(asked, batch_size))
    chunk = batch_size or chunk_size(region.dimension)
    walkers = Walkers(Climber(question, stride, climb, chunk), settings)
    if resume is not None:
        walkers.take_up(resume)
    with _keeping(walkers):
        walkers.begin()
        walkers.walk(progress)
    return walkers.found()


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


@contextmanager
def _keeping(walkers: Walkers) -> Iterator[None]:
    """Whatever stops a search, what was found goes along with the error."""
    try:
        yield
    except InputError:
        raise
    except (ModelError, KeyboardInterrupt) as stop:
        setattr(stop, "partial", walkers.found())  # noqa: B010
        raise
    except Exception as problem:
        stopped = MeasurementStopped(
            f"the model raised {type(problem).__name__}: {problem}. What was found is kept in "
            ".partial: mend the model and call again with resume=error.partial"
        )
        stopped.partial = walkers.found()
        raise stopped from problem


def _checked(
    climb: str, steps: int, directions: int, budget: int | None, batch_size: int | None
) -> None:
    if climb not in CLIMBS:
        raise SettingsError(f"no climb {climb!r}: choose one of {', '.join(CLIMBS)}")
    least = 2 if climb == "gamma" else 1
    counts = {"steps": steps, "directions": directions, "budget": budget, "batch_size": batch_size}
    for name, number in counts.items():
        fewest = least if name == "directions" else 1
        if number is not None and number < fewest:
            raise SettingsError(f"{name} must be at least {fewest}, got {number}")
