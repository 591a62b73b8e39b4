"""Points drawn uniformly from balls of the three norms, each by its row and number alone."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.protocols import Array, Draw, Integers
from anharmonic._core.randomness import like, normals, uniforms
from anharmonic.errors import SettingsError

__all__ = ["dual_norm", "norm_of", "sample_unit_ball", "typical_radius"]


def norm_of(norm: object) -> float:
    """1, 2 or infinity, also as the word "inf"."""
    norms: dict[object, float] = {1: 1.0, 2: 2.0, np.inf: np.inf}
    norms |= {"1": 1.0, "2": 2.0, "inf": np.inf}
    if norm not in norms:
        raise SettingsError(f"norm {norm!r}: a ball is of norm 1, 2 or inf")
    return norms[norm]


def sample_unit_ball(norm: float, draw: Draw, indices: Integers, dimension: int) -> Array:
    """Points of the unit ball for each row of the draw: (rows, indices, dimension).

    >>> draw = Draw(0, np.arange(2), np.zeros(2, dtype=int), np.zeros(1))
    >>> points = sample_unit_ball(1, draw, np.arange(500), 3)
    >>> bool(np.abs(points).sum(axis=-1).max() < 1), bool(np.abs(points.mean()) < 0.02)
    (True, True)
    """
    xp = array_namespace(draw.like)
    at = like(draw, indices)
    if norm == np.inf:
        return 2 * uniforms(draw, at, dimension) - 1
    if norm == 2:
        # Archimedes: the first n of n + 2 coordinates of a point on the sphere are uniform in the
        # ball.
        away = normals(draw, at, dimension + 2)
        return away[..., :dimension] / xp.sqrt(xp.sum(away**2, axis=-1, keepdims=True))
    # n of n + 1 spacings, exponentials over their sum, are uniform under the simplex; with random
    # signs, from the same number, in the cross-polytope.
    even = 2 * uniforms(draw, at, dimension + 1) - 1
    parts = -xp.log(xp.clip(xp.abs(even), min=1e-30))
    signed = xp.sign(even[..., :dimension]) * parts[..., :dimension]
    return signed / xp.sum(parts, axis=-1, keepdims=True)


def dual_norm(gradients: Array, norm: float) -> Array:
    """Lengths of gradients (…, n) in the norm dual to the ball's: (…,)."""
    xp = array_namespace(gradients)
    if norm == 2:
        return xp.sqrt(xp.sum(gradients**2, axis=-1))
    # Hölder: 1 and ∞ are dual to each other.
    sizes = xp.abs(gradients)
    return xp.sum(sizes, axis=-1) if norm == np.inf else xp.max(sizes, axis=-1)


def typical_radius(norm: float, distance: float, dimension: int) -> float:
    """The radius of a ball whose points lie as far out, in root mean square, as 2-norm's.

    >>> typical_radius(2, 1.0, 10)
    1.0
    """
    if norm == 2:
        return distance
    # E‖x‖² over the unit balls of the norms 2, ∞ and 1.
    euclidean = dimension / (dimension + 2)
    if norm == np.inf:
        return float(distance * np.sqrt(euclidean / (dimension / 3)))
    cross = 2 * dimension / ((dimension + 1) * (dimension + 2))
    return float(distance * np.sqrt(euclidean / cross))
