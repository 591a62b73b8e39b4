"""Which rows of a pool to label next: where the model is least sure, spread out so that no two of
them say the same.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.fixes.copies import comparable
from anharmonic.fixes.refitting import Asked
from anharmonic.fixes.rows import Data, with_columns_of
from anharmonic.fixes.scoring import class_positions, gives_classes, shares_of

__all__ = ["Uncertain", "choose_to_label", "uncertain_rows"]

TREES = 100
SURE, MOSTLY = 1e-6, 0.5
"""Rows with less uncertainty than the first are sure; a model with more of them than the second
share is sure of nearly everything."""
CANDIDATES = 5
"""Unsure rows among which as many as asked for are spread out, per row that is asked for."""
ROUNDS = 20
"""Of the clustering, which need not converge."""


class Uncertain(NamedTuple):
    """How unsure rows are, (rows,), from 0 on, and the rows as numbers, (rows, features)."""

    values: Floats
    features: Floats


def uncertain_rows(asked: Asked, rows: object, labelled: Data, seed: int) -> Uncertain:
    """How unsure a model is about rows.

    For classes 1 less the margin between the two largest shares. A model that is sure of nearly
    everything, as trees that were grown in full and nearest rows are, says nothing by that: then
    the shares are the mean of its own and those of a forest over the labelled rows. For numbers it
    is the spread of the model's answer and the forest's around their mean. Texts alone have no
    forest and no distances: classes count by their margins.

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
    encoded = comparable(rows, labelled.rows)
    if encoded is None:
        # Texts alone: what the model says of them is all there is.
        return Uncertain(_own_uncertainty(asked), np.zeros((len(asked.outputs), 1)))
    count = len(asked.outputs)
    if not gives_classes(asked):
        values = _spread(asked.outputs[:, 0], encoded.for_trees(), labelled.labels, seed)
    else:
        shares = shares_of(asked)
        values = _closeness(shares)
        if float((values < SURE).mean()) > MOSTLY:
            others = _forest_shares(asked, encoded.for_trees(), labelled.labels, seed)
            values = _closeness((shares + others) / 2)
    return Uncertain(np.asarray(values), encoded.for_distances()[:count])


def _own_uncertainty(asked: Asked) -> Floats:
    if not gives_classes(asked):
        raise PointsError(
            "how sure numbers are is told by rows like them, and texts that differ in every row "
            "have none: give vectors of the texts as rows"
        )
    return _closeness(shares_of(asked))


def _closeness(shares: Floats) -> Floats:
    """1 less the margin between the two largest shares, (rows,); 0 where there is one class."""
    if shares.shape[1] < 2:
        return np.zeros(len(shares))
    largest = np.sort(shares, axis=1)[:, -2:]
    return np.asarray(1 - (largest[:, 1] - largest[:, 0]))


def _forest_shares(asked: Asked, features: Floats, labels: Array, seed: int) -> Floats:
    """Shares of a forest over labelled rows, which are below the others, in the model's columns."""
    needs("sklearn", "sklearn")
    from sklearn.ensemble import RandomForestClassifier

    count, columns = len(asked.outputs), shares_of(asked).shape[1]
    forest = RandomForestClassifier(TREES, random_state=_forest_state(seed))
    forest.fit(features[count:], labels)
    column = class_positions(forest.classes_, asked.classes, columns)
    shares = np.zeros((count, columns))
    shares[:, column[column >= 0]] = forest.predict_proba(features[:count])[:, column >= 0]
    return shares


def _spread(answers: Floats, features: Floats, labels: Array, seed: int) -> Floats:
    """How far trees and the model are apart, (rows,): labelled rows are below the others."""
    needs("sklearn", "sklearn")
    from sklearn.ensemble import RandomForestRegressor

    count = len(answers)
    forest = RandomForestRegressor(TREES, random_state=_forest_state(seed))
    forest.fit(features[count:], labels)
    of_trees = np.stack([tree.predict(features[:count]) for tree in forest.estimators_])
    middle = of_trees.mean(axis=0)
    # The trees have half of the weight: their variance and that between them and the model.
    return np.asarray(np.sqrt(of_trees.var(axis=0) / 2 + (answers - middle) ** 2 / 4))


def _forest_state(seed: int) -> int:
    return int(generator(seed, Stream.LABEL_FOREST).integers(1 << 31))


def choose_to_label(uncertain: Uncertain, count: int, seed: int) -> Integers:
    """Rows to label, the least sure first: one of each cluster of unsure rows.

    The `CANDIDATES` · count least sure rows are clustered, each with the weight of its
    uncertainty, and the row nearest to each centre is taken (diverse mini-batches: Zhdanov,
    2019).

    Parameters
    ----------
    uncertain
        From `uncertain_rows`.
    count
        How many; all if there are no more.
    seed
        Of the clustering's first centres.

    Examples
    --------
    >>> unsure = Uncertain(np.array([0.9, 0.8, 0.1, 0.7]), np.array([[0.0], [0.1], [5.0], [9.0]]))
    >>> choose_to_label(unsure, 2, seed=0).tolist()
    [0, 3]
    """
    values, features = uncertain
    order = np.argsort(-values, kind="stable")
    if count >= len(order) or count < 1:
        return order[: max(count, 0)]
    candidates = order[: CANDIDATES * count]
    chosen = _one_per_cluster(features[candidates], values[candidates], count, seed)
    taken = candidates[chosen]
    if len(taken) < count:
        # Copies of a row leave clusters empty: the least sure of the others fill up.
        rest = candidates[~np.isin(candidates, taken)]
        taken = np.concatenate([taken, rest[: count - len(taken)]])
    return np.asarray(taken[np.argsort(-values[taken], kind="stable")])


def _one_per_cluster(features: Floats, weights: Floats, count: int, seed: int) -> Integers:
    needs("sklearn", "sklearn")
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    state = int(generator(seed, Stream.LABEL_CLUSTERS).integers(1 << 31))
    means = KMeans(count, n_init=1, max_iter=ROUNDS, random_state=state)
    with warnings.catch_warnings(), threadpool_limits(1):
        # Fewer distinct rows than clusters are no fault.
        warnings.simplefilter("ignore")
        cluster = means.fit(features, sample_weight=weights + 1e-9).labels_
    away = ((features - means.cluster_centers_[cluster]) ** 2).sum(axis=1)
    order = np.lexsort((away, cluster))
    first = np.unique(cluster[order], return_index=True)[1]
    return np.sort(order[first])
