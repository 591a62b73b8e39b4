"""How far from where they stand decisions change: a curve, and a step in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.settings import Settings
from anharmonic._core.statistics import Rate

__all__ = ["MARKS", "FlipCurve", "flip_curve", "step_in_words"]

MARKS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Distances, in those between nearest neighbours, at which a table reads the curve."""


class FlipCurve(NamedTuple):
    """The share of decisions that a search changed within each distance.

    Parameters
    ----------
    distances
        From 0 on, where the curve rises, in the curve's `unit`.
    rates
        The share there with its 95% interval.
    unit
        What distances are measured in, for an axis.
    furthest
        How far the longest walk went: beyond it the search knows nothing.
    """

    distances: tuple[float, ...]
    rates: tuple[Rate, ...]
    unit: str
    furthest: float

    def at(self, distance: float) -> Rate:
        """The share changed within a distance.

        Parameters
        ----------
        distance
            In the curve's unit.
        """
        within = np.searchsorted(self.distances, distance * (1 + 1e-9), side="right")
        return self.rates[max(int(within) - 1, 0)]

    def marks(self) -> list[tuple[float, Rate]]:
        """The curve read at a few round distances, as far as walks went."""
        reached = [mark for mark in MARKS if mark <= self.furthest * (1 + 1e-9)]
        ends = [] if reached and np.isclose(reached[-1], self.furthest) else [self.furthest]
        return [(mark, self.at(mark)) for mark in (*reached, *ends) if mark > 0]


def flip_curve(distances: Floats, asked: int, furthest: float, nearest: float | None) -> FlipCurve:
    """The curve of distances at which decisions changed.

    Parameters
    ----------
    distances : (points,)
        Of each point, in scaled units; NaN where its decision did not change.
    asked
        Points that were searched from.
    furthest
        How far the longest walk went, in scaled units.
    nearest
        The usual distance between neighbours, where it is known: the curve's unit then.

    Examples
    --------
    >>> curve = flip_curve(np.array([1.0, np.nan, 3.0, 1.0]), 4, 4.0, 2.0)
    >>> curve.distances, [rate.value for rate in curve.rates], curve.at(1.0).value
    ((0.0, 0.5, 1.5), [0.0, 0.5, 0.75], 0.5)
    """
    unit = 1.0 if nearest is None else nearest
    known = np.sort(distances[np.isfinite(distances)]) / unit
    levels, counts = np.unique(known, return_counts=True)
    flipped = [0, *np.cumsum(counts).tolist()]
    return FlipCurve(
        (0.0, *levels.tolist()),
        tuple(Rate.of(int(hits), asked) for hits in flipped),
        "scaled units" if nearest is None else "nearest-neighbour distances",
        furthest / unit,
    )


def step_in_words(settings: Settings) -> str:
    """How long a step is, and what that is beside the distance between neighbours."""
    radius, nearest = settings.radius, settings.nearest_distance
    if nearest is None:
        return f"{radius:.4g}"
    return f"{radius:.4g}, {radius / nearest:.3g} of the nearest-neighbour distance"
