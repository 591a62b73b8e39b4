"""Ways to fill a square from values on its boundary: the harmonic one and its rivals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import MissingExtra

__all__ = [
    "bending",
    "boundary",
    "energy",
    "harmonic",
    "nodes",
    "relaxed",
    "rivals",
    "sampled",
    "spline",
]

Surface = Callable[[Floats], Floats]
"""From points (points, 2) in the unit square to values (points,)."""


def boundary(x: Floats) -> Floats:
    """The values to interpolate; only those on the edge of the unit square are used."""
    return np.asarray(np.cos(5 * x[:, 0]) * np.sin(4 * x[:, 1] + 1))


def nodes(steps: int) -> Floats:
    """All (steps + 1)² nodes of a grid on the unit square."""
    axis = np.linspace(0, 1, steps + 1)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def sampled(surface: Surface, steps: int) -> Floats:
    """A surface at the nodes, (steps + 1, steps + 1)."""
    return surface(nodes(steps)).reshape(steps + 1, steps + 1)


def energy(field: Floats) -> float:
    """Dirichlet's energy, the integral of the squared slope, of values at nodes."""
    return float((np.diff(field, axis=0) ** 2).sum() + (np.diff(field, axis=1) ** 2).sum())


def bending(field: Floats) -> float:
    """Integral of the squared second derivatives (all four), over the inner nodes."""
    steps = field.shape[0] - 1
    differences = np.asarray(_second_differences(steps) @ field.ravel())
    return float(np.sum(differences**2) * steps**2)


def relaxed(field: Floats, sweeps: int) -> Floats:
    """The supplement's way: put the mean of its four neighbours at every inner node, again."""
    field = field.copy()
    for _ in range(sweeps):
        field[1:-1, 1:-1] = (
            field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
        ) / 4
    return field


def harmonic(field: Floats) -> Floats:
    """Where relaxing ends: every inner node is the mean of its neighbours; edges as given."""
    from scipy.sparse import eye_array, kron

    steps = field.shape[0] - 1
    along = _differences(steps, 2)
    inner = eye_array(steps + 1).tocsr()[1:-1]
    laplacian = kron(along, inner) + kron(inner, along)
    return _solved(laplacian.tocsr(), field)


def least_bending(field: Floats) -> Floats:
    """The fill with the least bending: a thin plate held at its edge."""
    rows = _second_differences(field.shape[0] - 1)
    return _solved((rows.T @ rows).tocsr(), field)


def _solved(system: Any, field: Floats) -> Floats:
    """The field whose inner nodes make `system` 0, its edge kept."""
    from scipy.sparse.linalg import spsolve

    square = np.zeros(field.shape, dtype=bool)
    square[1:-1, 1:-1] = True
    inside = square.ravel()
    rows = system if system.shape[0] == inside.sum() else system[inside]
    known = field.ravel()
    found = known.copy()
    found[inside] = spsolve(rows[:, inside].tocsc(), -(rows[:, ~inside] @ known[~inside]))
    return found.reshape(field.shape)


def _differences(steps: int, order: int) -> Any:
    """First (central) or second differences at the inner nodes of an axis."""
    from scipy.sparse import diags_array

    weights = {1: [-0.5, 0.0, 0.5], 2: [1.0, -2.0, 1.0]}[order]
    return diags_array(weights, offsets=[0, 1, 2], shape=(steps - 1, steps + 1)).tocsr()


def _second_differences(steps: int) -> Any:
    """∂xx, ∂yy and √2·∂xy at the inner nodes, one above the other, times the squared step."""
    from scipy.sparse import eye_array, kron, vstack

    first, second = _differences(steps, 1), _differences(steps, 2)
    inner = eye_array(steps + 1).tocsr()[1:-1]
    mixed = kron(first, first) * np.sqrt(2.0)
    return vstack([kron(second, inner), kron(inner, second), mixed]).tocsr()


def rivals(steps: int, seed: int) -> dict[str, Surface]:
    """Other surfaces through the same boundary values, or fitted to them."""
    from scipy.interpolate import RBFInterpolator
    from scipy.spatial import KDTree

    try:
        from sklearn.ensemble import GradientBoostingRegressor
        from sklearn.neural_network import MLPRegressor
    except ImportError as problem:
        raise MissingExtra("scikit-learn", "sklearn") from problem

    grid = nodes(steps)
    edge = grid[((grid == 0) | (grid == 1)).any(axis=1)]
    values = boundary(edge)
    network = MLPRegressor(
        hidden_layer_sizes=(100,), solver="lbfgs", max_iter=2000, random_state=seed
    )
    trees = GradientBoostingRegressor(random_state=seed)
    return {
        "harmonic": spline(harmonic(sampled(boundary, steps))),
        "least bending": spline(least_bending(sampled(boundary, steps))),
        "Coons patch": _coons,
        "thin-plate RBF": RBFInterpolator(edge, values, kernel="thin_plate_spline"),
        "Gaussian RBF": RBFInterpolator(edge, values, kernel="gaussian", epsilon=8.0),
        "nearest neighbour": partial(_nearest, KDTree(edge), values),
        "ReLU network": network.fit(edge, values).predict,
        "boosted trees": trees.fit(edge, values).predict,
    }


def spline(field: Floats) -> Surface:
    """A cubic spline through values at nodes: smooth, where straight pieces would have kinks."""
    from scipy.interpolate import RectBivariateSpline

    axis = np.linspace(0, 1, field.shape[0])
    return partial(_evaluated, RectBivariateSpline(axis, axis, field))


def _evaluated(smooth: Any, x: Floats) -> Floats:
    return np.asarray(smooth.ev(x[:, 0], x[:, 1]))


def _nearest(tree: Any, values: Floats, x: Floats) -> Floats:
    return np.asarray(values[tree.query(x)[1]])


def _coons(x: Floats) -> Floats:
    """Both ruled surfaces less the bilinear one through the corners."""
    a, b = x[:, 0], x[:, 1]
    low, high = np.zeros(len(x)), np.ones(len(x))

    def at(first: Floats, second: Floats) -> Floats:
        return boundary(np.stack((first, second), axis=1))

    across = (1 - a) * at(low, b) + a * at(high, b)
    up = (1 - b) * at(a, low) + b * at(a, high)
    bottom = (1 - a) * at(low, low) + a * at(high, low)
    top = (1 - a) * at(low, high) + a * at(high, high)
    return across + up - (1 - b) * bottom - b * top
