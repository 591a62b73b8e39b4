"""Nearest rows of many, nearly: those of a row's own cluster and of the clusters close to it.

The work grows little faster than the rows do; some neighbours are missed, and recall says how many.
"""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.measures.spectral.filters import (
    centred_in_single,
    nearest_candidates,
    onto_principal_axes,
)
from anharmonic.measures.spectral.products import (
    CACHED,
    GROUPS,
    SPARE,
    Singles,
    augment,
    chunks,
    nearest_rows,
    scan,
    smallest,
)
from anharmonic.measures.spectral.threads import together

__all__ = ["nearest_by_clusters"]

DIMENSIONS = 64
CANDIDATES = 3
"""Rows kept for each neighbour wanted."""
SIZE, CLOSE, USUAL = 256, 64, 65_536
"""Rows of a cluster, and close clusters that its rows are compared with, of so many rows; of more
rows more, by their third root, or recall would fall."""
ROUNDS, SAMPLE = 5, 40
"""Of k-means: rounds, and rows for each centre."""


def nearest_by_clusters(points: Floats, count: int) -> Integers:
    """Most of the nearest rows; all of them where every cluster would be close."""
    if len(points) <= CLOSE * SIZE:
        return nearest_rows(points, np.arange(len(points)), count)
    centred = centred_in_single(points)
    kept = max(CANDIDATES * count, count + SPARE)
    candidates = _among_close(onto_principal_axes(centred, DIMENSIONS), kept)
    return nearest_candidates(points, centred, candidates, count)


def _among_close(projected: Singles, kept: int) -> Integers:
    """The nearest rows in the closest clusters, (rows, kept)."""
    centres = _centres(projected)
    labels = _nearest_centre(projected, centres)
    # Rows sorted by cluster: cluster c is order[starts[c] : starts[c + 1]], one stretch of memory.
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(len(centres) + 1))
    rows = augment(projected[order], np.float32)[0][: len(projected)]
    closest = round(CLOSE * max(1.0, len(projected) / USUAL) ** (1 / 3))
    # (clusters, closest - 1): a cluster itself is compared with anyway.
    close = scan(centres, np.arange(len(centres)), closest - 1, np.float32)[0]
    candidates = np.empty((len(projected), kept), dtype=np.int64)

    def compare(cluster: int) -> None:
        own = np.arange(starts[cluster], starts[cluster + 1])
        others = [np.arange(starts[other], starts[other + 1]) for other in close[cluster]]
        among = np.concatenate([own, *others])
        if len(among) <= kept:
            # Too few rows in the close clusters: compare with all.
            among = np.concatenate([own, np.delete(np.arange(len(projected)), own)])
        among = np.pad(among, (0, padding := -len(among) % GROUPS))
        right = rows[among].T
        for chunk in chunks(len(own), len(among)):
            # (−2x, 1) · (y, ‖y‖²): see `products.augment`.
            left = -2 * rows[own[chunk]]
            left[:, -1] = 1
            squares = left @ right
            # Rows of the cluster come first in `among`, so row i's own place there is i.
            squares[np.arange(len(left)), np.arange(len(own))[chunk]] = np.inf
            squares[:, len(among) - padding :] = np.inf
            candidates[order[own[chunk]]] = order[among[smallest(squares, kept)[0]]]

    together(lambda: compare, range(len(centres)))
    return candidates


def _centres(projected: Singles) -> Singles:
    """Centres of clusters by a few rounds of Lloyd's k-means on a sample of rows."""
    count, random = len(projected) // SIZE, generator(0, Stream.CLUSTER_CENTRES)
    size = min(len(projected), SAMPLE * count)
    sample = projected[random.choice(len(projected), size, replace=False)]
    centres = sample[:count].copy()
    for _ in range(ROUNDS):
        labels = _nearest_centre(sample, centres)
        order = np.argsort(labels, kind="stable")
        # A centre that no row is nearest to stays where it is.
        occupied, starts = np.unique(labels[order], return_index=True)
        sizes = np.diff(np.append(starts, len(sample)))[:, None]
        centres[occupied] = np.add.reduceat(sample[order], starts, axis=0) / sizes
    return centres


def _nearest_centre(projected: Singles, centres: Singles) -> Integers:
    """The nearest centre of every row, (rows,): argmin of ‖c‖²/2 − x·c."""
    labels, lengths = np.empty(len(projected), dtype=np.int64), np.square(centres).sum(axis=1) / 2

    def label(chunk: slice) -> None:
        labels[chunk] = (lengths - projected[chunk] @ centres.T).argmin(axis=1)

    together(lambda: label, chunks(len(projected), len(centres), CACHED * GROUPS))
    return labels
