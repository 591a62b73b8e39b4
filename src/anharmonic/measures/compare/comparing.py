"""`compare`: the same points, the same directions, so differences are sharp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from anharmonic._core.checkpoints import Folder, PathLike
from anharmonic._core.progress import Progress, parts, shown
from anharmonic._core.protocols import Map, Model
from anharmonic._core.randomness import generator
from anharmonic._core.reductions import Reduction
from anharmonic._core.streams import Stream
from anharmonic.errors import SettingsError
from anharmonic.measures.compare.result import Comparison
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.setup.scale import radius_of, read_columns, scaled
from anharmonic.models import as_model
from anharmonic.regions import Region, as_region
from anharmonic.scores import Scores

__all__ = ["GammaArguments", "Measure", "compare"]

Measure = Callable[..., Scores]
"""From a model and points, with radius=, scale= and seed=, to scores."""


class GammaArguments(TypedDict, total=False):
    """Arguments of `gamma` that are the same for every model and handed on as they are."""

    directions: int | None
    rotations: int
    output: Any
    reduction: Reduction | None
    bounds: Any
    budget: int | None
    tolerance: float | None
    noise: Literal["include", "refuse", "ignore"]
    batch_size: int | None
    map: Map


def compare(
    models: Mapping[str, Any],
    points: Any,
    *,
    region: Literal["auto", "points"] = "auto",
    radius: float | str = "auto",
    ball: str = "auto pairs",
    scale: Any = "auto",
    reference: Any = None,
    moving: Sequence[str | int] | None = None,
    level: float = 0.95,
    equivalence: float = 0.10,
    seed: int = 0,
    measure: Measure = gamma,
    checkpoint: PathLike | None = None,
    resume: PathLike | None = None,
    progress: Progress = None,
    **arguments: Unpack[GammaArguments],
) -> Comparison:
    """Gamma of several models on the same points with the same directions.

    `models` maps names to anything `as_model` takes; further arguments are `gamma`'s. The
    radius, the scale and what moves (all that any of the models reads, unless `moving` says) are
    settled once, and the ball does not ask the models, so that all get the same one. Costs what
    as many single runs cost.

    `region="auto"` measures at the reference points too, as many as there are points, and ranks
    each model by the larger of its two means: give new points and, as `reference`, the points
    the models were trained on. "points" leaves the reference to scale and radius.

    A difference is real where it stands clear of noise and chance at `level`, all pairs taken
    together; two models are the same within `equivalence` where neither mean can be more than
    that share above the other.

    `measure` is `gamma`, `clever`, one of `baselines`, or any of them with arguments of its own
    filled in (`functools.partial`); the ball is gamma's alone.

    `checkpoint` is a folder to keep each model's scores in, every few seconds; `resume=` that
    folder goes on where a run was stopped. `progress=True` shows one bar for all models.

    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(200, 3))
    >>> wavy = {"slow": lambda x: np.sin(x[:, 0]), "fast": lambda x: np.sin(3 * x[:, 0])}
    >>> found = compare(wavy, points, radius=0.3)
    >>> found.ranking, found.differences[0].real
    (['slow', 'fast'], True)
    """
    _checked(models, level, equivalence)
    if ball == "auto":
        raise SettingsError(
            'ball="auto" could choose another ball for each model: give "auto pairs", '
            '"auto singles" or the name of one'
        )
    if region not in ("auto", "points"):
        raise SettingsError(f'region {region!r}: give "auto" or "points"')
    asked = [as_model(model) for model in models.values()]
    place, units, known = scaled(as_region(points, moving), scale, reference, asked)
    reach, _ = radius_of(radius, known, units, seed)

    given: dict[str, Any] = {**arguments, "ball": ball} if measure is gamma else {**arguments}
    if measure is not gamma and (checkpoint is not None or resume is not None):
        raise SettingsError("checkpoint= and resume= are gamma's: leave them out with measure=")
    folder = Folder(checkpoint, resume)
    second = region == "auto" and reference is not None and _askable(known, place, asked)

    def measured(where: Region, what: str) -> dict[str, Scores]:
        found = {}
        for name, model in models.items():
            own = given | folder.arguments(what, name)
            if (tell := next(tells)) is not None:
                own["progress"] = tell
            found[name] = measure(model, where, radius=reach, scale=units, seed=seed, **own)
        return found

    with shown(progress) as tell_all:
        tells = parts(tell_all, len(models) * (2 if second else 1))
        familiar = measured(_some(known, len(place), seed), "reference") if second else {}
        return Comparison(measured(place, "points"), level, familiar, equivalence)


def _checked(models: Any, level: float, equivalence: float) -> None:
    if not isinstance(models, Mapping):
        raise SettingsError(
            f"models came as {type(models).__name__}: give a dictionary of names and models, "
            'such as compare({"new": new, "old": old}, points)'
        )
    if not models:
        raise SettingsError("there is nothing to compare: give a dictionary of names and models")
    if not 0.5 < level < 1:
        raise SettingsError(f"level is a confidence between 0.5 and 1, such as 0.95, got {level}")
    if not equivalence > 0:
        raise SettingsError(f"equivalence is a share above 0, such as 0.10, got {equivalence}")


def _askable(known: Region, place: Region, models: Sequence[Model]) -> bool:
    """Whether reference data are whole rows for the models, and not the points themselves."""
    read = read_columns(place, models)
    if read is None:
        alike = set(known.names) == set(place.names) and known.shape == place.shape
    else:
        alike = read <= set(known.names)
    same = len(known) == len(place) and bool((known.values == place.values).all())
    return alike and not same


def _some(region: Region, count: int, seed: int) -> Region:
    if len(region) <= count:
        return region
    return region.rows(
        np.sort(generator(seed, Stream.REFERENCE_SAMPLE).choice(len(region), count, replace=False))
    )
