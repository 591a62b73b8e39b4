"""Rows that a proposal had no part of.

A reference that can be fitted to anew is cut into folds: everything that a proposal needs is
found on the other folds, and measured on the one that was left out. Copies of a row are in one
fold, so that nothing is measured on a row that was fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import InputError
from anharmonic.fixes.copies import keys_of, numbered
from anharmonic.fixes.rows import Data

__all__ = ["FEWEST", "Fold", "cut_folds", "random_half"]

FEWEST = 30
"""Held-out rows below which nothing is measured."""


class Fold(NamedTuple):
    """Rows to find and fit on, and rows to measure on, with their numbers in the reference.

    `number` tells folds apart. The numbers of held-out rows that are no reference rows start
    after the reference's.
    """

    number: int
    found_on: Data
    held_out: Data
    found_rows: Integers
    held_rows: Integers


def cut_folds(reference: Data, held_out: Data | None, folds: int, seed: int) -> Sequence[Fold]:
    """Folds of the reference, or the one that was given: fitted to the reference, measured on
    rows that are held out.
    """
    every = np.arange(len(reference))
    if held_out is not None:
        _check(len(held_out))
        further = len(reference) + np.arange(len(held_out))
        return [Fold(0, reference, held_out, every, further)]
    _check(len(reference))
    fold = _fold_of_each(reference, folds, seed)
    parts = []
    for number in range(folds):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        parts.append(Fold(number, reference.take(inside), reference.take(outside), inside, outside))
    return parts


def _check(rows: int) -> None:
    if rows < FEWEST:
        raise InputError(
            f"{rows} rows to measure on: proposals need at least {FEWEST}, and say little below "
            "some hundred"
        )


def _fold_of_each(data: Data, folds: int, seed: int) -> Integers:
    """Folds along a random order of distinct rows within each class, (rows,)."""
    texts = np.array([str(label) for label in data.labels.tolist()])
    numbers = data.labels.dtype.kind == "f"
    # Copies share a key, and with it a place in the order, whatever their labels.
    distinct, first, of_row = np.unique(keys_of(data, seed), return_index=True, return_inverse=True)
    if len(distinct) < folds:
        raise InputError(
            f"the reference has {len(distinct):,} distinct rows and cannot be cut into {folds} "
            "folds, as copies of a row are in one: give fewer folds=, or held_out=(rows, labels)"
        )
    shuffled = generator(seed, Stream.FIX_FOLDS).permutation(len(distinct))
    strata = np.zeros(len(distinct)) if numbers else np.unique(texts[first], return_inverse=True)[1]
    order = np.lexsort((shuffled, strata))
    fold = np.empty(len(distinct), dtype=np.int64)
    fold[order] = np.arange(len(distinct)) % folds
    return fold[of_row.reshape(-1)]


def random_half(keys: Integers, seed: int, *address: int) -> tuple[Integers, Integers]:
    """Two halves of rows at random, each in ascending order; equal keys, of copies, are in one."""
    of_row = numbered(keys)
    order = generator(seed, Stream.FIX_HALVES, *address).permutation(
        int(of_row.max(initial=-1)) + 1
    )
    in_first = np.isin(of_row, order[: len(order) // 2])
    return np.flatnonzero(in_first), np.flatnonzero(~in_first)
