"""Nearest neighbours: exact while that is affordable, filtered or approximate above.

One interface: a search takes points (rows, n) and a count, and gives for each row the numbers of
that many other rows, nearest first. Rows never are their own neighbours, copies of them may be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import MissingExtra, PointsError, SettingsError
from anharmonic.measures.spectral.accelerated import nearest_on_device
from anharmonic.measures.spectral.clusters import nearest_by_clusters
from anharmonic.measures.spectral.filters import FILTER_DIMENSIONS, nearest_by_filter
from anharmonic.measures.spectral.products import SPARE, nearest_rows, rerank, squared_distances

__all__ = [
    "SEARCHES",
    "Search",
    "choose_search",
    "neighbours",
    "recall",
    "rescale_if_extreme",
    "ties",
]

Search = Callable[[Floats, int], Integers]
"""Points (rows, n) and a count in; row numbers (rows, count) out, nearest first."""

TREE_DIMENSIONS = 10
LEAF = 32
"""Rows of a tree's leaf: in six to ten dimensions a third to a half faster than scipy's ten."""
FAST_TREE_ROWS, FAST_TREE_DIMENSIONS = 100_000, 4
"""Beyond both, a tree takes longer than clusters do: its time grows with the power 1.5."""
EXACT_WORK = 2e12
"""Multiplications (rows² · n) up to which comparing everything takes a minute at most."""
FILTERED_ROWS = 150_000


def neighbours(points: Floats, count: int, search: str | Search = "auto") -> Integers:
    """The `count` nearest other rows of every row, (rows, count), nearest first.

    Parameters
    ----------
    points : (rows, n)
        Rows, whose Euclidean distances count.
    count
        Neighbours per row, without the row itself.
    search
        "exact", "tree", "filtered", "hnsw", "clusters", "torch" (exact, on a GPU where there is
        one), "auto" for the fitting one, "fast" for the fitting one that may miss a few, or a
        function of your own with the arguments (points, count).

    Examples
    --------
    >>> neighbours(np.array([[0.0], [1.0], [3.0], [3.0]]), 1).ravel().tolist()
    [1, 0, 3, 2]
    """
    rows = len(points)
    if not 1 <= count < rows:
        raise SettingsError(
            f"{count} neighbours among {rows} points: give a number from 1 to {rows - 1}"
        )
    if callable(search):
        indices = search(np.asarray(points, dtype=np.float64), count)
        return _checked_indices(indices, rows, count)
    name = choose_search(points, search)
    if name not in SEARCHES:
        names = ", ".join(SEARCHES)
        raise SettingsError(f"no search {search!r}: auto, fast, {names} or a function")
    return SEARCHES[name](rescale_if_extreme(points), count)


def rescale_if_extreme(points: Floats) -> Floats:
    """The points in another unit where their squares would overflow single precision, or vanish."""
    largest = float(max(points.max(), -points.min()))
    if largest == 0 or 1e-15 < largest < 1e15:
        return points
    # By a power of 2, so that nothing rounds.
    return np.asarray(np.ldexp(points, -int(np.log2(largest))))


def choose_search(points: Floats, search: str) -> str:
    """The search that "auto" or "fast" stands for, by the size of the points alone."""
    rows, dimension = points.shape
    if search not in ("auto", "fast"):
        return search
    small = rows < FAST_TREE_ROWS or dimension <= FAST_TREE_DIMENSIONS
    if dimension <= TREE_DIMENSIONS and (small or search == "auto"):
        return "tree"
    if search == "fast":
        return "clusters"
    if rows**2 * dimension <= EXACT_WORK or rows <= 2 * FILTER_DIMENSIONS:
        return "exact"
    return "filtered" if rows <= FILTERED_ROWS and dimension > FILTER_DIMENSIONS else "hnsw"


def _checked_indices(given: Integers, rows: int, count: int) -> Integers:
    """Row numbers that a search of the user's own gave, if they are neighbours."""
    indices = np.asarray(given)
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
    """Everything against everything, but for columns that never vary."""
    varying = points.max(axis=0) > points.min(axis=0)
    narrower = points[:, varying] if varying.any() and not varying.all() else points
    return nearest_rows(narrower, np.arange(len(points)), count)


def _tree(points: Floats, count: int) -> Integers:
    """A kd-tree: exact, and quick in few dimensions."""
    from scipy.spatial import KDTree

    tree = KDTree(points, leafsize=LEAF)
    # One more than wanted: a row is its own nearest.
    indices = tree.query(points, k=count + 1, workers=-1)[1].astype(np.int64)
    return without_self(indices)


def without_self(indices: Integers) -> Integers:
    """Drop each row's own number, (rows, k) to (rows, k − 1).

    Where more than k copies of a row leave its own number out, the last one is dropped.
    """
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(indices[~own].reshape(len(indices), -1))


def _hnsw(points: Floats, count: int) -> Integers:
    """A hierarchical navigable small-world graph: approximate, nearly linear in the rows."""
    try:
        import hnswlib
    except ImportError as problem:
        raise MissingExtra("hnswlib", "spade") from problem
    rows, dimension = points.shape
    centred = np.asarray(points - points.mean(axis=0, dtype=np.float64), dtype=np.float32)
    kept = min(rows, count + SPARE + 1)
    index = hnswlib.Index(space="l2", dim=dimension)
    index.init_index(max_elements=rows, M=16, ef_construction=200, random_seed=100)
    # With more threads the index depends on which of them comes first.
    index.add_items(centred, num_threads=1)
    index.set_ef(max(200, 2 * kept))
    candidates = without_self(index.knn_query(centred, k=kept)[0].astype(np.int64))
    # Distances in single precision chose the candidates; differences in double rank them.
    return rerank(points, np.arange(rows), candidates, count)[0]


SEARCHES: dict[str, Search] = {
    "exact": _exact,
    "tree": _tree,
    "filtered": nearest_by_filter,
    "hnsw": _hnsw,
    "clusters": nearest_by_clusters,
    "torch": nearest_on_device,
}


def ties(points: Floats, count: int, sample: int = 200, seed: int = 0) -> float:
    """Share of rows, in a sample, whose last neighbour is no nearer than one that was left out.

    Which of the two is a neighbour is decided by the order of the rows.

    >>> ties(np.array([[0.0], [1.0], [2.0], [3.5]]), 1)  # 1 is as far from 0 as from 2
    0.25
    """
    rows = len(points)
    if count + 1 >= rows:
        return 0.0
    queries = generator(seed, Stream.RECALL_SAMPLE).choice(rows, min(sample, rows), replace=False)
    distances = _distances(points, queries, nearest_rows(points, queries, count + 1))
    return float((distances[:, -1] <= distances[:, -2] * (1 + 1e-12)).mean())


def recall(points: Floats, indices: Integers, sample: int = 200, seed: int = 0) -> float:
    """Share of true neighbours among those of a sample of rows; an equally near row is true."""
    rows, count = indices.shape
    queries = generator(seed, Stream.RECALL_SAMPLE).choice(rows, min(sample, rows), replace=False)
    true = _distances(points, queries, nearest_rows(points, queries, count))
    reported = _distances(points, queries, indices[queries])
    return float((reported <= true[:, -1:] * (1 + 1e-9)).mean())


def _distances(points: Floats, queries: Integers, others: Integers) -> Floats:
    """From each query to its own other rows, (queries, others)."""
    return np.asarray(np.sqrt(squared_distances(points, queries, others, np.float64)))
