"""Which rows are copies, an order that no permutation changes, and groups to leave out.

Everything random is drawn along that order, so that the same rows get the same scores to the bit
however they are sorted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import hashed
from anharmonic._core.streams import Stream

__all__ = ["GROUPS", "Distinct", "cut_groups", "distinct_rows", "mean_answers", "row_keys"]

GROUPS = 20
"""Groups of rows that are left out in turn, for errors: an even number, since a fit takes half."""


class Distinct(NamedTuple):
    """Rows without their copies, in the order of a hash of their cells.

    Parameters
    ----------
    keys : (distinct,)
        The hashes, ascending.
    first : (distinct,)
        The number of one row of each kind.
    of_row : (rows,)
        Which distinct row each row is.
    copies : (distinct,)
        How many rows are it.
    """

    keys: Integers
    first: Integers
    of_row: Integers
    copies: Integers

    def __len__(self) -> int:
        return len(self.keys)


def row_keys(words: Integers, seed: int) -> Integers:
    """A hash of each row's cells, (rows,): the same for copies."""
    return hashed(words, seed, Stream.ROW_ORDER)


def distinct_rows(words: Integers, seed: int) -> Distinct:
    """Of cells as integers, (rows, columns); rows with equal hashes count as copies."""
    keys, first, of_row, count = np.unique(
        row_keys(words, seed),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    return Distinct(keys, first, of_row.reshape(-1), count)


def cut_groups(distinct: int) -> Integers:
    """The group of each distinct row: pieces of nearly equal size along the order of hashes."""
    groups = min(GROUPS, distinct - distinct % 2)
    return np.arange(distinct) * groups // distinct


def mean_answers(answers: Floats, rows: Distinct) -> Floats:
    """The mean answer (distinct, columns) of each distinct row's copies, from (rows, columns)."""
    chosen = answers[rows.first]
    if len(rows) == len(answers):
        return chosen
    differing = np.unique(rows.of_row[(answers != chosen[rows.of_row]).any(axis=1)])
    if not len(differing):
        return chosen
    # Copies that got different answers: summed in the order of size, which no permutation changes.
    some = np.flatnonzero(np.isin(rows.of_row, differing))
    for column in range(answers.shape[1]):
        order = some[np.lexsort((answers[some, column], rows.of_row[some]))]
        starts = np.searchsorted(rows.of_row[order], differing)
        sums = np.add.reduceat(answers[order, column], starts)
        chosen[differing, column] = sums / rows.copies[differing]
    return chosen
