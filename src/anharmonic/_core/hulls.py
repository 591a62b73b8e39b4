"""Random points in the convex hull of data."""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError, SettingsError

__all__ = ["draw_in_hull"]

# A triangulation has of the order of points^(dimensions/2) simplices.
DELAUNAY_DIMENSIONS = 5
DELAUNAY_POINTS = 5_000


def draw_in_hull(
    values: Floats, count: int, random: np.random.Generator, method: str
) -> tuple[Floats, float | None]:
    """`count` points (count, n) in the hull of values (points, n), and its volume if known.

    `method` is "uniform", "mix" or "auto": see `anharmonic.regions.hull`.
    """
    size, dimension = values.shape
    if size < dimension + 1:
        raise PointsError(f"the hull of {size} points is flat in {dimension} dimensions: add data")
    if method not in ("auto", "uniform", "mix"):
        raise SettingsError(f'no way {method!r} to fill a hull: "auto", "uniform" or "mix"')
    small = dimension <= DELAUNAY_DIMENSIONS and size <= DELAUNAY_POINTS
    volume: float | None = None
    if method == "uniform" or (method == "auto" and small):
        corners, volume = _triangulated(values, count, random)
    else:
        corners = values[random.integers(size, size=(count, dimension + 1))]
    # Dirichlet(1, …, 1) weights are uniform in a simplex: (count, n+1) of corners (count, n+1, n).
    weights = random.dirichlet(np.ones(dimension + 1), size=count)
    inside: Floats = np.einsum("ck,ckn->cn", weights, corners)
    return inside, volume


def _triangulated(values: Floats, count: int, random: np.random.Generator) -> tuple[Floats, float]:
    """Corners of simplices drawn by volume, and the volume of all of them."""
    from scipy.spatial import Delaunay, QhullError

    if values.shape[1] == 1:
        ends = np.array([[values.min()], [values.max()]])
        return np.broadcast_to(ends, (count, 2, 1)), float(np.ptp(values))
    try:
        cells = values[Delaunay(values).simplices]
    except QhullError as problem:
        raise PointsError(
            "the data lie in a plane, so their hull has no volume: drop columns that depend "
            "on others, or use method='mix'"
        ) from problem
    # A simplex's volume is |det of its edges| / n!, (simplices, n, n) to (simplices,).
    edges = cells[:, 1:] - cells[:, :1]
    sizes = np.abs(np.linalg.det(edges))
    total = sizes.sum()
    chosen = random.choice(len(cells), size=count, p=sizes / total)
    factorial = float(np.prod(np.arange(1, values.shape[1] + 1)))
    return cells[chosen], float(total / factorial)
