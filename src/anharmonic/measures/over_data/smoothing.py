"""From other rows' answers to a mean for each row, its error, and the error of the average.

Rows are cut into groups, and each group is left out in turn. A tree that never saw a group is
what it would have been without it, so that leaving groups out costs no further fits
(jackknife after bootstrap: Efron, 1992).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.reductions import Reduction, combined, picked
from anharmonic._core.statistics import Moments

BORROWED = 4.0
"""Degrees of freedom that the mean variance of all rows counts for in that of each."""
PACKETS = 10
"""Parts of the fits that are left out in turn, to see what so few of them add to the error."""

__all__ = [
    "Data",
    "Ensemble",
    "Linear",
    "Part",
    "Rows",
    "jackknife",
    "leave_out",
    "scores_of",
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


class Spread(Protocol):
    """How far one row's mean may be from what other data would have given."""

    def along(self, directions: Floats, without: Floats) -> tuple[Floats, Floats]:
        """Variances and degrees of freedom (rows,) along unit vectors (rows, columns).

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

    def along(self, directions: Floats, without: Floats) -> tuple[Floats, Floats]:
        """The jackknife's variance over groups, less what few trees add to it, and theirs."""
        fits = self.usable.sum(axis=0)
        lengths = np.einsum("brc,rc->br", self.predictions, directions)
        mean = (self.usable * lengths).sum(axis=0) / fits
        squares = (self.usable * (lengths - mean) ** 2).sum(axis=0)
        between = squares / np.maximum(fits - 1, 1)
        if self.halves:
            # Half-samples vary as the whole does (McCarthy, 1969).
            return between, np.maximum(fits - 1, 1)
        groups = without.shape[1]
        few = between / fits
        # A mean over half of the trees has twice the noise of one over all, which it shares with
        # it: each of the differences from the mean has `few`, and there are groups − 1 of them.
        over_groups = jackknife(without) - (groups - 1) * few
        return np.maximum(over_groups, 0.0) + few, np.full(len(few), groups - 1.0)


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

    def along(self, directions: Floats, without: Floats) -> tuple[Floats, Floats]:
        """That of a weighted mean of answers drawn independently, Σ w²·(f − mean)² / (1 − Σ w²)."""
        lengths = np.einsum("ec,ec->e", self.answers[self.column], directions[self.row])
        mean = np.bincount(self.row, self.weight * lengths, self.rows)
        squares = np.bincount(self.row, (self.weight * (lengths - mean[self.row])) ** 2, self.rows)
        concentration = np.bincount(self.row, self.weight**2, self.rows)
        free = np.maximum(1 / concentration - 1, 1e-9)
        return squares / np.maximum(1 - concentration, 1e-9), free


def sorted_sums(row: Integers, terms: Floats, rows: int) -> Floats:
    """Sums of each row's terms in the order of their size: the same bits in any order."""
    order = np.lexsort((terms, row))
    return np.asarray(np.bincount(row[order], terms[order], rows), dtype=np.float64)


def jackknife(values: Floats) -> Floats:
    """The variance of a statistic from its values with each group left out, (rows, groups)."""
    groups = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray((groups - 1) / groups * np.sum(centred**2, axis=1))


class Rows(NamedTuple):
    """Scores of all scored rows, and of the average."""

    values: Floats
    variances: Floats
    freedom: Floats
    signed: Floats
    outputs: Floats
    pseudo: Floats
    """Values (groups,) whose mean is the average of all scores and whose spread is its error."""


def leave_out(
    parts: Iterator[Part], answers: Floats, sampled_with: Integers, reduction: Reduction
) -> Rows:
    """Reduce deviations to scores, with the error of each and of their average.

    Parameters
    ----------
    parts
        Means over other rows, in the order of the scored rows.
    answers : (rows, columns)
        The model's, at the scored rows.
    sampled_with : (rows,)
        The group that each scored row is left out with.
    reduction
        From deviations to one number.
    """
    pieces: list[tuple[Floats, ...]] = []
    over_groups, over_packets = _Sums(), _Sums()
    for part in parts:
        outputs = answers[part.rows]
        centre = picked(reduction, outputs, outputs)
        deviation = centre - picked(reduction, outputs, part.mean)
        directions = _directions(reduction, outputs, part.mean)
        projected = np.einsum("rgc,rc->rg", part.without, directions)
        variances, freedom = part.spread.along(directions, projected)
        values = np.abs(combined(reduction, deviation, centre))
        pieces.append((values, variances, freedom, deviation, centre))
        group = sampled_with[part.rows][:, None]
        without = scores_of(reduction, outputs, centre, part.without)
        over_groups.add(without, group != np.arange(without.shape[1]))
        fewer = scores_of(reduction, outputs, centre, part.fewer)
        over_packets.add(fewer, np.ones(fewer.shape, dtype=bool))
    values, variances, freedom, signed, centres = map(np.concatenate, zip(*pieces, strict=True))
    average = float(values.mean())
    variances, freedom = _moderated(variances, freedom)
    size = np.bincount(sampled_with)
    within = np.bincount(sampled_with, values) / np.maximum(size, 1)
    # A row counts twice: with its own score and in those of rows near it. Were the two unrelated,
    # the variance would be twice that of independent scores.
    least = 2 * float(Moments.of(within[size > 0]).error) ** 2
    pseudo = _pseudo_values(over_groups.means, over_packets.means, average, least)
    return Rows(values, variances, freedom, signed, centres, pseudo)


def _moderated(variances: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Variances drawn towards the mean of all, as if `BORROWED` more degrees of freedom had it.

    Where answers change in steps, a row's neighbours often agree by chance, and would show no
    error at all (moderated variances: Smyth, 2004).
    """
    together = freedom + BORROWED
    return (freedom * variances + BORROWED * variances.mean()) / together, together


class _Sums:
    """Means over rows of scores (rows, choices), added up part by part."""

    def __init__(self) -> None:
        self.sums: Floats | None = None
        self.counts: Floats | None = None

    def add(self, scores: Floats, counted: NDArray[np.bool_]) -> None:
        sums, counts = (scores * counted).sum(axis=0), counted.sum(axis=0)
        self.sums = sums if self.sums is None else self.sums + sums
        self.counts = counts if self.counts is None else self.counts + counts

    @property
    def means(self) -> Floats:
        assert self.sums is not None
        assert self.counts is not None
        return np.asarray(self.sums / np.maximum(self.counts, 1))


def scores_of(reduction: Reduction, outputs: Floats, centre: Floats, means: Floats) -> Floats:
    """Scores (rows, choices) from means (rows, choices, columns)."""
    deviations = centre[:, None] - picked(reduction, outputs, means)
    centres = np.broadcast_to(centre[:, None], deviations.shape)
    return np.abs(combined(reduction, deviations, centres))


def _pseudo_values(without: Floats, fewer: Floats, average: float, least: float) -> Floats:
    """Tukey's pseudo-values of the average from its values without each group, (groups,).

    Their own mean would correct a bias; the average stays as it is. With so few fits, leaving a
    group out leaves half of them, which adds noise that is taken out again: each of the groups − 1
    differences has that of the average itself. `least` is a variance that the average surely has.
    """
    groups = len(without)
    pseudo = -(groups - 1) * (without - without.mean())
    variance = float(jackknife(without[None])[0])
    few = float(jackknife(fewer[None])[0]) if len(fewer) else 0.0
    if variance > 0:
        pseudo = pseudo * np.sqrt((max(variance - (groups - 1) * few, least) + few) / variance)
    return np.asarray(pseudo + average)


def _directions(reduction: Reduction, outputs: Floats, mean: Floats) -> Floats:
    """Vectors (rows, columns) along which a change of the mean changes the score, at that rate."""
    columns = outputs.shape[1]
    if columns == 1:
        return np.ones_like(outputs)
    if reduction == "predicted":
        return np.asarray(np.eye(columns)[outputs.argmax(axis=1)])
    if isinstance(reduction, int):
        return np.broadcast_to(np.eye(columns)[reduction], outputs.shape)
    deviation = outputs - mean
    length = np.sqrt(np.sum(deviation**2, axis=1, keepdims=True))
    unit = np.where(length > 0, deviation / np.where(length > 0, length, 1), 1 / np.sqrt(columns))
    if reduction == "angle":
        # An angle is a length over the distance it is seen from.
        size = np.sqrt(np.sum(outputs**2, axis=1, keepdims=True))
        return np.asarray(unit / np.where(size > 0, size, 1))
    return np.asarray(unit)
