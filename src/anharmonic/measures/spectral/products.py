"""Nearest rows by matrix products: single precision first, and again where it could be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.measures.spectral.threads import together

__all__ = [
    "CACHED",
    "GROUPS",
    "SPARE",
    "chunks",
    "compared",
    "lengthened",
    "reranked",
    "scanned",
    "smallest",
    "squared",
]

SPARE = 8
"""Rows that single precision keeps beside the neighbours wanted."""
CHUNK, CACHED = 2**24, 2**19
PARTS = 8
"""Into how many parts a scan is cut at least, so that threads end together."""
GROUPS = 16


def compared(points: Floats, asked: Integers, count: int) -> Integers:
    """The neighbours of some rows among all, by products in single precision.

    Rows whose neighbours rounding could put in another order get theirs by differences to a few
    more candidates. Where rounding could hide a neighbour altogether, as in tight clusters far
    apart, all rows are candidates again: in double precision, then by differences.
    """
    found, gaps, reach = scanned(points, asked, count + SPARE, np.float32)
    result = found[:, :count]
    unclear = np.flatnonzero(gaps[:, :count].min(axis=1) <= 0)
    result[unclear], farthest = reranked(points, asked[unclear], found[unclear], count)
    for precision in (np.float64, None):
        # Nothing is nearer than a copy, whatever was left out.
        unclear = unclear[(farthest >= reach[unclear]) & (farthest > 0)]
        if not len(unclear):
            break
        rows = asked[unclear]
        if precision is None:
            candidates = _by_differences(points, rows, count + SPARE)
        else:
            candidates, _, reach[unclear] = scanned(points, rows, count + SPARE, precision)
        result[unclear], farthest = reranked(points, rows, candidates, count)
    return result


def chunks(rows: int, width: int, most: int = CHUNK) -> Iterator[slice]:
    """Stretches of rows that stay within a fixed memory at `width` numbers a row."""
    step = max(1, most // width)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def scanned(
    points: Floats, asked: Integers, kept: int, precision: Any
) -> tuple[Integers, Floats, Floats]:
    """The `kept` nearest other rows of some rows by matrix products, nearest first.

    And by how much more than rounding each is nearer than the next, (rows, kept), and a squared
    distance for each row below which nothing was left out.
    """
    rows, dimension = points.shape
    kept = min(kept, rows - 1)
    narrow, lengths = lengthened(points, precision)
    slack = 4 * np.finfo(precision).eps * np.sqrt(dimension) * lengths[:rows].max()
    found, reach = np.empty((len(asked), kept), dtype=np.int64), np.full(len(asked), np.inf)
    gaps = np.full((len(asked), kept), np.inf, dtype=precision)
    parts = list(chunks(len(asked), len(narrow), min(CHUNK, len(asked) * len(narrow) // PARTS)))

    def begin() -> Callable[[slice], None]:
        memory = np.empty((parts[0].stop if parts else 0, len(narrow)), dtype=precision)

        def scan(chunk: slice) -> None:
            own = asked[chunk]
            mine = -2 * narrow[own]
            mine[:, -1] = 1
            squares = np.matmul(mine, narrow.T, out=memory[: len(own)])
            squares[np.arange(len(own)), own] = np.inf
            found[chunk], ordered = smallest(squares, kept)
            gaps[chunk, :-1] = np.diff(ordered, axis=1) - 2 * slack
            if kept < rows - 1:
                reach[chunk] = ordered[:, -1] + lengths[own] - slack

        return scan

    together(begin, parts)
    return found, gaps, reach


def lengthened(points: Floats, precision: Any) -> tuple[Any, Floats]:
    """Centred rows with their squared lengths behind, and those, filled up to whole groups.

    With a 1 in the length's place on the other side, a product is a distance less a constant of
    the row; what fills up the last group is infinitely far.
    """
    rows, dimension = points.shape
    width = -(-rows // GROUPS) * GROUPS
    narrow, lengths = np.zeros((width, dimension + 1), dtype=precision), np.full(width, np.inf)
    centre = points.mean(axis=0, dtype=np.float64)
    for chunk in chunks(rows, dimension, CACHED):
        narrow[chunk, :-1] = points[chunk] - centre
        lengths[chunk] = np.einsum("ij,ij->i", narrow[chunk, :-1], narrow[chunk, :-1])
    narrow[:, -1] = lengths
    return narrow, lengths


def _by_differences(points: Floats, asked: Integers, kept: int) -> Integers:
    """The nearest without products, so that nothing cancels: slow, and never in doubt."""
    from scipy.spatial.distance import cdist

    kept = min(kept, len(points) - 1)
    found = np.empty((len(asked), kept), dtype=np.int64)
    for chunk in chunks(len(asked), len(points)):
        own = asked[chunk]
        squares = cdist(points[own], points, "sqeuclidean")
        squares[np.arange(len(own)), own] = np.inf
        found[chunk] = np.argpartition(squares, kept - 1, axis=1)[:, :kept]
    return found


def smallest(values: Any, kept: int) -> tuple[Any, Any]:
    """Positions of the `kept` smallest in each row and their values, the smallest first.

    They lie in the `kept` groups with the smallest minima, so most values are looked at once.
    """
    many, width = values.shape
    groups = width // GROUPS
    places = np.broadcast_to(np.arange(width), values.shape)
    if groups > kept:
        minima = values.reshape(many, GROUPS, groups).min(axis=1)
        best = np.argpartition(minima, kept - 1, axis=1)[:, :kept]
        places = (best[:, :, None] + groups * np.arange(GROUPS)).reshape(many, -1)
        values = np.take_along_axis(values, places, axis=1)
    near = np.argpartition(values, kept - 1, axis=1)[:, :kept]
    values = np.take_along_axis(values, near, axis=1)
    order = np.argsort(values, axis=1)
    found = np.take_along_axis(places, np.take_along_axis(near, order, axis=1), axis=1)
    return found, np.take_along_axis(values, order, axis=1)


def reranked(
    points: Floats, asked: Integers, candidates: Integers, count: int
) -> tuple[Integers, Floats]:
    """The nearest of some rows' candidates by their differences, ties by row number.

    And the squared distance of the last of them.
    """
    found, farthest = np.empty((len(asked), count), dtype=np.int64), np.empty(len(asked))

    def rank(chunk: slice) -> None:
        ordered = np.sort(candidates[chunk], axis=1)
        squares = squared(points, asked[chunk], ordered, np.float64)
        order = np.argsort(squares, axis=1, kind="stable")[:, :count]
        found[chunk] = np.take_along_axis(ordered, order, axis=1)
        farthest[chunk] = np.take_along_axis(squares, order, axis=1)[:, -1]

    together(lambda: rank, chunks(len(asked), candidates.shape[1] * points.shape[1], CACHED))
    return found, farthest


def squared(points: Any, asked: Integers, others: Integers, precision: Any) -> Any:
    """Squared distances from some rows to others of each, (rows, others)."""
    gaps = points[others].astype(precision, copy=False)
    gaps -= points[asked, None, :]
    return np.einsum("ijk,ijk->ij", gaps, gaps)
