"""Harmonic: a value is the mean of those around it. Gamma's own standard, for comparison."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.measures.standards.standard import Around, bends, register_standard

__all__ = ["Harmonic"]


@dataclass(frozen=True)
class Harmonic:
    """|mean bend|, which is gamma by pairs."""

    name: str = field(default="harmonic", init=False)
    along_axes: bool = field(default=False, init=False)
    half: bool = field(default=False, init=False)

    def deviation(self, around: Around) -> Floats:
        """The size of the mean bend, (points, outputs)."""
        return np.asarray(np.abs(bends(around).mean(axis=1)))


register_standard(Harmonic())
