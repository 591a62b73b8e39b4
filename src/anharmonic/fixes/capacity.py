"""Which capacity or penalty to choose: score against gamma, over values of one parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import SettingsError
from anharmonic.fixes.refitting import Data, ask
from anharmonic.fixes.scoring import Scoring
from anharmonic.training.selection import gamma_scorer, steadiest_within_one_error

__all__ = ["Chosen", "Grid", "choose_capacity", "grid_for"]

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
INNER = 3
"""Folds within the rows that a value is chosen on."""


class Chosen(NamedTuple):
    """Values that were chosen, and for each value that was tried its mean score and gamma."""

    parameters: dict[str, object]
    frontier: list[dict[str, object]]
    refits: int


def grid_for(estimator: Any) -> Grid | None:
    """The values to try for an estimator or the last step of a pipeline; None for unknown ones.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> list(grid_for(make_pipeline(StandardScaler(), DecisionTreeClassifier())))
    ['decisiontreeclassifier__min_samples_leaf']
    """
    for prefix, inner in (("regressor", "regressor"), ("estimator", "estimator")):
        held = getattr(estimator, inner, None)
        if held is not None and hasattr(held, "get_params"):
            grid = grid_for(held)
            return None if grid is None else _prefixed(grid, prefix)
    steps = getattr(estimator, "steps", None)
    if steps:
        name, last = steps[-1]
        grid = grid_for(last)
        return None if grid is None else _prefixed(grid, name)
    kind = type(estimator).__name__
    names = sorted((name for name in GRIDS if kind.startswith(name)), key=len)
    return GRIDS[names[-1]] if names else None


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
    import warnings

    from sklearn.model_selection import GridSearchCV

    current = estimator.get_params()
    values = {name: list(dict.fromkeys([*listed, current[name]])) for name, listed in grid.items()}

    def score(model: Any, rows: Any, labels: Array) -> float:
        return float(scoring.row_scores(ask(model, rows), np.asarray(labels)).mean())

    search = GridSearchCV(
        estimator,
        values,
        scoring={"score": score, "gamma": gamma_scorer(ball="data neighbours", seed=seed)},
        refit=False,
        cv=INNER,
        error_score="raise",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = search.fit(data.rows, data.labels).cv_results_
    best = steadiest_within_one_error()(results)
    tried = results["params"]
    scores: Floats = results["mean_test_score"]
    gammas: Floats = -results["mean_test_gamma"]
    frontier = [
        {**parameters, "score": float(scores[index]), "gamma": float(gammas[index])}
        for index, parameters in enumerate(tried)
    ]
    return Chosen(dict(tried[best]), frontier, INNER * len(tried))
