"""Biharmonic: Δ²f = 0, as a bent plate that carries no load. Bowls are allowed, gamma's are not."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.measures.standards.standard import Around, register_standard

__all__ = ["Biharmonic"]


@dataclass(frozen=True)
class Biharmonic:
    """|f − (4·M(r/2) − M(r))/3|, M the mean on a sphere.

    By Pizzetti's formula M(r) = f + r²Δf/(2n) + r⁴Δ²f/(8n(n + 2)) + …, so that this combination of
    two radii leaves the term in Δ²f and what follows.
    """

    name: str = field(default="biharmonic", init=False)
    along_axes: bool = field(default=False, init=False)
    half: bool = field(default=True, init=False)

    def deviation(self, around: Around) -> Floats:
        """The size of what two radii leave, (points, outputs)."""
        whole = ((around.ahead + around.behind) / 2).mean(axis=(1, 2))
        half = ((around.ahead_half + around.behind_half) / 2).mean(axis=(1, 2))
        return np.asarray(np.abs(around.centre - (4 * half - whole) / 3))


register_standard(Biharmonic())
