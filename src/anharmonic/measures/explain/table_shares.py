"""What each column of a table does alone: all values it may take, and what the model says there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic import balls
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.reductions import picked
from anharmonic.measures.setup.batching import ModelCaller, answers
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.sphere import Sphere, around
from anharmonic.measures.setup.table_rows import TableRows, number_reach
from anharmonic.regions.tables.moving import alternatives

__all__ = ["Alternatives", "ask_alternatives", "table_shares"]


class Alternatives(NamedTuple):
    """Rows that differ from a row in one site, and what the model says there.

    - `rows`, `sites` (moves,): whose they are, as places among the rows asked for, and what moved.
    - `weights` (moves,): how likely each is, given that the site moves.
    - `states` (moves, columns): coded.
    - `outputs` (moves, columns): the model's answers; `centres` (rows, columns) those at the rows.
    """

    rows: Integers
    sites: Integers
    weights: Floats
    states: Floats
    outputs: Floats
    centres: Floats
    queries: int


def ask_alternatives(caller: ModelCaller, table: TableRows, rows: Integers) -> Alternatives:
    """Call the model wherever one site alone can lead the rows; what stays costs nothing."""
    law, values = table.law, table.values[rows]
    donors = table.donors(rows)
    found: list[tuple[Integers, Integers, Floats, Floats]] = []
    for site in range(len(law.sites)):
        if law.sites[site].movement == "edit":
            continue
        ends, weights = alternatives(law, values, donors, site)
        moved = (law.squares(values[:, None, :], ends) > 0).any(axis=-1)
        owner, place = np.nonzero(moved)
        ended = ends[owner, place]
        # Several donors may have the same value: asked once, with the sum of their weights.
        keyed = np.column_stack([owner, np.nan_to_num(ended, nan=-1e300)])
        _, first, of_move = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
        summed = np.zeros(len(first))
        np.add.at(summed, of_move.reshape(-1), weights[place])
        found.append((owner[first], np.full(len(first), site), summed, ended[first]))
    if found:
        owners, sites, weights, states = (
            np.concatenate([part[item] for part in found]) for item in range(4)
        )
    else:
        owners = sites = np.empty(0, dtype=np.int64)
        weights, states = np.empty(0), np.empty((0, values.shape[1]))
    asked = np.concatenate([values, states])
    whose = np.concatenate([rows, rows[owners]])
    outputs = answers(caller, asked[:, None, :], whose)[:, 0]
    centres, ended_outputs = outputs[: len(rows)], outputs[len(rows) :]
    return Alternatives(owners, sites, weights, states, ended_outputs, centres, len(asked))


def table_shares(sphere: Sphere, rows: Integers) -> tuple[Floats, int]:
    """Each column's part of the deviation (rows, columns, outputs), and the queries it took.

    Of a number its second difference, over how many numbers there are; of any other column how
    likely it moves, times the mean change where it alone does. They add up to the deviation but
    for what columns do together.
    """
    table = sphere.table
    assert table is not None
    law = table.law
    asked = ask_alternatives(sphere.caller, table, rows)
    centre = picked(sphere.reduction, asked.centres, asked.centres)
    own = picked(sphere.reduction, asked.centres[asked.rows], asked.outputs)
    shares = np.zeros((len(rows), len(law.kinds), centre.shape[-1]))
    chances = law.chances(sphere.radius)
    parts = (centre[asked.rows] - own) * (chances[asked.sites] * asked.weights)[:, None]
    for site, moved in enumerate(law.sites):
        mine = asked.sites == site
        for column in moved.columns:
            np.add.at(shares[:, column], asked.rows[mine], parts[mine] / len(moved.columns))
    numbers = law.numbers
    queries = asked.queries
    if len(numbers):
        half = len(numbers)
        reach = number_reach(law, balls.cross(half), sphere.radius, sphere.seed)
        start = table.values[rows]
        moved_points, _ = around(reach, start[:, numbers], rows, [Segment(0, 0, half)])
        points = np.repeat(start[:, None, :], 2 * half, axis=1)
        points[..., numbers] = moved_points
        outputs = answers(sphere.caller, points, rows)
        beside = picked(sphere.reduction, asked.centres, outputs)
        bends = (centre[:, None] - (beside[:, :half] + beside[:, half:]) / 2) / half
        shares[:, numbers] += bends
        queries += len(rows) * 2 * half
    return shares, queries
