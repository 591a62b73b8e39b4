"""Settings: what was asked and what was chosen along the way, enough to measure again.

A measure records what it knows of itself; a file keeps just that, under the names of the fields.
A measure with more to say has a subclass with more fields.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from anharmonic._core.protocols import Kind
from anharmonic.errors import SettingsError

__all__ = ["COMPARABLE", "DRAWN", "RESUMABLE", "Settings"]

Other = TypeVar("Other", bound="Settings")
COMPARABLE = ("kind", "reduction", "radius", "scale", "columns", "bounds", "kinds", "law")
"""What must agree where two means are compared."""
DRAWN = ("ball", "directions", "rotations", "seed")
"""How the directions were drawn."""
RESUMABLE = (
    *("points", "kind", "reduction", "dimension", "radius", "scale", "columns", "bounds"),
    *("kinds", "law"),
    *DRAWN,
)
"""What must agree where an unfinished run is gone on with."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """How something was measured.

    Parameters
    ----------
    model, kind, classes, codes
        The model's name, what its outputs are, its classes and the numbers they stand for.
    output, reduction
        What it was asked for, and how a vector became a number.
    region, cells, points, fingerprint, volume, dimension
        Where: the kind of region, a grid's cells, how many points, a short text that is the
        same for the same points, the volume, and how many columns moved.
    radius, nearest_distance, scale, columns, still, bounds
        How far in scaled units, the distance that was taken from, a unit for each column that
        moved, the columns that moved and those that were held (where nothing moves: those that
        rows are compared by and those left out), and the bounds.
    kinds, orders, shares, law, complete
        Of rows that are not all numbers: what each column that moved is, the levels in order of
        those whose order was told, its share of the squared distance, a short text that is the
        same for the same reference, and whether every neighbour there is was asked for.
    ball, directions, paired, rotation, rotations, seed
        The directions, and how they were drawn.
    budget, tolerance
        When to stop.
    noise, odd_power, even_power
        What a few questions found before the run: the model's own noise, and the sizes of its
        odd and even parts.
    precision, clipped
        What rounding may add to an answer, and the share of queries that bounds moved.
    fragile
        "large" or "small": which values are the fragile ones, where the metric does not say.
    unfinished
        Whether the run has not come to its end.
    extra
        What a file says beyond these fields.
    """

    _facts: ClassVar[dict[str, Any]]
    compared: ClassVar[tuple[str, ...]] = COMPARABLE
    """What must agree where two means are compared."""
    moves: ClassVar[bool] = True
    """Whether points are moved; where not, rows are compared as they are, by `columns`."""

    model: str = ""
    kind: Kind = "value"
    classes: tuple[str, ...] = ()
    codes: tuple[float, ...] = ()
    output: str | int | None = None
    reduction: str | int | None = None
    region: str = ""
    cells: tuple[int, ...] = ()
    points: int = 0
    fingerprint: str | None = None
    volume: float | None = None
    dimension: int = 0
    radius: float = math.nan
    nearest_distance: float | None = None
    scale: tuple[float, ...] = ()
    columns: tuple[str, ...] = ()
    still: tuple[str, ...] = ()
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    kinds: tuple[str, ...] = ()
    orders: tuple[tuple[str | float, ...], ...] = ()
    shares: tuple[float, ...] = ()
    law: str | None = None
    complete: bool = False
    ball: str = ""
    directions: int = 0
    paired: bool = False
    rotation: str | None = None
    rotations: int | None = None
    seed: int = 0
    budget: int | None = None
    tolerance: float | None = None
    noise: float = 0.0
    odd_power: float = 0.0
    even_power: float = 0.0
    precision: float = 0.0
    clipped: float = 0.0
    fragile: str | None = None
    unfinished: bool = False
    extra: Mapping[str, object] = dataclasses.field(default_factory=dict)
    recorded: tuple[str, ...] = dataclasses.field(default=(), repr=False, compare=False)
    """The names that were recorded, in order; what was not is no part of a file."""
    unknown: frozenset[str] = dataclasses.field(default=frozenset(), repr=False, compare=False)
    """Those of them that were recorded as not known: None in a file."""

    @classmethod
    def record(cls, **facts: object) -> Self:
        """Settings that hold these facts; lists become tuples, so that nothing changes later."""
        return cls().with_facts(**facts)

    @classmethod
    def read(cls, facts: Mapping[str, object]) -> Self:
        """From what `plain` gave."""
        return cls.record(**facts)

    def with_facts(self, **facts: object) -> Self:
        """The same settings with further facts, or other ones."""
        names = self._fields()
        mine: dict[str, Any] = {}
        extra = dict(self.extra)
        unknown = set(self.unknown)
        for name, fact in facts.items():
            unknown.discard(name)
            if name not in names:
                extra[name] = fact
            elif fact is None and names[name] is not None:
                # Not known: the field keeps a value of its type that code can count with.
                mine[name] = names[name]
                unknown.add(name)
            else:
                mine[name] = _frozen(fact)
        recorded = (*self.recorded, *(name for name in facts if name not in self.recorded))
        return dataclasses.replace(
            self, **mine, extra=extra, recorded=recorded, unknown=frozenset(unknown)
        )

    def without(self, *dropped: str) -> Self:
        """The same settings as if some facts had never been recorded."""
        names = self._fields()
        return dataclasses.replace(
            self,
            **{name: names[name] for name in dropped if name in names},
            recorded=tuple(name for name in self.recorded if name not in dropped),
        )

    def __getitem__(self, name: str) -> Any:
        """A fact by its name, as settings of 0.1.0 had it; attributes are the way now."""
        warnings.warn(
            f'settings["{name}"] is the way of 0.1.0: write settings.{name}, or '
            "settings.plain() for all of them",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.plain()[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The same, and `default` where it was not recorded."""
        return self[name] if name in self.recorded else default

    def as_kind(self, kind: type[Other]) -> Other:
        """These settings as those of one kind of measure, which they must be."""
        if not isinstance(self, kind):
            raise SettingsError(
                f"{type(self).__name__} are no {kind.__name__}: give scores of that measure"
            )
        return self

    def knows(self, name: str) -> bool:
        """Whether a fact was recorded, and was known."""
        return name in self.recorded and name not in self.unknown

    def plain(self) -> dict[str, Any]:
        """What was recorded, ready for JSON."""
        return {
            name: None
            if name in self.unknown
            else _thawed(self.extra[name] if name in self.extra else getattr(self, name))
            for name in self.recorded
        }

    def chosen(self, names: Iterable[str]) -> dict[str, Any]:
        """Of these facts, those that were recorded, ready for JSON."""
        facts = self.plain()
        return {name: facts[name] for name in names if name in facts}

    def differing(self, other: Settings, names: Iterable[str] | None = None) -> list[str]:
        """Which of these facts differ (`compared` if not given); last digits are no difference."""
        if names is None:
            names = self.compared if type(other) is type(self) else COMPARABLE
        return [name for name in names if not _alike(self._fact(name), other._fact(name))]

    @classmethod
    def _fields(cls) -> dict[str, Any]:
        """Fields that hold facts, and what each is where it is not known."""
        if "_facts" not in vars(cls):
            plain, own = cls(), ("extra", "recorded", "unknown")
            names = [field.name for field in dataclasses.fields(cls) if field.name not in own]
            cls._facts = {name: getattr(plain, name) for name in names}
        return cls._facts

    def told_kinds(self) -> dict[str, str | list[str | float]]:
        """What each column that moved is, as `kinds=` is told; empty for rows of numbers."""
        orders = self.orders or ((),) * len(self.kinds)
        columns = zip(self.columns, self.kinds, orders, strict=True) if self.kinds else ()
        return {name: list(order) or kind for name, kind, order in columns}

    def _fact(self, name: str) -> object:
        return None if name in self.unknown else getattr(self, name)


def _frozen(fact: object) -> object:
    return tuple(_frozen(part) for part in fact) if isinstance(fact, list | tuple) else fact


def _thawed(fact: object) -> object:
    return [_thawed(part) for part in fact] if isinstance(fact, tuple) else fact


def _alike(one: Any, other: Any) -> bool:
    if one == other:
        return True
    try:
        # Another machine may sum in another order.
        return bool(np.allclose(one, other, rtol=1e-9, atol=0, equal_nan=True))
    except (TypeError, ValueError):
        return False
