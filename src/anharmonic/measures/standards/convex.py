"""Convex and concave: the middle of a chord lies on one side of the function."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.measures.standards.standard import Around, bends, register_standard

__all__ = ["Convex"]


@dataclass(frozen=True)
class Convex:
    """How far f(x) is above the middle of chords, on average over pairs.

    Parameters
    ----------
    concave
        How far it is below them instead.
    """

    concave: bool = False
    along_axes: bool = field(default=False, init=False)
    half: bool = field(default=False, init=False)
    directed: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        return "concave" if self.concave else "convex"

    def deviation(self, around: Around) -> Floats:
        """Mean of max(0, f(x) − middle), (points, outputs)."""
        above = bends(around) if self.concave else -bends(around)
        return np.asarray(np.maximum(above, 0.0).mean(axis=1))


register_standard(Convex())
register_standard(Convex(concave=True))
