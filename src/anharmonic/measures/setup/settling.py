"""Settle once: from the arguments that all measures share to a `Setup` they start from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar, Unpack, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core.protocols import Floats, Model
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.batching import ModelCaller, caller_for
from anharmonic.measures.setup.fingerprints import fingerprint
from anharmonic.measures.setup.scale import limits, radius_of, scaled
from anharmonic.models import as_model
from anharmonic.models.labels import codes
from anharmonic.regions import Region, as_region, require_finite

__all__ = ["DEFAULTS", "Setup", "SetupArguments", "name_of", "settle", "takes_setup"]

Recorded = TypeVar("Recorded", bound=Settings)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class SetupArguments(TypedDict, total=False):
    """The arguments that every measure takes beside a model and points; see `gamma`."""

    radius: float | Literal["auto"]
    scale: ArrayLike | Literal["auto"] | None
    reference: object
    moving: Sequence[str | int] | None
    bounds: object
    output: object
    batch_size: int | None
    seed: int


DEFAULTS: SetupArguments = {
    "radius": "auto",
    "scale": "auto",
    "reference": None,
    "moving": None,
    "bounds": None,
    "output": None,
    "batch_size": None,
    "seed": 0,
}


def takes_setup(measure: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The measure with a signature that lists what `**setup` stands for, as `help` shows it."""
    signature = inspect.signature(measure)
    hints = get_type_hints(SetupArguments)
    own = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=hint)
        for (name, value), hint in zip(DEFAULTS.items(), hints.values(), strict=True)
        if name not in signature.parameters
    ]

    @wraps(measure)
    def measured(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
        return measure(*given, **named)

    setattr(measured, "__signature__", signature.replace(parameters=[*own, *shared]))  # noqa: B010
    return measured


@dataclass(frozen=True)
class Setup:
    """A model, points, units and a radius, settled: what every measure starts from.

    Parameters
    ----------
    model, region
        Whom to ask, and where.
    units : (columns,)
        One for each column that moves.
    reference
        The data that units and radius were taken from: the region itself where none was given.
    radius, nearest_distance
        How far in units, and the distance between neighbours that was taken from.
    limits
        Lower and upper bounds for each column that moves.
    question, chunk
        The model's calls, and how many points to build at once.
    output, seed
        As they were given.
    """

    model: Model
    region: Region
    units: Floats
    reference: Region
    radius: float
    nearest_distance: float | None
    limits: tuple[Floats, Floats] | None
    caller: ModelCaller
    chunk: int
    output: object
    seed: int

    def describe(self, kind: type[Recorded], **more: Any) -> Recorded:
        """Settings of the measure's own kind, with what it adds."""
        model, region, volume = self.model, self.region, self.region.volume
        return kind.record(
            model=model.name,
            kind=model.kind,
            classes=None if model.classes is None else [str(name) for name in model.classes],
            codes=codes(model.classes) if model.classes and model.kind == "label" else None,
            output=name_of(self.output) if self.output is not None else None,
            region=region.kind,
            cells=list(region.steps) or None,
            points=len(region),
            fingerprint=fingerprint(region, self.units),
            volume=None if volume is None else volume / float(np.prod(self.units)),
            dimension=region.dimension,
            radius=None if np.isnan(self.radius) else self.radius,
            nearest_distance=self.nearest_distance,
            scale=self.units.tolist(),
            columns=list(region.columns),
            still=list(region.still),
            bounds=None if self.limits is None else [edge.tolist() for edge in self.limits],
            seed=self.seed,
            **more,
        )

    def at(self, region: Region) -> Setup:
        """The same setup at other points, with what was learnt of the model's calls kept."""
        if region.columns != self.region.columns:
            region = region.along(self.region.columns)
        require_finite(region, "points")
        within = None if self.limits is None else limits(self.limits, region)
        caller = self.caller._replace(region=region)
        return replace(self, region=region, caller=caller, limits=within)


def settle(
    model: object,
    points: object,
    *,
    together: int = 1,
    distance: bool = True,
    **given: Unpack[SetupArguments],
) -> Setup:
    """The setup that these arguments stand for.

    `together` points are asked for in one call, where a call's size is fixed. Without `distance`
    no radius is needed, and none is looked for.
    """
    arguments = DEFAULTS | given
    batch_size, seed = arguments["batch_size"], arguments["seed"]
    if batch_size is not None and batch_size < 1:
        raise SettingsError(f"batch_size must be at least 1, got {batch_size}")
    asked = as_model(model, output=arguments["output"])
    region, units, known = scaled(
        as_region(points, arguments["moving"]), arguments["scale"], arguments["reference"], [asked]
    )
    radius, nearest = (
        radius_of(arguments["radius"], known, units, seed) if distance else (float("nan"), None)
    )
    caller, chunk = caller_for(asked, region, batch_size, together)
    return Setup(
        model=asked,
        region=region,
        units=units,
        reference=known,
        radius=radius,
        nearest_distance=nearest,
        limits=limits(arguments["bounds"], region),
        caller=caller,
        chunk=chunk,
        output=arguments["output"],
        seed=seed,
    )


def name_of(thing: object) -> str | int:
    """A function by its name; what is text or a number stays."""
    return thing if isinstance(thing, str | int) else str(getattr(thing, "__name__", repr(thing)))
