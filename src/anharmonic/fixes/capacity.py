"""Which capacity or penalty to choose: score against gamma, over values of one parameter."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.errors import AnharmonicError, ModelError, PointsError, SettingsError
from anharmonic.fixes.copies import keys_of
from anharmonic.fixes.inner_folds import inner_folds, is_classifying
from anharmonic.fixes.refitting import ask
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import Scoring
from anharmonic.measures.over_data.weights import Neighbours
from anharmonic.training.selection import gamma_scorer, steadiest_within_one_error

__all__ = ["Chosen", "Grid", "check_grid", "choose_capacity", "fitting", "grid_for"]

Grid = Mapping[str, Sequence[object]]

LEAVES = {"min_samples_leaf": [1, 2, 5, 10, 20, 50]}
PENALTIES = {"alpha": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]}
STRENGTHS = {"C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]}
GRIDS: Final[Mapping[str, Grid]] = {
    "DecisionTree": LEAVES,
    "ExtraTree": LEAVES,
    "RandomForest": LEAVES,
    "ExtraTrees": LEAVES,
    "HistGradientBoosting": {"max_leaf_nodes": [3, 7, 15, 31]},
    "GradientBoosting": {"max_depth": [1, 2, 3, 5]},
    "LGBM": {"num_leaves": [3, 7, 15, 31]},
    "XGB": {"max_depth": [1, 2, 4, 6]},
    "CatBoost": {"depth": [2, 4, 6, 8]},
    "KNeighbors": {"n_neighbors": [1, 3, 5, 10, 20, 40]},
    "LogisticRegression": STRENGTHS,
    "LinearSV": STRENGTHS,
    "SVC": STRENGTHS,
    "SVR": STRENGTHS,
    "Ridge": PENALTIES,
    "Lasso": PENALTIES,
    "ElasticNet": PENALTIES,
    "SGD": {"alpha": [1e-5, 1e-4, 1e-3, 1e-2, 0.1]},
    "MLP": {"alpha": [1e-4, 1e-2, 0.1, 1.0, 10.0]},
}
"""The parameter that says how much an estimator can follow its data, by how its class begins."""


class Chosen(NamedTuple):
    """Values that were chosen, and for each value that was tried its mean score and gamma."""

    parameters: dict[str, object]
    frontier: list[dict[str, object]]
    queries: int
    refits: int


def grid_for(estimator: Any) -> Grid | None:
    """The values to try for an estimator or the last step of a pipeline; None for unknown ones.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> list(grid_for(make_pipeline(StandardScaler(), DecisionTreeClassifier())))
    ['decisiontreeclassifier__min_samples_leaf']
    """
    known = estimator.get_params() if hasattr(estimator, "get_params") else {}
    for inner in ("regressor", "estimator"):
        # A parameter, not an attribute: a forest holds the tree that it is made of, and fixes it.
        if hasattr(known.get(inner), "get_params"):
            grid = grid_for(known[inner])
            return None if grid is None else _prefixed(grid, inner)
    steps = getattr(estimator, "steps", None)
    if steps:
        name, last = steps[-1]
        grid = grid_for(last)
        return None if grid is None else _prefixed(grid, name)
    kind = type(estimator).__name__
    names = sorted((name for name in GRIDS if kind.startswith(name)), key=len)
    grid = GRIDS[names[-1]] if names else {}
    # A name can begin as another's whose parameters it lacks: RidgeCV searches for alpha itself.
    return grid if grid and all(name in known for name in grid) else None


def _prefixed(grid: Grid, prefix: str) -> Grid:
    return {f"{prefix}__{name}": values for name, values in grid.items()}


def check_grid(estimator: Any, grid: Grid) -> None:
    """Refuse parameters that the estimator does not have, before anything is fitted."""
    unknown = [name for name in grid if name not in estimator.get_params()]
    if unknown:
        raise SettingsError(
            f"{type(estimator).__name__} has no parameter {unknown[0]}: grid= takes names as "
            "get_params() lists them"
        )


def fitting(grid: Grid, estimator: Any, parts: Sequence[Data]) -> Grid:
    """The values of a grid that every fit to the parts can take: as many neighbours as rows."""
    neighbours = [name for name in grid if name.rsplit("__", 1)[-1] == "n_neighbors"]
    if not neighbours:
        return grid
    rows = min(
        len(inside) for part in parts for inside, _ in inner_folds(part, is_classifying(estimator))
    )
    return {
        name: [value for value in values if name not in neighbours or _at_most(value, rows)]
        for name, values in grid.items()
    }


def _at_most(value: object, rows: int) -> bool:
    return isinstance(value, int) and value <= rows


def choose_capacity(estimator: Any, data: Data, grid: Grid, scoring: Scoring, seed: int) -> Chosen:
    """The steadiest value within one standard error of the best score, by cross-validation.

    Parameters
    ----------
    estimator, data
        What is fitted, and to what.
    grid
        Values to try; the estimator's own are tried beside them.
    scoring
        What the score is.
    seed
        Of the gamma that is measured.
    """
    needs("sklearn", "sklearn")
    from sklearn.model_selection import GridSearchCV

    current = estimator.get_params()
    values = {name: list(dict.fromkeys([*listed, current[name]])) for name, listed in grid.items()}

    def score(model: Any, rows: Any, labels: Array) -> float:
        return float(scoring.row_scores(ask(model, rows), np.asarray(labels)).mean())

    folds = inner_folds(data, is_classifying(estimator))
    search = GridSearchCV(
        estimator,
        values,
        scoring={"score": score, "gamma": gamma_scorer(ball=_neighbours(data, folds), seed=seed)},
        refit=False,
        cv=folds,
        error_score="raise",
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = search.fit(data.rows, data.labels).cv_results_
    except AnharmonicError:
        raise
    except Exception as problem:
        raise ModelError(
            f"{type(estimator).__name__} could not be fitted with all of {_in_words(values)} to "
            f"parts of the reference ({problem}): give values that suit its rows in grid="
        ) from problem
    best = steadiest_within_one_error()(results)
    tried = results["params"]
    scores: Floats = results["mean_test_score"]
    gammas: Floats = -results["mean_test_gamma"]
    frontier = [
        {**parameters, "score": float(scores[index]), "gamma": float(gammas[index])}
        for index, parameters in enumerate(tried)
    ]
    # Each row that is scored is asked for its score and for gamma.
    asked = 2 * sum(len(outside) for _, outside in folds)
    return Chosen(dict(tried[best]), frontier, asked * len(tried), len(folds) * len(tried))


def _neighbours(data: Data, folds: Sequence[tuple[Integers, Integers]]) -> Neighbours:
    """As many nearest rows as the smallest part that is scored at has beside each row, at most as
    many as gamma takes.
    """
    keys = keys_of(data, 0)
    others = min(len(np.unique(keys[outside])) for _, outside in folds) - 1
    if others < 1:
        raise PointsError("a part of the rows has no two to compare: give more rows")
    return Neighbours(min(Neighbours.count, others))


def _in_words(values: Grid) -> str:
    return ", ".join(f"{name}={list(listed)!r}" for name, listed in values.items())
