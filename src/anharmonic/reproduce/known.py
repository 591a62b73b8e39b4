"""The supplement's test functions (eqs. 25 to 29) and what their gamma is exactly.

All take points (points, n); the supplement numbers the coordinates from 0.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, ive

from anharmonic.protocols import Floats

__all__ = [
    "alternating",
    "exponential",
    "exponential_gamma",
    "linear",
    "sphere_angle_spread",
    "squares",
    "waves",
]


def linear(points: Floats) -> Floats:
    """x₀ + x₁ + …: harmonic however steep, so gamma is 0."""
    return np.asarray(points.sum(axis=1))


def alternating(points: Floats) -> Floats:
    """f₁ = x₀² − x₁² + x₂² − …: gamma is 0 for an even number of terms, r²/n for an odd one."""
    signs = 1.0 - 2.0 * (np.arange(points.shape[1]) % 2)
    return np.asarray(points**2 @ signs)


def squares(points: Floats) -> Floats:
    """f₂ = x₀² + x₁² + …: gamma is r²."""
    return np.asarray((points**2).sum(axis=1))


def waves(points: Floats) -> Floats:
    """f₃ = sin(x₀)·exp(x₁)·sin(x₂)·exp(x₃)…: harmonic for an even number of coordinates."""
    return np.asarray(np.sin(points[:, ::2]).prod(axis=1) * np.exp(points[:, 1::2].sum(axis=1)))


def exponential(points: Floats) -> Floats:
    """f₄ = exp(x₀ + x₁ + …): not harmonic."""
    return np.asarray(np.exp(points.sum(axis=1)))


def exponential_gamma(points: Floats, radius: float) -> Floats:
    """Gamma of f₄: its mean on a sphere is f₄·Γ(n/2)·(2/s)^ν·I_ν(s), ν = n/2 − 1, s = r√n."""
    dimension = points.shape[1]
    order, reach = dimension / 2 - 1, radius * math.sqrt(dimension)
    growth = gammaln(order + 1) + order * math.log(2 / reach) + math.log(ive(order, reach)) + reach
    return exponential(points) * (math.exp(growth) - 1)


def sphere_angle_spread(dimension: int, steps: int = 20_000) -> float:
    """Standard deviation of the angle between a fixed vector and a uniform direction."""
    angles = (np.arange(steps) + 0.5) * math.pi / steps
    weights = np.sin(angles) ** (dimension - 2)
    # The density is even around a right angle, so that is the mean.
    return float(np.sqrt(np.average((angles - math.pi / 2) ** 2, weights=weights)))
