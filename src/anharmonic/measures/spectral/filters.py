"""Nearest rows among candidates that a cheaper look has chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.measures.spectral.products import CACHED, SPARE, chunks, reranked, scanned, squared
from anharmonic.measures.spectral.threads import together

__all__ = ["FILTER_DIMENSIONS", "filtered", "narrowed", "projected", "single"]

FILTER_DIMENSIONS = 96
CANDIDATES = 5
"""Rows that a filter keeps for each neighbour wanted."""
SAMPLE = 20_000
"""Rows that principal axes are taken from."""


def filtered(points: Floats, count: int) -> Integers:
    """The nearest among candidates that are near on the leading principal axes."""
    kept = max(CANDIDATES * count, count + SPARE)
    narrow = single(points)
    every = np.arange(len(points))
    candidates = scanned(projected(narrow, FILTER_DIMENSIONS), every, kept, np.float32)[0]
    return narrowed(points, narrow, candidates, count)


def single(points: Floats) -> Any:
    """Centred points in single precision, without a copy in double precision on the way."""
    found, centre = np.empty(points.shape, dtype=np.float32), points.mean(axis=0, dtype=np.float64)
    for chunk in chunks(len(points), points.shape[1], CACHED):
        found[chunk] = points[chunk] - centre
    return found


def projected(narrow: Any, dimensions: int) -> Any:
    """Rows on their leading principal axes, found from some of them."""
    if narrow.shape[1] <= dimensions:
        return narrow
    some = narrow[:: -(-len(narrow) // SAMPLE)]
    axes = np.linalg.eigh((some.T @ some).astype(np.float64))[1]
    return narrow @ axes[:, -dimensions:].astype(np.float32)


def narrowed(points: Floats, narrow: Any, candidates: Integers, count: int) -> Integers:
    """The nearest of every row's candidates, in single precision where that tells them apart."""
    rows, dimension = narrow.shape
    found, unclear = np.empty((rows, count), dtype=np.int64), np.zeros(rows, dtype=bool)
    epsilon, longest = 4 * np.finfo(np.float32).eps, np.sqrt(np.square(narrow).sum(axis=1).max())

    def rank(chunk: slice) -> None:
        own = np.arange(chunk.start, chunk.stop)
        squares = squared(narrow, own, candidates[chunk], np.float32)
        order = np.argsort(squares, axis=1)[:, : count + 1]
        ordered = np.take_along_axis(squares, order, axis=1)
        slack = epsilon * (np.sqrt(dimension) * ordered + longest * np.sqrt(ordered))
        unclear[chunk] = (np.diff(ordered, axis=1) <= 2 * slack[:, 1:]).any(axis=1)
        found[chunk] = np.take_along_axis(candidates[chunk], order[:, :count], axis=1)

    together(lambda: rank, chunks(rows, candidates.shape[1] * dimension, CACHED))
    again = np.flatnonzero(unclear)
    found[again] = reranked(points, again, candidates[again], count)[0]
    return found
