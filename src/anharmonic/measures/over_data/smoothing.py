"""From other rows' answers to a mean for each row, and the same with groups of rows left out.

Rows are cut into groups, and each group is left out in turn. A tree that never saw a group is
what it would have been without it, so that leaving groups out costs no further fits
(jackknife after bootstrap: Efron, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from anharmonic._core.protocols import Floats, Integers

PACKETS = 10
"""Parts of the fits that are left out in turn, to see what so few of them add to the error."""

__all__ = [
    "Data",
    "Ensemble",
    "Linear",
    "Part",
    "Spreads",
    "jackknife",
    "sorted_sums",
]


@dataclass(frozen=True)
class Data:
    """Distinct reference rows and the rows to be scored, both in the order of their hashes.

    Parameters
    ----------
    features : (reference rows, features)
        As trees or distances read them.
    answers : (reference rows, columns)
        The model's.
    count, group, number : (reference rows,)
        How many copies each stands for, which group it is left out with, and the number of one
        of its copies as the user has them.
    scored : (rows, features)
        The rows to be scored.
    own : (rows,)
        Which reference row each of them is; −1 where it is none.
    seed
        Of all that is random.
    """

    features: Floats
    answers: Floats
    count: Integers
    group: Integers
    number: Integers
    scored: Floats
    own: Integers
    seed: int

    @property
    def groups(self) -> int:
        return int(self.group.max()) + 1

    @property
    def own_group(self) -> Integers:
        """The group of each scored row; −1 where it is no reference row."""
        return np.where(self.own < 0, -1, self.group[self.own])


class Part(NamedTuple):
    """Some scored rows' means over other rows.

    Parameters
    ----------
    rows
        Which of the scored rows.
    mean : (rows, columns)
        Of the other rows' answers.
    without : (rows, groups, columns)
        The same with each group left out.
    fewer : (rows, packets, columns)
        The same with each packet of fits left out; none where nothing was drawn.
    spread
        Where a row's own error comes from.
    """

    rows: slice
    mean: Floats
    without: Floats
    fewer: Floats
    spread: Spread


class Spreads(NamedTuple):
    """Of each row's mean, (rows,): its variance, the degrees of freedom of that, and `drawn`, the
    part of it that more fits would remove.
    """

    variances: Floats
    freedom: Floats
    drawn: Floats


class Spread(Protocol):
    """How far one row's mean may be from what other data would have given."""

    def along(self, directions: Floats, without: Floats) -> Spreads:
        """How the mean spreads along vectors (rows, columns).

        `without` holds the reduced scores with each group left out, (rows, groups).
        """


class Ensemble(NamedTuple):
    """Predictions of fits to half of the groups each.

    Parameters
    ----------
    predictions : (fits, rows, columns)
        Of every fit for every row.
    usable : (fits, rows)
        1 where a fit did not see the row's own group.
    members : (fits, groups)
        Which groups each was fitted to.
    halves
        Whether a fit is as good as the whole, so that the spread between halves is the error.
    """

    predictions: Floats
    usable: Floats
    members: Floats
    halves: bool

    def part(self, rows: slice) -> Part:
        """Means over the usable fits, over those that did not see a group, over fewer fits."""
        weighted = self.usable[:, :, None] * self.predictions
        mean = weighted.sum(axis=0) / self.usable.sum(axis=0)[:, None]
        # Pairs of complementary halves stay together.
        packets = min(PACKETS, len(self.members) // 2)
        packet = np.arange(len(self.members)) // 2 % packets
        others = (packet[:, None] != np.arange(packets)).astype(np.float64)
        return Part(
            rows,
            mean,
            self._means_of(weighted, 1.0 - self.members, mean),
            self._means_of(weighted, others, mean),
            self,
        )

    def _means_of(self, weighted: Floats, chosen: Floats, mean: Floats) -> Floats:
        """Means (rows, choices, columns) over usable fits that are `chosen` (fits, choices)."""
        count = (self.usable.T @ chosen)[..., None]
        # (rows, columns, fits) @ (fits, choices), to (rows, choices, columns).
        sums = (weighted.transpose(1, 2, 0) @ chosen).transpose(0, 2, 1)
        return np.where(count > 0, sums / np.maximum(count, 1), mean[:, None])

    def along(self, directions: Floats, without: Floats) -> Spreads:
        """The jackknife's variance over groups, less what few trees add to it, and theirs."""
        fits = self.usable.sum(axis=0)
        lengths = np.einsum("brc,rc->br", self.predictions, directions)
        mean = (self.usable * lengths).sum(axis=0) / fits
        squares = (self.usable * (lengths - mean) ** 2).sum(axis=0)
        between = squares / np.maximum(fits - 1, 1)
        if self.halves:
            # Half-samples vary as the whole does (McCarthy, 1969).
            return Spreads(between, np.maximum(fits - 1, 1), between / fits)
        groups = without.shape[1]
        few = between / fits
        # A mean over half of the trees has twice the noise of one over all, which it shares with
        # it: each of the differences from the mean has `few`, and there are groups − 1 of them.
        over_groups = jackknife(without) - (groups - 1) * few
        variances = np.maximum(over_groups, 0.0) + few
        return Spreads(variances, np.full(len(few), groups - 1.0), few)


class Linear(NamedTuple):
    """Weights as a sparse matrix's rows, end to end.

    Parameters
    ----------
    row, column, weight : (entries,)
        The scored row (from 0 in this part), the reference row and its weight.
    answers, group
        Of the reference rows.
    rows, groups
        How many of each.
    """

    row: Integers
    column: Integers
    weight: Floats
    answers: Floats
    group: Integers
    rows: int
    groups: int

    def part(self, rows: slice) -> Part:
        """Weighted means, and those with a group's weights shared out among the others."""
        columns = self.answers.shape[1]
        place = self.row * self.groups + self.group[self.column]
        size = self.rows * self.groups
        mass = np.bincount(place, self.weight, size).reshape(self.rows, self.groups)
        sums = np.empty((self.rows, self.groups, columns))
        mean = np.empty((self.rows, columns))
        for column in range(columns):
            terms = self.weight * self.answers[self.column, column]
            sums[..., column] = np.bincount(place, terms, size).reshape(self.rows, self.groups)
            mean[:, column] = sorted_sums(self.row, terms, self.rows)
        rest = 1.0 - mass
        kept = rest > 1e-9
        without = np.where(
            kept[..., None],
            (mean[:, None] - sums) / np.where(kept, rest, 1.0)[..., None],
            mean[:, None],
        )
        return Part(rows, mean, without, np.empty((self.rows, 0, columns)), self)

    def along(self, directions: Floats, without: Floats) -> Spreads:
        """That of a weighted mean of answers drawn independently, Σ w²·(f − mean)² / (1 − Σ w²)."""
        lengths = np.einsum("ec,ec->e", self.answers[self.column], directions[self.row])
        mean = np.bincount(self.row, self.weight * lengths, self.rows)
        squares = np.bincount(self.row, (self.weight * (lengths - mean[self.row])) ** 2, self.rows)
        concentration = np.bincount(self.row, self.weight**2, self.rows)
        free = np.maximum(1 / concentration - 1, 1e-9)
        variances = squares / np.maximum(1 - concentration, 1e-9)
        return Spreads(variances, free, np.zeros(self.rows))


def sorted_sums(row: Integers, terms: Floats, rows: int) -> Floats:
    """Sums of each row's terms in the order of their size: the same bits in any order."""
    order = np.lexsort((terms, row))
    return np.asarray(np.bincount(row[order], terms[order], rows), dtype=np.float64)


def jackknife(values: Floats) -> Floats:
    """The variance of a statistic from its values with each group left out, (rows, groups)."""
    groups = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray((groups - 1) / groups * np.sum(centred**2, axis=1))
