"""What a fast precision costs: the deviations of two versions of one network, side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic.measures.gamma.measure import gamma

__all__ = ["Rounding", "rounding"]


class Rounding(NamedTuple):
    """What a fast precision costs.

    Parameters
    ----------
    error
        Root mean square of the difference of signed deviations.
    gamma
        Root mean square of the exact ones.
    queries
        Of both measurements.
    """

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
    fast: object,
    exact: object,
    points: object,
    *,
    radius: float,
    ball: str = "dense pairs",
    directions: int = 20,
    bounds: object = None,
    seed: int = 0,
) -> Rounding:
    """How much of gamma is rounding: the predicted class's deviation by both, same directions.

    Parameters
    ----------
    fast, exact
        Two versions of one model, whatever `as_model` takes.
    points
        To measure at; see `gamma`.
    radius
        In the points' own units.
    ball, directions
        As for `gamma`, one turn of them.
    bounds
        (low, high) that neighbours are kept within.
    seed
        Of the directions.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(20, 4))
    >>> def exact(x):
    ...     return np.stack([np.sin(x).sum(1), np.cos(x).sum(1)], axis=1)
    >>> rounding(lambda x: exact(x).round(4), exact, points, radius=0.5).share < 0.01
    True
    """
    by_fast, by_exact = (
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
    difference = np.asarray(by_fast.signed) - np.asarray(by_exact.signed)
    error, size = (
        float(np.sqrt(np.mean(np.square(deviations))))
        for deviations in (difference, by_exact.signed)
    )
    return Rounding(error, size, by_fast.queries + by_exact.queries)
