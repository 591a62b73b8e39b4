"""Monotone: the output never falls (or never rises) as a column grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.measures.standards.standard import Around

__all__ = ["Monotone"]


@dataclass(frozen=True)
class Monotone:
    """How far the output moves against the direction it should, on average over columns.

    Parameters
    ----------
    directions
        By column's name (or number): 1 where the output is to rise with it, −1 where to fall.
    """

    directions: Mapping[str | int, int]
    along_axes: bool = field(default=True, init=False)
    half: bool = field(default=False, init=False)
    directed: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if not self.directions or any(sign not in (1, -1) for sign in self.directions.values()):
            raise SettingsError(
                "say for at least one column whether the output rises (1) or falls (−1)"
            )

    @property
    def name(self) -> str:
        signs = (f"{column}{'↑' if sign > 0 else '↓'}" for column, sign in self.directions.items())
        return f"monotone in {', '.join(signs)}"

    def deviation(self, around: Around) -> Floats:
        """Mean over columns of max(0, −sign·(f(x + r·e) − f(x − r·e))/2), (points, outputs)."""
        known = {name: at for at, name in enumerate(around.columns)}
        slopes = (around.ahead[:, 0] - around.behind[:, 0]) / 2
        against = []
        for column, sign in self.directions.items():
            if str(column) not in known:
                raise SettingsError(
                    f"no column {column!r} moves: choose among {', '.join(around.columns[:10])}"
                )
            against.append(np.maximum(-sign * slopes[:, known[str(column)]], 0.0))
        return np.asarray(np.mean(against, axis=0))
