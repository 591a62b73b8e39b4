"""The supplement's test functions (eqs. 25 to 29), what their gamma is exactly, and where to ask.

All functions take points x (points, n); the supplement numbers the coordinates from 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import gammaln, ive

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.regions import Region, points
from studies.streams import PaperStream

__all__ = [
    "alternating",
    "exponential",
    "exponential_gamma",
    "linear",
    "sphere_angle_spread",
    "squares",
    "uniform",
    "waves",
]


def linear(x: Floats) -> Floats:
    """x₀ + x₁ + …: harmonic however steep, so gamma is 0."""
    return np.asarray(x.sum(axis=1))


def alternating(x: Floats) -> Floats:
    """f₁ = x₀² − x₁² + x₂² − …: gamma is 0 for an even number of terms, r²/n for an odd one."""
    signs = 1.0 - 2.0 * (np.arange(x.shape[1]) % 2)
    return np.asarray(x**2 @ signs)


def squares(x: Floats) -> Floats:
    """f₂ = x₀² + x₁² + …: gamma is r²."""
    return np.asarray((x**2).sum(axis=1))


def waves(x: Floats) -> Floats:
    """f₃ = sin(x₀)·exp(x₁)·sin(x₂)·exp(x₃)…: harmonic for an even number of coordinates."""
    return np.asarray(np.sin(x[:, ::2]).prod(axis=1) * np.exp(x[:, 1::2].sum(axis=1)))


def exponential(x: Floats) -> Floats:
    """f₄ = exp(x₀ + x₁ + …): not harmonic."""
    return np.asarray(np.exp(x.sum(axis=1)))


def exponential_gamma(x: Floats, radius: float) -> Floats:
    """Gamma of f₄: its mean on a sphere is f₄·Γ(n/2)·(2/s)^ν·I_ν(s), ν = n/2 − 1, s = r√n."""
    dimension = x.shape[1]
    order, reach = dimension / 2 - 1, radius * math.sqrt(dimension)
    growth = gammaln(order + 1) + order * math.log(2 / reach) + math.log(ive(order, reach)) + reach
    return exponential(x) * (math.exp(growth) - 1)


def sphere_angle_spread(dimension: int, steps: int = 20_000) -> float:
    """Standard deviation of the angle between a fixed vector and a uniform direction."""
    angles = (np.arange(steps) + 0.5) * math.pi / steps
    weights = np.sin(angles) ** (dimension - 2)
    # The density is even around a right angle, so that is the mean.
    return float(np.sqrt(np.average((angles - math.pi / 2) ** 2, weights=weights)))


def uniform(box: Sequence[tuple[float, float]], count: int, seed: int) -> Region:
    """Random points in a box: a grid would beat with boundaries that run along the axes.

    >>> uniform([(0, 2), (0, 3)], 10, seed=0).volume
    6.0
    """
    low, high = np.array(box, dtype=np.float64).T
    drawn = low + (high - low) * generator(seed, PaperStream.BOX_POINTS, len(box)).random(
        (count, len(box))
    )
    return replace(points(drawn), volume=float(np.prod(high - low)))
