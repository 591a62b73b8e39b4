"""Settle once: from the arguments that all measures share to a `Setup` they start from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from typing import (
    Literal,
    NamedTuple,
    ParamSpec,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    get_type_hints,
)

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core.protocols import Floats, Model
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.batching import ModelCaller, caller_for
from anharmonic.measures.setup.docstrings import documented, parameter_entries
from anharmonic.measures.setup.fingerprints import fingerprint
from anharmonic.measures.setup.scale import limits, radius_of, scaled, with_neighbourhood
from anharmonic.models import as_model
from anharmonic.models.labels import codes
from anharmonic.regions import Region, as_region, require_finite
from anharmonic.regions.tables import Kinds

__all__ = [
    "DEFAULTS",
    "SettledPoints",
    "Setup",
    "SetupArguments",
    "name_of",
    "settle",
    "settle_points",
    "setup_arguments_in",
    "takes_arguments_of",
    "takes_setup",
]

Recorded = TypeVar("Recorded", bound=Settings)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class SetupArguments(TypedDict, total=False):
    """The arguments that every measure takes beside a model and points.

    Parameters
    ----------
    radius : float or "auto"
        In scaled units; "auto" is the median nearest-neighbour distance of the `reference` (or
        the points).
    scale : "auto", None or numbers
        "auto" divides each feature by its standard deviation in the reference, None keeps raw
        units, numbers are used as they are.
    reference
        Data the model knows, for scale and radius; the points themselves where none is given.
    moving
        The columns that may move. If not given, those that the model reads, where it knows, and
        otherwise all but an index, ids and names; `settings` says which.
    kinds
        What columns are, where the reference's types and values mislead: a name of
        `regions.tables.KINDS` per column, such as {"postcode": "category"}, its levels in order
        from the least, such as {"size": ["S", "M", "L"]}, or a function of a cell and a generator
        that gives a similar cell. `settings` says what was chosen.
    bounds
        (low, high) that neighbours are kept within.
    output
        What the model is asked for; see `as_model`.
    batch_size
        Rows per call of the model; what proves fastest if not given.
    seed
        Of all that is random.
    """

    radius: float | Literal["auto"]
    scale: ArrayLike | Literal["auto"] | None
    reference: object
    moving: Sequence[str | int] | None
    kinds: Kinds | None
    bounds: object
    output: object
    batch_size: int | None
    seed: int


DEFAULTS: SetupArguments = {
    "radius": "auto",
    "scale": "auto",
    "reference": None,
    "moving": None,
    "kinds": None,
    "bounds": None,
    "output": None,
    "batch_size": None,
    "seed": 0,
}


def takes_setup(measure: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The measure with a signature that lists what `**setup` stands for, as `help` shows it."""
    entries = parameter_entries(inspect.getdoc(SetupArguments) or "")
    return _listing(measure, _shared_parameters(), entries)


def takes_arguments_of(
    other: Callable[..., object], names: type, *, without: Collection[str] = (), **defaults: object
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """A decorator like `takes_setup`, for `**arguments` that are handed on to another measure.

    Parameters
    ----------
    other
        The measure whose arguments they are, and whose defaults they have.
    names
        The TypedDict that names them.
    without
        Those of them that are not taken after all.
    defaults
        Defaults that differ from the other measure's.

    >>> class Dots(SetupArguments, total=False):
    ...     size: int
    >>> def dots(model, *, size: int = 3, seed: int = 0): ...
    >>> @takes_arguments_of(dots, Dots, size=5)
    ... def many_dots(model, **arguments): ...
    >>> str(inspect.signature(many_dots))
    "(model, *, size: 'int' = 5, seed: 'int' = 0)"
    """
    keys = get_type_hints(names).keys() - set(without)
    shared = [
        parameter.replace(default=defaults.get(parameter.name, parameter.default))
        for parameter in inspect.signature(other).parameters.values()
        if parameter.name in keys
    ]
    entries = parameter_entries(inspect.getdoc(other) or "")
    return partial(_listing, shared=shared, entries=entries)


def setup_arguments_in(holder: object) -> SetupArguments:
    """Those of the shared arguments that an object holds as attributes, to be handed on."""
    held = {name: getattr(holder, name) for name in DEFAULTS if hasattr(holder, name)}
    return cast(SetupArguments, held)


@cache
def _shared_parameters() -> tuple[inspect.Parameter, ...]:
    """What `**setup` stands for, as keyword-only parameters."""
    # As they are written: "ArrayLike" says more than what numpy makes of it.
    hints = {name: hint.__forward_arg__ for name, hint in SetupArguments.__annotations__.items()}
    return tuple(
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name]
        )
        for name, default in DEFAULTS.items()
    )


def _listing(
    measure: Callable[Parameters, Result],
    shared: Iterable[inspect.Parameter],
    entries: Mapping[str, str],
) -> Callable[Parameters, Result]:
    """The measure with the shared parameters in place of its `**` argument, and no others."""
    signature = inspect.signature(measure)
    own = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    added = [parameter for parameter in shared if parameter.name not in signature.parameters]
    names = frozenset(parameter.name for parameter in (*own, *added))

    @wraps(measure)
    def checked(*positional: Parameters.args, **named: Parameters.kwargs) -> Result:
        # A misspelt argument must not pass for one that was left out.
        if not named.keys() <= names:
            unexpected = next(name for name in named if name not in names)
            raise TypeError(
                f"{measure.__name__}() got an unexpected keyword argument {unexpected!r}"
            )
        return measure(*positional, **named)

    checked.__doc__ = documented(measure, [parameter.name for parameter in added], entries)
    setattr(checked, "__signature__", signature.replace(parameters=[*own, *added]))  # noqa: B010
    return checked


@dataclass(frozen=True)
class Setup:
    """A model, points, units and a radius, settled: what every measure starts from.

    Parameters
    ----------
    model, region
        The model as `as_model` gives it, and the points.
    units : (columns,)
        One for each column that moves.
    reference
        The data that units and radius were taken from: the region itself where none was given.
    radius, nearest_distance
        How far in units, and the distance between neighbours that was taken from.
    limits
        Lower and upper bounds for each column that moves.
    caller, chunk
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

    def describe(self, kind: type[Recorded], **more: object) -> Recorded:
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
            **self._table_facts(),
            **more,
        )

    def _table_facts(self) -> dict[str, object]:
        """What rows that are not all numbers add: kinds, shares of the distance, the law."""
        law = self.region.neighbourhood
        if law is None:
            return {}
        orders = [list(kind.order) for kind in law.kinds]
        return {
            "kinds": [kind.kind for kind in law.kinds],
            **({"orders": orders} if any(orders) else {}),
            "shares": law.column_shares.tolist(),
            "law": law.fingerprint,
        }

    @property
    def ball_dimension(self) -> int:
        """How many columns a ball moves: all, or the numbers beside other kinds."""
        law = self.region.neighbourhood
        return self.region.dimension if law is None else len(law.numbers)

    def at(self, region: Region) -> Setup:
        """The same setup at other points, with what was learnt of the model's calls kept."""
        law = self.region.neighbourhood
        if law is not None:
            region = with_neighbourhood(region, law)
        else:
            if region.columns != self.region.columns:
                region = region.along(self.region.columns)
            require_finite(region, "points")
        bounds = None if self.limits is None else limits(self.limits, region)
        caller = self.caller._replace(region=region)
        return replace(self, region=region, caller=caller, limits=bounds)


class SettledPoints(NamedTuple):
    """Where to measure, in which units and how far; see `Setup` for the fields."""

    region: Region
    units: Floats
    reference: Region
    radius: float
    nearest_distance: float | None


def settle_points(
    models: Sequence[Model],
    points: object,
    given: SetupArguments,
    *,
    distance: bool = True,
    numbers: bool = False,
) -> SettledPoints:
    """Region, units and radius that are the same for all of the models.

    What any of them reads moves, unless the arguments say what does. Without `distance` no
    radius is needed, and none is looked for. With `numbers` all other columns stay.
    """
    arguments = DEFAULTS | given
    region, units, reference = scaled(
        as_region(points, arguments["moving"]),
        arguments["scale"],
        arguments["reference"],
        models,
        arguments["kinds"],
        arguments["seed"],
        numbers,
    )
    radius, nearest = (
        radius_of(arguments["radius"], reference, units, arguments["seed"])
        if distance
        else (float("nan"), None)
    )
    return SettledPoints(region, units, reference, radius, nearest)


def settle(
    model: object,
    points: object,
    *,
    together: int = 1,
    distance: bool = True,
    numbers: bool = False,
    **given: Unpack[SetupArguments],
) -> Setup:
    """The setup that these arguments stand for.

    `together` points are asked for in one call, where a call's size is fixed. Without `distance`
    no radius is needed, and none is looked for. With `numbers` all other columns stay.
    """
    arguments = DEFAULTS | given
    batch_size = arguments["batch_size"]
    if batch_size is not None and batch_size < 1:
        raise SettingsError(f"batch_size must be at least 1, got {batch_size}")
    adapted = as_model(model, output=arguments["output"])
    settled = settle_points([adapted], points, arguments, distance=distance, numbers=numbers)
    caller, chunk = caller_for(adapted, settled.region, batch_size, together)
    return Setup(
        model=adapted,
        region=settled.region,
        units=settled.units,
        reference=settled.reference,
        radius=settled.radius,
        nearest_distance=settled.nearest_distance,
        limits=limits(arguments["bounds"], settled.region),
        caller=caller,
        chunk=chunk,
        output=arguments["output"],
        seed=arguments["seed"],
    )


def name_of(thing: object) -> str | int:
    """A function by its name; what is text or a number stays."""
    return thing if isinstance(thing, str | int) else str(getattr(thing, "__name__", repr(thing)))
