"""Quick models fitted to the reference, so that a number can be held against models one knows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import without_empty_columns
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import MissingExtra
from anharmonic.measures.over_data.distinct import distinct_rows
from anharmonic.measures.over_data.encoding import Encoded, Rule

__all__ = ["FOLDS", "YARDSTICKS", "Yardstick", "fit_yardsticks", "fold_of"]

FOLDS = 5
YARDSTICKS = {
    "linear": "a linear model",
    "shallow": "a tree of depth 3",
    "boosted": "a boosted model",
    "forest": "a forest",
    "full": "a fully grown tree",
    "nearest": "the nearest row's label",
}
"""By name, what each is called for people: from those that learn nothing by heart to those that
do.
"""


class Yardstick(NamedTuple):
    """One quick model's answers, (rows, classes) or (rows, 1).

    Parameters
    ----------
    name
        One of `YARDSTICKS`.
    fitted
        At the reference rows that it was fitted to.
    held_out
        At the same rows, each from a fit that did not see it (cross-validation).
    new
        At new rows; empty where there are none.
    new_by_fold
        At new rows too, (folds, rows, …), each from a fit of cross-validation: what is lost there
        is what is lost at held-out rows, if both are alike.
    predict
        From features, as `Encoded` makes them, to answers.
    by_trees
        Whether it takes the features that trees take, or those of distances.
    """

    name: str
    fitted: Floats
    held_out: Floats
    new: Floats
    new_by_fold: Floats
    predict: Callable[[Floats], Floats]
    by_trees: bool

    @property
    def words(self) -> str:
        """What it is called for people."""
        return YARDSTICKS[self.name]


def fold_of(rows: Encoded, seed: int) -> Integers:
    """Which fold each row is in, (rows,): copies are in one, so that none speaks for another."""
    kinds = distinct_rows(rows.words(), seed)
    order = generator(seed, Stream.AUDIT_FOLDS).permutation(np.arange(len(kinds)) % FOLDS)
    return np.asarray(order[kinds.of_row])


def fit_yardsticks(
    reference: Encoded,
    labels: NDArray[Any],
    new: Encoded | None,
    rules: Sequence[Rule],
    task: str,
    classes: int,
    seed: int,
    names: Sequence[str] = tuple(YARDSTICKS),
) -> tuple[Yardstick, ...]:
    """Each of the yardsticks fitted to labels of the reference rows."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as problem:
        raise MissingExtra("scikit-learn", "sklearn") from problem
    trees, distances = reference.for_trees(rules), reference.for_distances(rules)
    further = (
        (trees[:0], distances[:0])
        if new is None
        else (new.for_trees(rules), new.for_distances(rules))
    )
    fold = fold_of(reference, seed)
    yardsticks = []
    # Small fits: threads that wait for one another cost more than they bring.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            by_tree = name not in ("linear", "nearest")
            rows = trees if by_tree else distances
            others = further[0] if by_tree else further[1]
            model = _model(name, task, seed)
            whole = _Fit(model, rows, labels, task, classes)
            held_out = np.empty((len(labels), classes if task == "classes" else 1))
            by_fold = np.empty((FOLDS, len(others), held_out.shape[1]))
            for number in range(FOLDS):
                inside = fold != number
                part = _Fit(_model(name, task, seed), rows[inside], labels[inside], task, classes)
                held_out[~inside] = part.answers(rows[~inside])
                by_fold[number] = part.answers(others)
            yardsticks.append(
                Yardstick(
                    name,
                    whole.answers(rows),
                    held_out,
                    whole.answers(others),
                    by_fold,
                    whole.answers,
                    by_tree,
                )
            )
    return tuple(yardsticks)


class _Fit:
    """A fitted model with a column for each class, those that its rows lack among them."""

    def __init__(
        self, model: Any, rows: Floats, labels: NDArray[Any], task: str, classes: int
    ) -> None:
        self.task, self.classes = task, classes
        self.constant = np.unique(labels)
        several = len(self.constant) > 1
        self.model = model.fit(without_empty_columns(rows), labels) if several else None

    def answers(self, rows: Floats) -> Floats:
        if not len(rows):
            return np.empty((0, self.classes if self.task == "classes" else 1))
        if self.task == "numbers":
            if self.model is None:
                return np.full((len(rows), 1), float(self.constant[0]))
            return np.asarray(self.model.predict(rows), dtype=np.float64).reshape(-1, 1)
        wide = np.zeros((len(rows), self.classes))
        if self.model is None:
            wide[:, int(self.constant[0])] = 1.0
        else:
            wide[:, self.model.classes_.astype(int)] = self.model.predict_proba(rows)
        return wide


def _model(name: str, task: str, seed: int) -> Any:
    from sklearn import ensemble, linear_model, neighbors, tree

    is_classes = task == "classes"
    match name:
        case "linear":
            return (
                linear_model.LogisticRegression(max_iter=200)
                if is_classes
                else linear_model.Ridge(1.0)
            )
        case "shallow":
            made = tree.DecisionTreeClassifier if is_classes else tree.DecisionTreeRegressor
            return made(max_depth=3, min_samples_leaf=5, random_state=seed)
        case "full":
            made = tree.DecisionTreeClassifier if is_classes else tree.DecisionTreeRegressor
            return made(random_state=seed)
        case "forest":
            grown = (
                ensemble.RandomForestClassifier if is_classes else ensemble.RandomForestRegressor
            )
            # Threads add votes up in the order they finish, which is not the same every time, and
            # swap each other's filters of warnings: one worker.
            return grown(60, min_samples_leaf=3, max_features=0.4, n_jobs=1, random_state=seed)
        case "boosted":
            boosted = (
                ensemble.HistGradientBoostingClassifier
                if is_classes
                else ensemble.HistGradientBoostingRegressor
            )
            return boosted(max_iter=60, max_leaf_nodes=8, random_state=seed)
        case "nearest":
            near = neighbors.KNeighborsClassifier if is_classes else neighbors.KNeighborsRegressor
            return near(1)
    raise AssertionError(name)
