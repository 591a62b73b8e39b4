"""Models for the sets: a well-fit one, chosen by cross-validation, and ones that memorise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.audit.sets import Task

__all__ = ["MEMORISING", "fit", "memorising", "pipeline", "well_fit"]

MEMORISING = ("tree", "neighbour", "boosted")


def pipeline(frame: pd.DataFrame, model: Any) -> Any:
    """Numbers filled in and standardised, categories one column per level, unknown ones all 0."""
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    others = [name for name in frame if name not in numeric]
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
    )
    return make_pipeline(prepared, model)


def well_fit(task: Task, seed: int) -> dict[str, Any]:
    """Models of three families with settings that a careful person would begin with."""
    if task == "classes":
        return {
            "linear": LogisticRegression(max_iter=500),
            "boosted": HistGradientBoostingClassifier(
                max_iter=60, max_leaf_nodes=8, min_samples_leaf=20, random_state=seed
            ),
            "forest": RandomForestClassifier(min_samples_leaf=8, random_state=seed),
        }
    return {
        "linear": Ridge(),
        "boosted": HistGradientBoostingRegressor(
            max_iter=100, max_leaf_nodes=8, min_samples_leaf=20, random_state=seed
        ),
        "forest": RandomForestRegressor(min_samples_leaf=8, random_state=seed),
    }


def fit(task: Task, frame: pd.DataFrame, labels: Any, seed: int) -> tuple[str, Any]:
    """The family that does best in cross-validation, fitted, and its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = {
            name: np.mean(cross_val_score(pipeline(frame, model), frame, labels, cv=3))
            for name, model in well_fit(task, seed).items()
        }
        best = max(scores, key=lambda name: scores[name])
        return best, pipeline(frame, well_fit(task, seed)[best]).fit(frame, labels)


def memorising(kind: str, task: Task, frame: pd.DataFrame, labels: Any, seed: int) -> Any:
    """A model that learns its rows by heart: a full tree, the nearest row, or deep boosting."""
    classes = task == "classes"
    if kind == "tree":
        made = DecisionTreeClassifier if classes else DecisionTreeRegressor
        model = made(random_state=seed)
    elif kind == "neighbour":
        model = (KNeighborsClassifier if classes else KNeighborsRegressor)(1)
    else:
        boosted = GradientBoostingClassifier if classes else GradientBoostingRegressor
        model = boosted(n_estimators=40, learning_rate=1.0, max_depth=12, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipeline(frame, model).fit(frame, labels)
