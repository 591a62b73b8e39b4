"""Which values of two columns the reference has side by side, and which it rules out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from anharmonic._core.protocols import Floats, Integers
from anharmonic.regions.tables.kinds import ColumnKind

__all__ = ["PairsSeen", "count_pairs"]

BINS = 10
"""Numbers count as alike in each of so many parts with as many rows."""
MOST_LEVELS = 62
"""Levels of a category that are told apart; all rarer ones count as one."""
ENOUGH, HARDLY = 3.0, 0.01
"""A pair is ruled out that so many rows should have, and at most this share of them has."""
MOST_CELLS = 8192
"""Values of all columns together beyond which pairs are not looked at."""


@dataclass(frozen=True)
class PairsSeen:
    """Cells as numbers of values, and which values stand side by side in the reference.

    Parameters
    ----------
    first
        The number of each column's first value, which stands for a missing cell, (columns,).
    edges
        Of columns of numbers, where one part ends and the next begins; of others the levels.
    ordered
        Which columns are numbers, (columns,).
    seen : (values, values)
        Whether two values may stand side by side; None where there are too many columns to look.
        The reference rules a pair out that it (nearly) never has, where many rows would have it
        by chance; of rarer values nothing can be said.
    """

    first: Integers
    edges: tuple[Floats, ...]
    ordered: NDArray[np.bool_]
    seen: NDArray[np.bool_] | None

    def all_seen(self, column: int, other: int) -> bool:
        """Whether all values of one column stand beside all of another."""
        if self.seen is None:
            return True
        ends = [*self.first.tolist(), len(self.seen)]
        block = self.seen[ends[column] : ends[column + 1], ends[other] : ends[other + 1]]
        return bool(block.all())

    def number(self, column: int, values: Floats) -> Integers:
        """The numbers of a column's values, of any shape."""
        edges = self.edges[column]
        places = np.searchsorted(edges, values, side="right" if self.ordered[column] else "left")
        if not self.ordered[column] and len(edges):
            # What is no level, and what is rare, counts as one further value.
            known = edges[np.minimum(places, len(edges) - 1)] == values
            places = np.where(known, places, len(edges))
        return np.asarray(self.first[column] + np.where(np.isnan(values), 0, places + 1))

    def numbers(self, values: Floats) -> Integers:
        """The numbers of all cells, (rows, columns)."""
        parts = [self.number(column, values[:, column]) for column in range(values.shape[1])]
        return np.stack(parts, axis=1).astype(np.int32)


def count_pairs(kinds: Sequence[ColumnKind], reference: Floats) -> PairsSeen:
    """What the reference's cells (rows, columns) have side by side."""
    edges, first, total = [], [], 0
    ordered = np.array([kind.movement in ("ball", "step") for kind in kinds])
    for column, is_ordered in enumerate(ordered.tolist()):
        values = reference[:, column]
        present = values[np.isfinite(values)]
        if is_ordered:
            cuts = np.quantile(present, np.arange(1, BINS) / BINS) if len(present) else present
            edges.append(np.unique(cuts))
        else:
            levels, counts = np.unique(present, return_counts=True)
            frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
            edges.append(levels[np.sort(frequent)])
        first.append(total)
        # A missing cell, one value for each level or part, and one for what is none of them.
        total += len(edges[-1]) + 2
    pairs = PairsSeen(np.array(first), tuple(edges), ordered, None)
    if total > MOST_CELLS:
        return pairs
    numbers = pairs.numbers(reference)
    rows = np.repeat(np.arange(len(numbers)), numbers.shape[1])
    shape = (len(numbers), total)
    cells = sparse.csr_array((np.ones(rows.size, np.float32), (rows, numbers.ravel())), shape=shape)
    together = (cells.T @ cells).toarray()
    # How many rows would have both, if the columns had nothing to do with one another.
    alone = np.diag(together)
    expected = np.outer(alone, alone) / len(numbers)
    ruled_out = (expected >= ENOUGH) & (together <= HARDLY * expected)
    return PairsSeen(pairs.first, pairs.edges, ordered, ~ruled_out)
