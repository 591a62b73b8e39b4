"""Nearest rows among candidates that a cheaper look has chosen."""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.measures.spectral.products import (
    CACHED,
    SPARE,
    Singles,
    chunks,
    rerank,
    scan,
    squared_distances,
)
from anharmonic.measures.spectral.threads import together

__all__ = [
    "FILTER_DIMENSIONS",
    "centred_in_single",
    "nearest_by_filter",
    "nearest_candidates",
    "onto_principal_axes",
]

FILTER_DIMENSIONS = 96
CANDIDATES = 5
"""Rows that a filter keeps for each neighbour wanted."""
SAMPLE = 20_000
"""Rows that principal axes are taken from."""


def nearest_by_filter(points: Floats, count: int) -> Integers:
    """The nearest among candidates that are near on the leading principal axes."""
    kept = max(CANDIDATES * count, count + SPARE)
    centred = centred_in_single(points)
    every = np.arange(len(points))
    candidates = scan(onto_principal_axes(centred, FILTER_DIMENSIONS), every, kept, np.float32)[0]
    return nearest_candidates(points, centred, candidates, count)


def centred_in_single(points: Floats) -> Singles:
    """Centred points in single precision, without a copy in double precision on the way."""
    centred = np.empty(points.shape, dtype=np.float32)
    centre = points.mean(axis=0, dtype=np.float64)
    for chunk in chunks(len(points), points.shape[1], CACHED):
        centred[chunk] = points[chunk] - centre
    return centred


def onto_principal_axes(centred: Singles, dimensions: int) -> Singles:
    """Rows along their leading principal axes, (rows, dimensions); axes are taken from a sample."""
    if centred.shape[1] <= dimensions:
        return centred
    sample = centred[:: -(-len(centred) // SAMPLE)]
    # Eigenvectors of the scatter matrix (n, n), ascending: the last ones have most variance.
    axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))[1]
    return centred @ axes[:, -dimensions:].astype(np.float32)


def nearest_candidates(
    points: Floats, centred: Singles, candidates: Integers, count: int
) -> Integers:
    """The nearest of every row's candidates, in single precision where that tells them apart."""
    rows, dimension = centred.shape
    nearest, unclear = np.empty((rows, count), dtype=np.int64), np.zeros(rows, dtype=bool)
    epsilon, longest = 4 * np.finfo(np.float32).eps, np.sqrt(np.square(centred).sum(axis=1).max())

    def rank(chunk: slice) -> None:
        own = np.arange(chunk.start, chunk.stop)
        squares = squared_distances(centred, own, candidates[chunk], np.float32)
        order = np.argsort(squares, axis=1)[:, : count + 1]
        ordered = np.take_along_axis(squares, order, axis=1)
        # Rounding of d²: √n ε d² from the sum, and d · ε‖x‖ from points rounded beforehand.
        slack = epsilon * (np.sqrt(dimension) * ordered + longest * np.sqrt(ordered))
        unclear[chunk] = (np.diff(ordered, axis=1) <= 2 * slack[:, 1:]).any(axis=1)
        nearest[chunk] = np.take_along_axis(candidates[chunk], order[:, :count], axis=1)

    together(lambda: rank, chunks(rows, candidates.shape[1] * dimension, CACHED))
    again = np.flatnonzero(unclear)
    nearest[again] = rerank(points, again, candidates[again], count)[0]
    return nearest
