"""Rows of a source of which every neighbour is asked for, because there are few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic._core.reductions import Reduction
from anharmonic.errors import PointsError
from anharmonic.measures.setup.settling import Setup
from anharmonic.measures.setup.sphere import Sphere
from anharmonic.measures.setup.table_rows import complete_ball
from anharmonic.regions.tables.listing import list_neighbours

__all__ = ["listed_spheres"]

WIDTHS = (64, 512, 4096)
"""Neighbours that are asked for around rows that have more than those of the sample."""


def listed_spheres(
    setup: Setup, usual: int, reduction: Reduction
) -> Iterator[tuple[Setup, Sphere, Integers]]:
    """Setups and spheres with every neighbour there is, and the rows of the region they are of.

    How many are asked for is a row's own matter, so that it has the same score beside any others.

    Parameters
    ----------
    setup
        Around whose rows.
    usual
        Neighbours that are asked for around each row that has no more.
    reduction
        How a vector of outputs becomes a number.
    """
    table = Sphere.of(setup, complete_ball(usual), reduction).table
    assert table is not None
    listed = list_neighbours(table.law, table.values, table.donors, setup.radius, WIDTHS[-1])
    if listed is None:
        raise PointsError(
            f"a row has more than {WIDTHS[-1]:,} neighbours, and those of the sample have few: "
            "give a reference= that has more of what the rows have"
        )
    neighbours, shares = listed
    counts, least = np.count_nonzero(shares, axis=1), 0
    for width in (usual, *(size for size in WIDTHS if size > usual)):
        rows = np.flatnonzero((counts > least) & (counts <= width))
        least = width
        if len(rows):
            here = setup.at(setup.region.rows(rows))
            # Filled up with the row itself at weight 0.
            wide = np.repeat(table.values[rows][:, None, :], width, axis=1)
            weights = np.zeros(wide.shape[:2])
            known = min(width, neighbours.shape[1])
            wide[:, :known], weights[:, :known] = neighbours[rows, :known], shares[rows, :known]
            sphere = Sphere.of(here, complete_ball(width), reduction)
            yield here, replace(sphere, listed=(wide, weights)), rows
