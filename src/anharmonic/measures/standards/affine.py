"""Affine: a straight line in every direction. Bends cannot cancel, as they can for harmonic."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.measures.standards.standard import Around, bends, register_standard

__all__ = ["Affine"]


@dataclass(frozen=True)
class Affine:
    """The root mean square bend: unsigned gamma."""

    name: str = field(default="affine", init=False)
    along_axes: bool = field(default=False, init=False)
    half: bool = field(default=False, init=False)

    def deviation(self, around: Around) -> Floats:
        """√(mean bend²), (points, outputs)."""
        return np.asarray(np.sqrt((bends(around) ** 2).mean(axis=1)))


register_standard(Affine())
