"""Nearest rows of many, nearly: those of a row's own cluster and of the clusters close to it.

The work grows little faster than the rows do; some neighbours are missed, and recall says how many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.measures.spectral.filters import narrowed, projected, single
from anharmonic.measures.spectral.products import (
    CACHED,
    GROUPS,
    SPARE,
    chunks,
    compared,
    lengthened,
    scanned,
    smallest,
)
from anharmonic.measures.spectral.threads import together

__all__ = ["clustered"]

DIMENSIONS = 64
CANDIDATES = 3
"""Rows kept for each neighbour wanted."""
SIZE, CLOSE, USUAL = 256, 64, 65_536
"""Rows of a cluster, and close clusters that its rows are compared with, of so many rows; of more
rows more, by their third root, or recall would fall."""
ROUNDS, SAMPLE = 5, 40
"""Of k-means: rounds, and rows for each centre."""


def clustered(points: Floats, count: int) -> Integers:
    """Most of the nearest rows; all of them where every cluster would be close."""
    if len(points) <= CLOSE * SIZE:
        return compared(points, np.arange(len(points)), count)
    narrow = single(points)
    candidates = _among_close(projected(narrow, DIMENSIONS), max(CANDIDATES * count, count + SPARE))
    return narrowed(points, narrow, candidates, count)


def _among_close(flat: Any, kept: int) -> Integers:
    """The nearest rows in the closest clusters, (rows, kept)."""
    centres = _centres(flat)
    labels = _nearest(flat, centres)
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(len(centres) + 1))
    rows = lengthened(flat[order], np.float32)[0][: len(flat)]
    near = round(CLOSE * max(1.0, len(flat) / USUAL) ** (1 / 3))
    close = scanned(centres, np.arange(len(centres)), near - 1, np.float32)[0]
    found = np.empty((len(flat), kept), dtype=np.int64)

    def compare(cluster: int) -> None:
        own = np.arange(bounds[cluster], bounds[cluster + 1])
        others = [np.arange(bounds[each], bounds[each + 1]) for each in close[cluster]]
        among = np.concatenate([own, *others])
        if len(among) <= kept:
            among = np.concatenate([own, np.delete(np.arange(len(flat)), own)])
        among = np.pad(among, (0, filled := -len(among) % GROUPS))
        theirs = rows[among].T
        for chunk in chunks(len(own), len(among)):
            mine = -2 * rows[own[chunk]]
            mine[:, -1] = 1
            squares = mine @ theirs
            squares[np.arange(len(mine)), np.arange(len(own))[chunk]] = np.inf
            squares[:, len(among) - filled :] = np.inf
            found[order[own[chunk]]] = order[among[smallest(squares, kept)[0]]]

    together(lambda: compare, range(len(centres)))
    return found


def _centres(flat: Any) -> Any:
    """Centres of clusters by a few rounds of k-means on some rows."""
    count, random = len(flat) // SIZE, generator(0, Stream.CLUSTER_CENTRES)
    some = flat[random.choice(len(flat), min(len(flat), SAMPLE * count), replace=False)]
    centres = some[:count].copy()
    for _ in range(ROUNDS):
        labels = _nearest(some, centres)
        order = np.argsort(labels, kind="stable")
        held, starts = np.unique(labels[order], return_index=True)
        sizes = np.diff(np.append(starts, len(some)))[:, None]
        centres[held] = np.add.reduceat(some[order], starts, axis=0) / sizes
    return centres


def _nearest(flat: Any, centres: Any) -> Integers:
    """The nearest centre of every row."""
    found, lengths = np.empty(len(flat), dtype=np.int64), np.square(centres).sum(axis=1) / 2

    def label(chunk: slice) -> None:
        found[chunk] = (lengths - flat[chunk] @ centres.T).argmin(axis=1)

    together(lambda: label, chunks(len(flat), len(centres), CACHED * GROUPS))
    return found
