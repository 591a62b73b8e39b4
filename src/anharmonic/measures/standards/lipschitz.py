"""Lipschitz: the outputs change by at most a constant per unit of distance."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.measures.standards.standard import Around

__all__ = ["Lipschitz"]


@dataclass(frozen=True)
class Lipschitz:
    """How much more than allowed the outputs change, on average over neighbours.

    Parameters
    ----------
    constant
        Change per unit of (scaled) distance that is allowed.
    """

    constant: float
    along_axes: bool = field(default=False, init=False)
    half: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not self.constant >= 0:
            raise SettingsError(f"a Lipschitz constant is at least 0, got {self.constant}")

    @property
    def name(self) -> str:
        return f"Lipschitz {self.constant:g}"

    def deviation(self, around: Around) -> Floats:
        """Mean of max(0, |f(x ± u) − f(x)| − constant·r), one column for all outputs."""
        both = np.concatenate([around.ahead, around.behind], axis=2)
        changes = np.linalg.norm(both - around.centre[:, None, None, :], axis=-1)
        excess = np.maximum(changes - self.constant * around.radius, 0.0)
        return np.asarray(excess.mean(axis=(1, 2))[:, None])
