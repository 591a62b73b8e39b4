"""What a fast precision costs: the deviations of two versions of one network, side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anharmonic.measures.gamma.measure import gamma

__all__ = ["Rounding", "rounding"]


class Rounding(NamedTuple):
    """Root mean squares: of the difference of signed deviations, and of the exact ones."""

    error: float
    gamma: float
    queries: int

    @property
    def share(self) -> float:
        """The error as a share of gamma."""
        return self.error / self.gamma if self.gamma else float("inf")

    def __str__(self) -> str:
        return f"rms error {self.error:.2g}, {self.share:.1%} of gamma ({self.queries:,} queries)"


def rounding(
    fast: Any,
    exact: Any,
    points: Any,
    *,
    radius: float,
    ball: str = "dense pairs",
    directions: int = 20,
    bounds: Any = None,
    seed: int = 0,
) -> Rounding:
    """How much of gamma is rounding: the predicted class's deviation by both, same directions.

    >>> points = np.random.default_rng(0).normal(size=(20, 4))
    >>> def exact(x):
    ...     return np.stack([np.sin(x).sum(1), np.cos(x).sum(1)], axis=1)
    >>> rounding(lambda x: exact(x).round(4), exact, points, radius=0.5).share < 0.01
    True
    """
    one, other = (
        gamma(
            model,
            points,
            radius=radius,
            scale=None,
            ball=ball,
            directions=directions,
            rotations=1,
            reduction="predicted",
            noise="ignore",
            bounds=bounds,
            seed=seed,
        )
        for model in (fast, exact)
    )
    difference = np.asarray(one.signed) - np.asarray(other.signed)
    error, size = (float(np.sqrt(np.mean(np.square(each)))) for each in (difference, other.signed))
    return Rounding(error, size, one.queries + other.queries)
