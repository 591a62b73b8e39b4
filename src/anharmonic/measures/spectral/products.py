"""Nearest rows by matrix products: single precision first, and again where it could be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.measures.spectral.threads import together

__all__ = [
    "CACHED",
    "GROUPS",
    "SPARE",
    "Precision",
    "Singles",
    "augment",
    "chunks",
    "nearest_rows",
    "rerank",
    "scan",
    "smallest",
    "squared_distances",
]

Singles = NDArray[np.float32]
Precision = type[np.float32] | type[np.float64]

SPARE = 8
"""Rows that single precision keeps beside the neighbours wanted."""
CHUNK, CACHED = 2**24, 2**19
"""Numbers of one block of distances, and of one that stays in a processor's cache."""
PARTS = 8
"""Into how many parts a scan is cut at least, so that threads end together."""
GROUPS = 16
"""Values of a group when the smallest of a row are looked for; rows are padded to multiples."""


def nearest_rows(points: Floats, queries: Integers, count: int) -> Integers:
    """The nearest other rows of the rows `queries`, (queries, count), by single precision products.

    Rows whose neighbours rounding could put in another order get theirs by differences to a few
    more candidates. Where rounding could hide a neighbour altogether, as in tight clusters far
    apart, all rows are candidates again: in double precision, then by differences.
    """
    candidates, gaps, complete = scan(points, queries, count + SPARE, np.float32)
    result = candidates[:, :count]
    # Positions within `queries`; a gap at most 0 lies within rounding.
    unclear = np.flatnonzero(gaps[:, :count].min(axis=1) <= 0)
    result[unclear], farthest = rerank(points, queries[unclear], candidates[unclear], count)
    for precision in (np.float64, None):
        # Nothing is nearer than a copy, whatever was left out.
        unclear = unclear[(farthest >= complete[unclear]) & (farthest > 0)]
        if not len(unclear):
            break
        rows = queries[unclear]
        if precision is None:
            candidates = _candidates_by_differences(points, rows, count + SPARE)
        else:
            candidates, _, complete[unclear] = scan(points, rows, count + SPARE, precision)
        result[unclear], farthest = rerank(points, rows, candidates, count)
    return result


def chunks(rows: int, width: int, most: int = CHUNK) -> Iterator[slice]:
    """Stretches of rows that stay within a fixed memory at `width` numbers per row."""
    step = max(1, most // width)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def scan(
    points: Floats | Singles, queries: Integers, kept: int, precision: Precision
) -> tuple[Integers, Array, Floats]:
    """The `kept` nearest other rows of the rows `queries` by matrix products, nearest first.

    Also by how much more than rounding each is nearer than the next, (queries, kept), and for
    each query the squared distance below which no row is missing, (queries,).
    """
    rows, dimension = points.shape
    kept = min(kept, rows - 1)
    augmented, lengths = augment(points, precision)
    # A sum of n rounded products is off by about √n ε of the largest squared length; 4 of those.
    slack = 4 * np.finfo(precision).eps * np.sqrt(dimension) * lengths[:rows].max()
    nearest = np.empty((len(queries), kept), dtype=np.int64)
    complete = np.full(len(queries), np.inf)
    gaps = np.full((len(queries), kept), np.inf, dtype=precision)
    block = min(CHUNK, len(queries) * len(augmented) // PARTS)
    parts = list(chunks(len(queries), len(augmented), block))

    def begin() -> Callable[[slice], None]:
        # One buffer per thread, used for all its blocks.
        buffer = np.empty((parts[0].stop if parts else 0, len(augmented)), dtype=precision)

        def scan_chunk(chunk: slice) -> None:
            own = queries[chunk]
            # ‖y‖² − 2x·y, the squared distance less ‖x‖²: (chunk, rows padded).
            left = -2 * augmented[own]
            left[:, -1] = 1
            squares = np.matmul(left, augmented.T, out=buffer[: len(own)])
            squares[np.arange(len(own)), own] = np.inf
            nearest[chunk], ordered = smallest(squares, kept)
            gaps[chunk, :-1] = np.diff(ordered, axis=1) - 2 * slack
            if kept < rows - 1:
                # With ‖x‖² added back it is a distance.
                complete[chunk] = ordered[:, -1] + lengths[own] - slack

        return scan_chunk

    together(begin, parts)
    return nearest, gaps, complete


def augment(points: Floats | Singles, precision: Precision) -> tuple[Array, Floats]:
    """Centred rows (x, ‖x‖²), (rows padded to whole groups, n + 1), and the ‖x‖² themselves.

    The product of (−2x, 1) with (y, ‖y‖²) is ‖x − y‖² less a constant of the row x, so that one
    matrix product gives all distances. Padding is infinitely far.
    """
    rows, dimension = points.shape
    padded = -(-rows // GROUPS) * GROUPS
    augmented = np.zeros((padded, dimension + 1), dtype=precision)
    lengths = np.full(padded, np.inf)
    # Centring keeps ‖x‖² small, and with it what cancels in ‖y‖² − 2x·y.
    centre = points.mean(axis=0, dtype=np.float64)
    for chunk in chunks(rows, dimension, CACHED):
        augmented[chunk, :-1] = points[chunk] - centre
        lengths[chunk] = np.einsum("ij,ij->i", augmented[chunk, :-1], augmented[chunk, :-1])
    augmented[:, -1] = lengths
    return augmented, lengths


def _candidates_by_differences(points: Floats, queries: Integers, kept: int) -> Integers:
    """The nearest without products, so that nothing cancels: slow, and never in doubt."""
    from scipy.spatial.distance import cdist

    kept = min(kept, len(points) - 1)
    candidates = np.empty((len(queries), kept), dtype=np.int64)
    for chunk in chunks(len(queries), len(points)):
        own = queries[chunk]
        squares = cdist(points[own], points, "sqeuclidean")
        squares[np.arange(len(own)), own] = np.inf
        candidates[chunk] = np.argpartition(squares, kept - 1, axis=1)[:, :kept]
    return candidates


def smallest(values: Array, kept: int) -> tuple[Array, Array]:
    """Positions of the `kept` smallest in each row and their values, the smallest first.

    They lie in the `kept` groups with the smallest minima, so most values are looked at once.
    """
    rows, width = values.shape
    groups = width // GROUPS
    positions = np.broadcast_to(np.arange(width), values.shape)
    if groups > kept:
        # Group g holds columns g, g + groups, …, so that minima are taken of whole stretches.
        minima = values.reshape(rows, GROUPS, groups).min(axis=1)
        best = np.argpartition(minima, kept - 1, axis=1)[:, :kept]
        # (rows, kept, GROUPS) to (rows, kept · GROUPS).
        positions = (best[:, :, None] + groups * np.arange(GROUPS)).reshape(rows, -1)
        values = np.take_along_axis(values, positions, axis=1)
    near = np.argpartition(values, kept - 1, axis=1)[:, :kept]
    values = np.take_along_axis(values, near, axis=1)
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(positions, np.take_along_axis(near, order, axis=1), axis=1)
    return ordered, np.take_along_axis(values, order, axis=1)


def rerank(
    points: Floats, queries: Integers, candidates: Integers, count: int
) -> tuple[Integers, Floats]:
    """The nearest of each query's candidates by their differences, ties by row number.

    And the squared distance of the last of them, (queries,).
    """
    nearest, farthest = np.empty((len(queries), count), dtype=np.int64), np.empty(len(queries))

    def rank(chunk: slice) -> None:
        # Ascending row numbers and a stable sort: ties fall to the lower number.
        ordered = np.sort(candidates[chunk], axis=1)
        squares = squared_distances(points, queries[chunk], ordered, np.float64)
        order = np.argsort(squares, axis=1, kind="stable")[:, :count]
        nearest[chunk] = np.take_along_axis(ordered, order, axis=1)
        farthest[chunk] = np.take_along_axis(squares, order, axis=1)[:, -1]

    together(lambda: rank, chunks(len(queries), candidates.shape[1] * points.shape[1], CACHED))
    return nearest, farthest


def squared_distances(
    points: Array, queries: Integers, others: Integers, precision: Precision
) -> Array:
    """Squared distances from each query to its own other rows, (queries, others)."""
    # (queries, others, n)
    gaps = points[others].astype(precision, copy=False)
    gaps -= points[queries, None, :]
    return np.einsum("ijk,ijk->ij", gaps, gaps)
