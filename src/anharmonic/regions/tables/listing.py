"""Every neighbour there is, with its weight: where columns have few values that is no long list."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.regions.tables.moving import Movers
from anharmonic.regions.tables.neighbourhood import TableNeighbourhood

__all__ = ["list_neighbours"]

TRIED = 8
"""Rows that are tried first: mostly one of them shows already that there are too many."""


def list_neighbours(
    law: TableNeighbourhood,
    values: Floats,
    donors_of: Callable[[Integers], Integers],
    radius: float,
    most: int,
) -> tuple[Floats, Floats] | None:
    """All neighbours of coded rows (rows, columns) and how likely each is, where they are few.

    Parameters
    ----------
    law
        How rows move; none of them by a ball or an edit.
    values, donors_of
        The rows, and from row numbers to the reference rows of each: (rows, sites, count).
    radius
        How far.
    most
        Neighbours per row that are still few.

    Returns
    -------
    (rows, most at one row, columns), (rows, most at one row)
        Neighbours, the row itself among them, and weights that sum to 1; rows with fewer are
        filled up with themselves at weight 0. None where a row has more than `most`.
    """
    if len(law.numbers) or any(site.movement == "edit" for site in law.sites):
        return None
    first = np.arange(min(TRIED, len(values)))
    if _listed(law, values[first], donors_of(first), radius, most) is None:
        return None
    listed = _listed(law, values, donors_of(np.arange(len(values))), radius, most)
    if listed is None:
        return None
    states, owners, weights = listed
    counts = np.bincount(owners, minlength=len(values))
    place = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    neighbours = np.repeat(values[:, None, :], counts.max(), axis=1)
    shares = np.zeros(neighbours.shape[:2])
    neighbours[owners, place], shares[owners, place] = states, weights
    return neighbours, shares


def _listed(
    law: TableNeighbourhood, values: Floats, donors: Integers, radius: float, most: int
) -> tuple[Floats, Integers, Floats] | None:
    """States, the row each belongs to (ascending), and weights; None where they are many.

    Site by site, as `move` goes: every state so far stays, or takes after one of the donors.
    """
    chances = law.chances(radius)
    states, owners, weights = values, np.arange(len(values)), np.ones(len(values))
    order = [
        number
        for movements in (("redraw", "gap"), ("step",))
        for number, site in enumerate(law.sites)
        if site.movement in movements and chances[number] > 0
    ]
    for number in order:
        count = donors.shape[2]
        parts = [(states, owners, weights * (1 - chances[number]))]
        for donor in range(count):
            for side in (0.25, 0.75):
                movers = Movers(law, states, 1, donors[owners])
                uniforms = np.ones((len(law.sites), len(states)))
                uniforms[number] = chances[number] * (donor + side) / count
                movers.move(uniforms, chances, [number])
                parts.append((movers.ends(), owners, weights * chances[number] / (2 * count)))
        states, owners, weights = _merged(
            *(np.concatenate([part[item] for part in parts]) for item in range(3))
        )
        if np.bincount(owners).max() > most:
            return None
    return states, owners, weights


def _merged(states: Floats, owners: Integers, weights: Floats) -> tuple[Floats, Integers, Floats]:
    """Equal states of one row as one, with the sum of their weights; none of weight 0."""
    likely = weights > 0
    states, owners, weights = states[likely], owners[likely], weights[likely]
    # One zero, and NaN as a number that no cell has, so that equal cells are equal.
    keys = np.column_stack([owners, np.nan_to_num(states + 0.0, nan=-1e300)])
    _, first, of_state = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    summed = np.zeros(len(first))
    np.add.at(summed, of_state.reshape(-1), weights)
    return states[first], owners[first], summed
