"""Functions whose gamma is known, written so that numpy and torch can both run them."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import array_namespace, device
from scipy.special import betainc, gammaln, ive


def linear(x):
    """A steep slope: gamma is 0."""
    xp = array_namespace(x)
    slope = xp.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=device(x)) / x.shape[-1]
    return xp.sum(x * slope, axis=-1) + 3.0


def squares(x):
    """Gamma is r²."""
    return array_namespace(x).sum(x * x, axis=-1)


def saddle(x):
    """x₀² − x₁² + x₂² − …: harmonic for an even number of terms."""
    xp = array_namespace(x)
    signs = 1.0 - 2.0 * xp.astype(xp.arange(x.shape[-1], device=device(x)) % 2, x.dtype)
    return xp.sum(x * x * signs, axis=-1)


def cubic(x):
    """x₀³ − 3x₀x₁²: harmonic."""
    return x[:, 0] ** 3 - 3 * x[:, 0] * x[:, 1] ** 2


def wave(x):
    """sin(x₀)·exp(x₁): harmonic."""
    xp = array_namespace(x)
    return xp.sin(x[:, 0]) * xp.exp(x[:, 1])


def exponential(x):
    """exp(a·x) with |a| = 1; see `exponential_deviation`."""
    return np.exp(x.sum(axis=-1) / math.sqrt(x.shape[-1]))


def exponential_deviation(x, radius):
    """F − mean of f on the sphere, for `exponential`: the mean is f·Γ(n/2)(2/r)^ν·I_ν(r)."""
    order = x.shape[-1] / 2 - 1
    log = gammaln(order + 1) + order * math.log(2 / radius) + math.log(ive(order, radius)) + radius
    return exponential(x) * (1 - math.exp(log))


def step(x):
    """1 beyond the plane x₀ = 0, else 0."""
    return (x[:, 0] > 0).astype(float)


def share_beyond(height, dimension):
    """Share of the unit sphere with u₀ > height ≥ 0."""
    return 0.5 * betainc((dimension - 1) / 2, 0.5, 1 - height**2)


def mean_first_coordinate(dimension):
    """E|u₁| on the unit sphere."""
    return math.exp(gammaln(dimension / 2) - gammaln((dimension + 1) / 2)) / math.sqrt(math.pi)
