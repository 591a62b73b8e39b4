"""What a standard is: a property that a function may have, and how far answers are from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError

__all__ = ["Around", "Standard", "bends", "named_standard", "register_standard", "standards"]


class Around(NamedTuple):
    """A model's answers at points and on both sides of them.

    Parameters
    ----------
    centre : (points, outputs)
        At the points.
    ahead, behind : (points, turns, pairs, outputs)
        At x + r·u and x − r·u, for the directions u of a pair.
    ahead_half, behind_half : (points, turns, pairs, outputs)
        At half that distance; empty unless the standard asks for it.
    radius
        r, in scaled units.
    columns
        The columns that moved; where a standard looks along axes, pair i is along column i.
    """

    centre: Floats
    ahead: Floats
    behind: Floats
    ahead_half: Floats
    behind_half: Floats
    radius: float
    columns: tuple[str, ...]

    def mapped(self, change: Callable[[Floats], Floats]) -> Around:
        """The same with all outputs (…, outputs) changed alike."""
        return self._replace(
            centre=change(self.centre),
            ahead=change(self.ahead),
            behind=change(self.behind),
            ahead_half=change(self.ahead_half),
            behind_half=change(self.behind_half),
        )

    def without(self, turn: int) -> Around:
        """The same with one turn left out."""
        kept = np.arange(self.ahead.shape[1]) != turn
        halves = (
            half[:, kept] if half.size else half for half in (self.ahead_half, self.behind_half)
        )
        ahead_half, behind_half = halves
        return self._replace(
            ahead=self.ahead[:, kept],
            behind=self.behind[:, kept],
            ahead_half=ahead_half,
            behind_half=behind_half,
        )


class Standard(Protocol):
    """A property to hold a model against.

    `along_axes` asks for pairs along the columns in place of random turns of a ball, `half` for
    answers at half the radius too. A further one, `directed`, which may be left out, says that the
    property has a direction, so that of two classes' outputs one alone is asked. `deviation` gives
    a number per point and output, 0 where the property holds, in the outputs' unit.
    """

    @property
    def name(self) -> str: ...

    @property
    def along_axes(self) -> bool: ...

    @property
    def half(self) -> bool: ...

    def deviation(self, around: Around) -> Floats: ...


def bends(around: Around) -> Floats:
    """(f(x + u) + f(x − u))/2 − f(x) of every pair, (points, turns · pairs, outputs)."""
    middle = (around.ahead + around.behind) / 2 - around.centre[:, None, None, :]
    return np.asarray(middle.reshape(len(middle), -1, middle.shape[-1]))


_STANDARDS: dict[str, Standard] = {}


def register_standard(standard: Standard) -> Standard:
    """Make a standard known by its name.

    Parameters
    ----------
    standard
        One that needs nothing else to be said, such as convexity.
    """
    _STANDARDS[standard.name] = standard
    return standard


def standards() -> dict[str, Standard]:
    """Every standard that a name is enough for."""
    return dict(_STANDARDS)


def named_standard(standard: str | Standard) -> Standard:
    """A standard by its name, or as it was given.

    Parameters
    ----------
    standard
        A name of `standards()`, or an object with a name and a `deviation`.
    """
    if not isinstance(standard, str):
        return standard
    if standard not in _STANDARDS:
        raise SettingsError(
            f"no standard {standard!r}: choose {', '.join(sorted(_STANDARDS))}, or give one such "
            "as standards.Monotone({'age': 1}) or standards.Lipschitz(2.0)"
        )
    return _STANDARDS[standard]
