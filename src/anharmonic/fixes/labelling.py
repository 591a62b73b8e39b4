"""Which rows of a pool to label next: those that say most about rows the model is unsure of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.fixes.copies import comparable
from anharmonic.fixes.likeness import most_telling
from anharmonic.fixes.refitting import Asked
from anharmonic.fixes.rows import Data, with_columns_of
from anharmonic.fixes.scoring import class_positions, gives_classes, shares_of

__all__ = ["Uncertain", "choose_to_label", "uncertain_rows"]

TREES, SMALLEST_LEAF = 100, 2
SURE, MOSTLY = 1e-6, 0.5
"""Rows with less uncertainty than the first are sure; a model with more of them than the second
share is sure of nearly everything."""
AMONG = 2000
"""Rows of a pool among which is chosen at a time, and labelled rows they are held against, at most:
more are drawn at random. All are compared with all."""
AT_A_TIME = 500
"""Rows that are chosen among the same ones, at most."""


class Uncertain(NamedTuple):
    """How unsure a model is about rows, and what makes rows alike.

    Parameters
    ----------
    values : (rows,)
        From 0 on.
    leaves : (rows, trees)
        Where each row falls in the trees of a forest over labelled rows.
    known : (labelled, trees)
        Where these fall.
    """

    values: Floats
    leaves: Integers
    known: Integers


def uncertain_rows(asked: Asked, rows: object, labelled: Data, seed: int) -> Uncertain:
    """How unsure a model is about rows.

    For classes 1 less the margin between the two largest shares. A model that is sure of nearly
    everything, as trees that were grown in full and nearest rows are, says nothing by that: then
    the shares are the mean of its own and those of a forest over the labelled rows. For numbers it
    is the spread of the model's answer and the forest's around their mean. Texts alone have no
    forest: classes count by their margins, and no two rows are alike.

    Parameters
    ----------
    asked
        The model's answers at the rows.
    rows, labelled
        The rows, and rows whose labels are known.
    seed
        Of the forest.
    """
    rows = with_columns_of(labelled.rows, rows, "pool")
    if len(labelled) > AMONG:
        draw = generator(seed, Stream.LABEL_ROWS, 0)
        labelled = labelled.take(np.sort(draw.choice(len(labelled), AMONG, replace=False)))
    encoded = comparable(rows, labelled.rows)
    if encoded is None:
        return _of_texts(asked)
    features, count = encoded.for_trees(), len(asked.outputs)
    forest = _forest(gives_classes(asked), seed).fit(features[count:], labelled.labels)
    leaves = np.asarray(forest.apply(features), dtype=np.int64)
    values = _values(asked, forest, features[:count])
    return Uncertain(values, leaves[:count], leaves[count:])


def _of_texts(asked: Asked) -> Uncertain:
    """What the model says of them is all there is."""
    if not gives_classes(asked):
        raise PointsError(
            "how sure numbers are is told by rows like them, and texts that differ in every row "
            "have none: give vectors of the texts as rows"
        )
    apart = np.arange(len(asked.outputs))[:, None]
    return Uncertain(_closeness(shares_of(asked)), apart, apart[:0])


def _forest(classes: bool, seed: int) -> Any:
    needs("sklearn", "sklearn")
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classes else RandomForestRegressor
    state = int(generator(seed, Stream.LABEL_FOREST).integers(1 << 31))
    return kind(TREES, min_samples_leaf=SMALLEST_LEAF, random_state=state)


def _values(asked: Asked, forest: Any, features: Floats) -> Floats:
    if not gives_classes(asked):
        return _spread(asked.outputs[:, 0], forest, features)
    shares = shares_of(asked)
    values = _closeness(shares)
    if float((values < SURE).mean()) <= MOSTLY:
        return values
    # In the model's columns; a class that it does not know has none.
    column = class_positions(forest.classes_, asked.classes, shares.shape[1])
    others = np.zeros_like(shares)
    others[:, column[column >= 0]] = forest.predict_proba(features)[:, column >= 0]
    return _closeness((shares + others) / 2)


def _closeness(shares: Floats) -> Floats:
    """1 less the margin between the two largest shares, (rows,); 0 where there is one class."""
    if shares.shape[1] < 2:
        return np.zeros(len(shares))
    largest = np.sort(shares, axis=1)[:, -2:]
    return np.asarray(1 - (largest[:, 1] - largest[:, 0]))


def _spread(answers: Floats, forest: Any, features: Floats) -> Floats:
    """How far trees and the model are apart, (rows,)."""
    of_trees = np.stack([tree.predict(features) for tree in forest.estimators_])
    middle = of_trees.mean(axis=0)
    # The trees have half of the weight: their variance and that between them and the model.
    return np.asarray(np.sqrt(of_trees.var(axis=0) / 2 + (answers - middle) ** 2 / 4))


def choose_to_label(uncertain: Uncertain, count: int, seed: int) -> Integers:
    """Rows to label, those that say most first.

    Each is the row whose label would tell most about rows like it, those that have been chosen
    among them, weighted by how unsure the model is there: so unsure rows are chosen where there
    are many of their kind, and no two that say the same.

    Parameters
    ----------
    uncertain
        From `uncertain_rows`.
    count
        How many; all, the least sure first, if there are no more.
    seed
        Of the rows among which is chosen, where there are many.

    Examples
    --------
    >>> leaves = np.array([[1], [1], [2], [3]])
    >>> unsure = Uncertain(np.array([0.9, 0.8, 0.1, 0.7]), leaves, leaves[:0])
    >>> choose_to_label(unsure, 2, seed=0).tolist()
    [0, 3]
    """
    values, leaves, known = uncertain
    if count >= len(values):
        return np.argsort(-values, kind="stable")
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < count:
        draw = generator(seed, Stream.LABEL_ROWS, 1, len(chosen))
        among = _some(np.setdiff1d(np.arange(len(values)), chosen), draw)
        seen = np.concatenate([known, leaves[chosen]])
        seen = seen[_some(np.arange(len(seen)), draw)]
        more = min(count - len(chosen), AT_A_TIME)
        # A weight of 0 everywhere would leave the choice to the rows' order.
        best = most_telling(values[among] + SURE, leaves[among], seen, more)
        chosen = np.concatenate([chosen, among[best]])
    return chosen


def _some(rows: Integers, draw: np.random.Generator) -> Integers:
    """As many as can be compared, in their order."""
    return rows if len(rows) <= AMONG else np.sort(draw.choice(rows, AMONG, replace=False))
