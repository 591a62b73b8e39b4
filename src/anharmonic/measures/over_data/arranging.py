"""Rows and answers in an order that no permutation changes, for weights to be fitted or given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic.errors import PointsError
from anharmonic.measures.over_data.distinct import cut_groups, distinct_rows, mean_answers
from anharmonic.measures.over_data.encoding import Encoded
from anharmonic.measures.over_data.nearest import checked_matrix, given_parts
from anharmonic.measures.over_data.recorded import Answered
from anharmonic.measures.over_data.smoothing import Data, Part
from anharmonic.measures.over_data.weights import Boosted, Forest, Given, Weights

__all__ = ["arrange", "arrange_given", "check_distinct", "groups_of_scored"]


def arrange(
    encoded: Encoded, rows: Answered, known: Answered, weights: Weights, seed: int
) -> tuple[Data, Integers]:
    """The data in an order that no permutation changes, and that order of the scored rows."""
    scored, words = len(rows.region), encoded.words()
    reference = slice(0, scored) if known is rows else slice(scored, None)
    distinct = distinct_rows(words[reference], seed)
    check_distinct(len(distinct))
    tree_like = isinstance(weights, Forest | Boosted)
    features = encoded.for_trees() if tree_like else encoded.for_distances()
    mine = distinct_rows(words[:scored], seed)
    # Which reference row each scored one is: both are numbered by the same hash of their cells.
    position = np.minimum(np.searchsorted(distinct.keys, mine.keys), len(distinct) - 1)
    own = np.where(distinct.keys[position] == mine.keys, position, -1)
    # Copies stand side by side, in the order of their answers.
    order = np.lexsort((*rows.answers.T[::-1], mine.of_row))
    data = Data(
        features=features[reference][distinct.first],
        answers=mean_answers(known.answers, distinct),
        count=distinct.copies,
        group=cut_groups(len(distinct)),
        number=distinct.first,
        scored=features[:scored][order],
        own=own[mine.of_row[order]],
        seed=seed,
    )
    return data, order


def arrange_given(
    weights: Given, encoded: Encoded, rows: Answered, known: Answered, seed: int
) -> tuple[Data, Integers, Iterator[Part]]:
    """The same for a matrix, which speaks of every row by itself, copies or not."""
    scored, itself = len(rows.region), known is rows
    words = encoded.words()
    matrix = checked_matrix(weights.matrix, scored, len(known.region), itself)
    mine, other = (distinct_rows(part, seed) for part in (words[:scored], words[scored:]))
    other = mine if itself else other
    check_distinct(len(other))
    order = np.lexsort((*rows.answers.T[::-1], mine.of_row))
    columns = order if itself else np.lexsort((*known.answers.T[::-1], other.of_row))
    arranged = matrix[order][:, columns]
    arranged.sort_indices()
    data = Data(
        features=np.empty((len(columns), 0)),
        answers=known.answers[columns],
        count=np.ones(len(columns), dtype=np.int64),
        group=cut_groups(len(other))[other.of_row[columns]],
        number=columns,
        scored=np.empty((scored, 0)),
        own=np.arange(scored) if itself else np.full(scored, -1),
        seed=seed,
    )
    return data, order, given_parts(arranged, data)


def groups_of_scored(data: Data) -> Integers:
    """The group that each scored row is left out with: its own, or one by its place."""
    by_place = cut_groups(max(len(data.own), 2))[: len(data.own)] % data.groups
    return np.where(data.own < 0, by_place, data.own_group)


def check_distinct(count: int) -> None:
    """Refuse so few rows that none can be left out."""
    if count < 4:
        raise PointsError(f"only {count} rows differ: at least 4 are needed to compare them")
