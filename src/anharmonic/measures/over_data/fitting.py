"""Fits to the model's own answers: trees and boosted trees, each to half of the groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from anharmonic._core.arrays import without_empty_columns
from anharmonic._core.extras import needs
from anharmonic._core.progress import Telling
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.measures.over_data.smoothing import Data, Ensemble, Part
from anharmonic.measures.over_data.weights import Boosted, Forest

__all__ = [
    "Fits",
    "boosted_parts",
    "fit_boosted",
    "fit_forest",
    "forest_parts",
    "forest_weights",
    "half_samples",
]

HELD = 2**24
"""Predictions held at once, 128 MB."""


class Fits(NamedTuple):
    """Fits to half of the groups each.

    Parameters
    ----------
    predict
        For each fit, from features (rows, features) to answers (rows, columns).
    members : (fits, groups)
        Which groups each was fitted to.
    halves
        As in `Ensemble`.
    workers
        Threads that predict.
    """

    predict: Sequence[Callable[[Floats], Floats]]
    members: Floats
    halves: bool
    workers: int

    def usable(self, group: Integers) -> Floats:
        """1 where a fit did not see a row's group, (fits, rows); −1 is a group that none saw."""
        return np.where(group < 0, 1.0, 1.0 - self.members[:, np.maximum(group, 0)])

    def means(self, features: Floats, group: Integers) -> Floats:
        """The mean prediction (rows, columns) of the fits that did not see each row's group."""
        usable = self.usable(group)[:, :, None]
        # One fit after the other: numpy's own sum of a single row would round in another order.
        total = usable[0] * self.predict[0](features)
        for share, predict in zip(usable[1:], self.predict[1:], strict=True):
            total += share * predict(features)
        return np.asarray(total / usable.sum(axis=0))


def half_samples(fits: int, groups: int, seed: int) -> Floats:
    """Which groups each fit sees, (fits, groups): random halves, each followed by its complement.

    So every row is unseen by exactly half of the fits.
    """
    random = generator(seed, Stream.HALF_SAMPLES)
    halves = np.zeros((fits, groups))
    for index in range(0, fits, 2):
        halves[index, random.permutation(groups)[: groups // 2]] = 1
        halves[index + 1] = 1 - halves[index]
    return halves


def fit_trees(weights: Forest, data: Data, members: Floats, workers: int) -> list[Any]:
    """One tree per half-sample; the same trees for any number of workers."""
    tree = needs("sklearn.tree", "sklearn")
    seeds = generator(data.seed, Stream.TREE_SEEDS).integers(2**31, size=len(members))

    def fit(index: int) -> Any:
        rows = _rows_of_fit(data, members, index, weights.most_rows)
        grown = tree.DecisionTreeRegressor(
            min_samples_leaf=weights.leaf,
            max_features=weights.features,
            random_state=int(seeds[index]),
        )
        return grown.fit(data.features[rows], data.answers[rows], sample_weight=data.count[rows])

    return _in_order(fit, len(members), workers)


def _rows_of_fit(data: Data, members: Floats, index: int, most: int) -> Integers:
    """The reference rows of one fit, at most so many of them at random."""
    rows = np.flatnonzero(members[index][data.group])
    if len(rows) <= most:
        return rows
    random = generator(data.seed, Stream.FITTED_ROWS, index)
    return np.sort(random.choice(rows, most, replace=False))


def fit_forest(weights: Forest, data: Data, workers: int) -> Fits:
    """A tree per half-sample."""
    members = half_samples(weights.trees, data.groups, data.seed)
    trees = fit_trees(weights, data, members, workers)
    return Fits([partial(_predict_tree, tree) for tree in trees], members, False, workers)


def forest_parts(
    weights: Forest, data: Data, workers: int, report: Telling | None = None
) -> Iterator[Part]:
    """Means over rows that share leaves, in trees that did not see the row."""
    yield from _parts(fit_forest(weights, data, workers), data, report)


def forest_weights(weights: Forest, data: Data, rows: Integers, workers: int) -> sparse.csr_array:
    """The weights of reference rows for some scored rows, (rows, reference rows)."""
    members = half_samples(weights.trees, data.groups, data.seed)
    trees = fit_trees(weights, data, members, workers)
    group, scored = data.own_group[rows], data.scored[rows]
    total = sparse.csr_array((len(rows), len(data.features)))
    usable_fits = np.zeros(len(rows))
    for index, tree in enumerate(trees):
        fitted = _rows_of_fit(data, members, index, weights.most_rows)
        leaves = tree.apply(data.features[fitted])
        sums = np.bincount(leaves, data.count[fitted])
        # (nodes, reference rows): a leaf's rows by their share in it.
        shares = sparse.csr_array(
            (data.count[fitted] / sums[leaves], (leaves, fitted)),
            shape=(tree.tree_.node_count, len(data.features)),
        )
        usable = np.where(group < 0, 1.0, 1.0 - members[index][np.maximum(group, 0)])
        total = total + sparse.diags_array(usable) @ shares[tree.apply(scored)]
        usable_fits += usable
    return sparse.csr_array(sparse.diags_array(1 / usable_fits) @ total)


def _predict_tree(tree: Any, rows: Floats) -> Floats:
    return np.asarray(tree.predict(rows, check_input=False)).reshape(len(rows), -1)


def fit_boosted(weights: Boosted, data: Data) -> Fits:
    """Boosted trees per half-sample, one after the other: each uses all cores by itself."""
    ensemble = needs("sklearn.ensemble", "sklearn")
    # With weights scikit-learn takes ten times as long to sort values into bins.
    counts = None if (data.count == 1).all() else data.count
    members = half_samples(weights.fits, data.groups, data.seed)

    def fit(index: int) -> Callable[[Floats], Floats]:
        rows = np.flatnonzero(members[index][data.group])
        fitted = [
            ensemble.HistGradientBoostingRegressor(
                max_iter=weights.rounds, early_stopping=False, random_state=data.seed
            ).fit(
                without_empty_columns(data.features[rows]),
                data.answers[rows, column],
                None if counts is None else counts[rows],
            )
            for column in range(data.answers.shape[1])
        ]
        return lambda scored: np.stack([one.predict(scored) for one in fitted], axis=1)

    return Fits(_in_order(fit, weights.fits, workers=1), members, True, workers=1)


def boosted_parts(weights: Boosted, data: Data, report: Telling | None = None) -> Iterator[Part]:
    """Predictions of boosted trees that did not see the row."""
    yield from _parts(fit_boosted(weights, data), data, report)


def _parts(fits: Fits, data: Data, report: Telling | None) -> Iterator[Part]:
    """As many rows at a time as fit in memory."""
    predict = fits.predict
    columns, own_group = data.answers.shape[1], data.own_group
    size = max(1, HELD // (len(predict) * columns))
    for start in range(0, len(data.scored), size):
        rows = slice(start, min(start + size, len(data.scored)))
        scored, group = data.scored[rows], own_group[rows]
        answers = _in_order(lambda index: predict[index](scored), len(predict), fits.workers)  # noqa: B023
        yield Ensemble(np.stack(answers), fits.usable(group), fits.members, fits.halves).part(rows)
        if report is not None:
            report(rows.stop, len(data.scored))


def _in_order(function: Callable[[int], Any], count: int, workers: int) -> list[Any]:
    """Results in order; in threads, since scikit-learn's trees let go of the interpreter."""
    if workers == 1:
        return [function(index) for index in range(count)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, range(count)))
