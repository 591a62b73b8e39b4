"""From means over other rows to scores, with the error of each and of their average."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.reductions import Reduction, combined, picked
from anharmonic._core.statistics import Moments
from anharmonic.measures.over_data.smoothing import Part, jackknife

__all__ = ["Rows", "leave_out", "scores_of"]

BORROWED = 4.0
"""Degrees of freedom that the mean variance of all rows counts for in that of each."""


class Rows(NamedTuple):
    """Scores of all scored rows, and of the average."""

    values: Floats
    variances: Floats
    freedom: Floats
    drawn: Floats
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
        spreads = part.spread.along(directions, projected)
        values = np.abs(combined(reduction, deviation, centre))
        pieces.append((values, *spreads, deviation, centre))
        group = sampled_with[part.rows][:, None]
        without = scores_of(reduction, outputs, centre, part.without)
        over_groups.add(without, group != np.arange(without.shape[1]))
        fewer = scores_of(reduction, outputs, centre, part.fewer)
        over_packets.add(fewer, np.ones(fewer.shape, dtype=bool))
    values, variances, freedom, drawn, signed, centres = map(
        np.concatenate, zip(*pieces, strict=True)
    )
    average = float(values.mean())
    variances, freedom = _moderated(variances, freedom)
    size = np.bincount(sampled_with)
    within = np.bincount(sampled_with, values) / np.maximum(size, 1)
    # A row counts twice: with its own score and in those of rows near it. Were the two unrelated,
    # the variance would be twice that of independent scores.
    least = 2 * float(Moments.of(within[size > 0]).error) ** 2
    pseudo = _pseudo_values(over_groups.means, over_packets.means, average, least)
    return Rows(values, variances, freedom, drawn, signed, centres, pseudo)


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
