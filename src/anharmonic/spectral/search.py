"""Nearest neighbours: exact while that is affordable, filtered or approximate above.

One seam: a search takes points (rows, n) and a count, and gives for each row the numbers of
that many other rows, nearest first. Rows never are their own neighbours, copies of them may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anharmonic.errors import MissingExtra, PointsError, SettingsError
from anharmonic.protocols import Floats, Integers
from anharmonic.randomness import generator

__all__ = ["SEARCHES", "Search", "automatic", "moderate", "neighbours", "recall"]

Search = Callable[[Floats, int], Integers]
"""Points (rows, n) and a count in; row numbers (rows, count) out, nearest first."""

TREE_DIMENSIONS = 10
EXACT_WORK = 2e12
"""Multiplications (rows² · n) up to which comparing everything takes a minute at most."""
FILTERED_ROWS = 150_000
FILTER_DIMENSIONS = 96
CANDIDATES = 5
"""Rows that a filter keeps for each neighbour wanted."""
SPARE = 8
"""Rows that single precision keeps beside the neighbours wanted."""
CHUNK, CACHED = 2**24, 2**18
GROUPS = 16


def neighbours(points: Floats, count: int, search: str | Search = "auto") -> Integers:
    """The `count` nearest other rows of every row, (rows, count), nearest first.

    `search` is "exact", "tree", "filtered", "hnsw", "auto" for the fitting one, or a function of
    your own with the arguments (points, count).

    >>> neighbours(np.array([[0.0], [1.0], [3.0], [3.0]]), 1).ravel().tolist()
    [1, 0, 3, 2]
    """
    rows = len(points)
    if not 1 <= count < rows:
        raise SettingsError(
            f"{count} neighbours among {rows} points: give a number from 1 to {rows - 1}"
        )
    if callable(search):
        return _checked(search(points, count), rows, count)
    name = automatic(points) if search == "auto" else search
    if name not in SEARCHES:
        raise SettingsError(f"no search {search!r}: auto, {', '.join(SEARCHES)} or a function")
    return SEARCHES[name](moderate(points), count)


def moderate(points: Floats) -> Floats:
    """The points in another unit where their squares would not fit into single precision."""
    largest = float(np.abs(points).max())
    if largest == 0 or 1e-15 < largest < 1e15:
        return points
    return np.asarray(np.ldexp(points, -int(np.log2(largest))))  # a power of 2: nothing rounds


def automatic(points: Floats) -> str:
    """The search that "auto" stands for, by the size of the points alone."""
    rows, dimension = points.shape
    if dimension <= TREE_DIMENSIONS:
        return "tree"
    if rows**2 * dimension <= EXACT_WORK or rows <= 2 * FILTER_DIMENSIONS:
        return "exact"
    return "filtered" if rows <= FILTERED_ROWS and dimension > FILTER_DIMENSIONS else "hnsw"


def _checked(found: Any, rows: int, count: int) -> Integers:
    indices = np.asarray(found)
    if indices.shape != (rows, count) or indices.dtype.kind not in "iu":
        raise PointsError(
            f"the search gave {indices.dtype} of shape {indices.shape}: it must give row numbers "
            f"of shape {(rows, count)}, without the row itself"
        )
    indices = indices.astype(np.int64)
    if indices.min() < 0 or indices.max() >= rows:
        raise PointsError("the search gave row numbers that are not there: it fell short of rows")
    if (indices == np.arange(rows)[:, None]).any():
        raise PointsError("the search gave rows as their own neighbours: leave them out")
    if (np.diff(np.sort(indices, axis=1), axis=1) == 0).any():
        raise PointsError("the search gave a row the same neighbour twice: give different ones")
    return indices


def _exact(points: Floats, count: int) -> Integers:
    """Everything against everything."""
    return _compared(points, np.arange(len(points)), count)


def _compared(points: Floats, asked: Integers, count: int) -> Integers:
    """The neighbours of some rows among all, by products in single precision.

    Rows whose neighbours rounding could put in another order get theirs by differences to a few
    more candidates. Where rounding could hide a neighbour altogether, as in tight clusters far
    apart, all rows are candidates again: in double precision, then by differences.
    """
    found, gaps, reach = _scanned(points, asked, count + SPARE, np.float32)
    result = found[:, :count]
    unclear = np.flatnonzero(gaps[:, :count].min(axis=1) <= 0)
    result[unclear], farthest = _reranked(points, asked[unclear], found[unclear], count)
    for precision in (np.float64, None):
        # Nothing is nearer than a copy, whatever was left out.
        unclear = unclear[(farthest >= reach[unclear]) & (farthest > 0)]
        if not len(unclear):
            break
        rows = asked[unclear]
        if precision is None:
            candidates = _by_differences(points, rows, count + SPARE)
        else:
            candidates, _, reach[unclear] = _scanned(points, rows, count + SPARE, precision)
        result[unclear], farthest = _reranked(points, rows, candidates, count)
    return result


def _filtered(points: Floats, count: int) -> Integers:
    """The same among candidates that are near on the leading principal axes."""
    every, kept = np.arange(len(points)), max(CANDIDATES * count, count + SPARE)
    candidates = _scanned(_leading(points), every, kept, np.float32)[0]
    return _reranked(points, every, candidates, count)[0]


def _leading(points: Floats) -> Floats:
    centred = points - points.mean(axis=0)
    if points.shape[1] <= FILTER_DIMENSIONS:
        return np.asarray(centred)
    axes = np.linalg.eigh(centred.T @ centred)[1]
    return np.asarray(centred @ axes[:, -FILTER_DIMENSIONS:])


def _chunks(rows: int, width: int, most: int = CHUNK) -> Iterator[slice]:
    """Stretches of rows that stay within a fixed memory at `width` numbers a row."""
    step = max(1, most // width)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _scanned(
    points: Floats, asked: Integers, kept: int, precision: Any
) -> tuple[Integers, Floats, Floats]:
    """The `kept` nearest other rows of some rows by matrix products, nearest first.

    And by how much more than rounding each is nearer than the next, (rows, kept), and a squared
    distance for each row below which nothing was left out.
    """
    rows, dimension = points.shape
    kept = min(kept, rows - 1)
    width = -(-rows // GROUPS) * GROUPS
    # With a 1 behind the one and the squared length behind the other, a product is a distance
    # less a constant of the row; what fills up the last group is infinitely far.
    narrow, lengths = np.zeros((width, dimension + 1), dtype=precision), np.full(width, np.inf)
    narrow[:rows, :-1] = points - points.mean(axis=0)
    lengths[:rows] = np.einsum("ij,ij->i", narrow[:rows], narrow[:rows])
    narrow[:, -1] = lengths
    slack = 4 * np.finfo(precision).eps * np.sqrt(dimension) * lengths[:rows].max()
    found, reach = np.empty((len(asked), kept), dtype=np.int64), np.full(len(asked), np.inf)
    gaps, memory = np.full((len(asked), kept), np.inf), None
    for chunk in _chunks(len(asked), width):
        own = asked[chunk]
        if memory is None:
            memory = np.empty((len(own), width), dtype=precision)
        mine = -2 * narrow[own]
        mine[:, -1] = 1
        squares = np.matmul(mine, narrow.T, out=memory[: len(own)])
        squares[np.arange(len(own)), own] = np.inf
        found[chunk], ordered = _smallest(squares, kept)
        gaps[chunk, :-1] = np.diff(ordered, axis=1) - 2 * slack
        if kept < rows - 1:
            reach[chunk] = ordered[:, -1] + lengths[own] - slack
    return found, gaps, reach


def _by_differences(points: Floats, asked: Integers, kept: int) -> Integers:
    """The nearest without products, so that nothing cancels: slow, and never in doubt."""
    from scipy.spatial.distance import cdist

    kept = min(kept, len(points) - 1)
    found = np.empty((len(asked), kept), dtype=np.int64)
    for chunk in _chunks(len(asked), len(points)):
        own = asked[chunk]
        squares = cdist(points[own], points, "sqeuclidean")
        squares[np.arange(len(own)), own] = np.inf
        found[chunk] = np.argpartition(squares, kept - 1, axis=1)[:, :kept]
    return found


def _smallest(values: Any, kept: int) -> tuple[Any, Any]:
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


def _reranked(
    points: Floats, asked: Integers, candidates: Integers, count: int
) -> tuple[Integers, Floats]:
    """The nearest of some rows' candidates by their differences, ties by row number.

    And the squared distance of the last of them.
    """
    found, farthest = np.empty((len(asked), count), dtype=np.int64), np.empty(len(asked))
    for chunk in _chunks(len(asked), candidates.shape[1] * points.shape[1], CACHED):
        ordered = np.sort(candidates[chunk], axis=1)
        gaps = points[ordered] - points[asked[chunk], None, :]
        squares = np.einsum("ijk,ijk->ij", gaps, gaps)
        order = np.argsort(squares, axis=1, kind="stable")[:, :count]
        found[chunk] = np.take_along_axis(ordered, order, axis=1)
        farthest[chunk] = np.take_along_axis(squares, order, axis=1)[:, -1]
    return found, farthest


def _tree(points: Floats, count: int) -> Integers:
    """A kd-tree: exact, and quick in few dimensions."""
    from scipy.spatial import KDTree

    found = KDTree(points).query(points, k=count + 1, workers=-1)[1].astype(np.int64)
    return without_self(found)


def without_self(found: Integers) -> Integers:
    """Drop each row's own number; where many copies crowd it out, drop the last one."""
    own = found == np.arange(len(found))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(found[~own].reshape(len(found), -1))


def _hnsw(points: Floats, count: int) -> Integers:
    """A navigable small-world graph: approximate, nearly linear in the rows."""
    try:
        import hnswlib
    except ImportError as problem:
        raise MissingExtra("hnswlib", "spade") from problem
    rows, dimension = points.shape
    narrow = np.asarray(points - points.mean(axis=0), dtype=np.float32)
    kept = min(rows, count + SPARE + 1)
    index = hnswlib.Index(space="l2", dim=dimension)
    index.init_index(max_elements=rows, M=16, ef_construction=200, random_seed=100)
    index.add_items(narrow, num_threads=1)  # more threads: another graph each time
    index.set_ef(max(200, 2 * kept))
    candidates = without_self(index.knn_query(narrow, k=kept)[0].astype(np.int64))
    return _reranked(points, np.arange(rows), candidates, count)[0]


SEARCHES: dict[str, Search] = {
    "exact": _exact,
    "tree": _tree,
    "filtered": _filtered,
    "hnsw": _hnsw,
}


def recall(points: Floats, found: Integers, sample: int = 200, seed: int = 0) -> float:
    """Share of true neighbours found, on some rows; an equally near row counts as true."""
    rows, count = found.shape
    asked = generator(seed, 21).choice(rows, min(sample, rows), replace=False)
    true = _distances(points, asked, _compared(points, asked, count))
    given = _distances(points, asked, found[asked])
    return float((given <= true[:, -1:] * (1 + 1e-9)).mean())


def _distances(points: Floats, asked: Integers, others: Integers) -> Floats:
    return np.asarray(np.linalg.norm(points[others] - points[asked, None, :], axis=2))
