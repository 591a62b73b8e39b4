"""The true length of a classifier's boundary in the plane, from its outputs on a fine grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.regions import grid

__all__ = ["boundary_length_of", "edge_length", "zero_length"]


def zero_length(values: Floats, steps: Sequence[float]) -> float:
    """Length of the line where a function is 0, from its values at grid nodes.

    Every cell is cut into two triangles; in a triangle the function is taken as linear, so
    the line is straight there. `steps` are the distances between nodes along the axes.

    >>> x, y = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(-1, 1, 201), indexing="ij")
    >>> round(zero_length(x**2 + y**2 - 0.25, (0.01, 0.01)), 3)  # a circle, 2π·0.5
    3.141
    """
    a, b, c, d = values[:-1, :-1], values[1:, :-1], values[1:, 1:], values[:-1, 1:]
    across, up = np.array([steps[0], 0.0]), np.array([0.0, steps[1]])
    return _in_triangles(a, b, c, across, across + up) + _in_triangles(a, d, c, up, across + up)


def _in_triangles(a: Floats, b: Floats, c: Floats, to_b: Floats, to_c: Floats) -> float:
    """Length inside triangles with corners at 0, `to_b` and `to_c` and these values there."""
    corners = np.array([np.zeros(2), to_b, to_c])
    values = np.stack([a.ravel(), b.ravel(), c.ravel()], axis=1)
    above = values > 0
    mixed = above.any(axis=1) & ~above.all(axis=1)
    values, above = values[mixed], above[mixed]
    # One corner is on its own side: the line cuts the two edges that meet there.
    lone = np.where(above.sum(axis=1) == 1, above.argmax(axis=1), (~above).argmax(axis=1))
    rows = np.arange(len(values))
    cuts = []
    for turn in (1, 2):
        other = (lone + turn) % 3
        height = values[rows, lone]
        share = height / (height - values[rows, other])
        cuts.append(corners[lone] + share[:, None] * (corners[other] - corners[lone]))
    return float(np.linalg.norm(cuts[0] - cuts[1], axis=1).sum())


def edge_length(labels: Floats, steps: Sequence[float]) -> float:
    """Length of the edges between cells of different labels: exact for boundaries along axes.

    >>> edge_length(np.array([[0, 0], [0, 1]]), (0.5, 2.0))
    2.5
    """
    beside = int((labels[1:] != labels[:-1]).sum())
    above = int((labels[:, 1:] != labels[:, :-1]).sum())
    return beside * steps[1] + above * steps[0]


def boundary_length_of(
    margins: Callable[[Floats], Floats] | None,
    labels: Callable[[Floats], Floats],
    box: Sequence[tuple[float, float]],
    count: int = 600,
) -> float:
    """Length of a classifier's boundary in a box, between any two classes.

    `margins` gives a continuous score for each class; without one the boundary is taken to run
    along the axes, as that of trees does.
    """
    nodes = grid(box, count).values
    steps = [(high - low) / count for low, high in box]
    if margins is None:
        return edge_length(labels(nodes).reshape(count, count), steps)
    scores = margins(nodes)
    total = 0.0
    for column in range(scores.shape[1]):
        others = np.delete(scores, column, axis=1).max(axis=1)
        ahead = (scores[:, column] - others).reshape(count, count)
        total += zero_length(ahead, steps)
    # Every stretch has a class on either side, and is met twice.
    return total / 2
