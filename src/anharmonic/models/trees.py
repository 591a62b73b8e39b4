"""XGBoost, LightGBM and CatBoost: their scikit-learn classes and their native boosters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.protocols import Array, Kind
from anharmonic.errors import MissingExtra, NotAModel
from anharmonic.models.answers import Answers, Way
from anharmonic.models.inputs import Inputs, inputs_of
from anharmonic.models.outputs import softmax, two_columns
from anharmonic.models.predictor import Chain
from anharmonic.models.sklearn import Method, estimator_answers, known_classes

__all__ = ["catboost_answers", "lightgbm_answers", "xgboost_answers"]

# How each library's `predict` is asked for the sum of its trees.
XGBOOST_MARGIN: Final[Mapping[str, object]] = {"output_margin": True}
LIGHTGBM_MARGIN: Final[Mapping[str, object]] = {"raw_score": True}
CATBOOST_MARGIN: Final[Mapping[str, object]] = {"prediction_type": "RawFormulaVal"}


def xgboost_answers(model: Any) -> Answers:
    """An XGBoost estimator or Booster; "logit" is the margin."""
    try:
        import xgboost
    except ImportError as error:
        raise MissingExtra("xgboost", "xgboost") from error
    if not isinstance(model, xgboost.Booster):
        return _estimator(model, XGBOOST_MARGIN)
    learner = json.loads(model.save_config())["learner"]
    objective = learner["objective"]["name"]
    margin, values = XgboostCall(model, True), XgboostCall(model, False)
    names = tuple(model.feature_names or ())
    inputs = Inputs(names, None if names else model.num_features())
    if not objective.startswith(("binary:", "multi:")):
        return Answers("Booster", {"value": values}, where=to_numpy, inputs=inputs)
    count = max(2, int(learner["learner_model_param"]["num_class"]))
    probability: Way = Chain((margin, softmax))
    if objective in ("binary:logistic", "multi:softprob"):
        probability = Chain((values, two_columns))
    ways: dict[Kind, Way] = {"probability": probability, "logit": margin}
    if objective == "binary:hinge":  # its margin is no log odds
        ways = {"logit": margin}
    return Answers("Booster", ways, tuple(range(count)), to_numpy, inputs=inputs)


@dataclass(frozen=True, eq=False)
class XgboostCall:
    """A native booster asked through a DMatrix that keeps the column names it knows."""

    booster: Any
    margin: bool

    def __call__(self, points: Array) -> Array:
        import xgboost

        points = to_numpy(points)
        names = self.booster.feature_names if isinstance(points, np.ndarray) else None
        matrix = xgboost.DMatrix(points, feature_names=names, enable_categorical=True)
        return self.booster.predict(matrix, output_margin=self.margin)


def lightgbm_answers(model: Any) -> Answers:
    """A LightGBM estimator or Booster; "logit" is the raw score."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtra("lightgbm", "lightgbm") from error
    if not isinstance(model, lightgbm.Booster):
        return _estimator(model, LIGHTGBM_MARGIN)
    description = model.dump_model(num_iteration=1)
    objective = str(description.get("objective", "")).split(" ")[0]
    values = Method(model, "predict")
    inputs = Inputs(tuple(model.feature_name()))
    if objective not in ("binary", "multiclass", "multiclassova"):
        return Answers("Booster", {"value": values}, where=to_numpy, inputs=inputs)
    ways: dict[Kind, Way] = {
        "probability": Chain((values, two_columns)),
        "logit": Method(model, "predict", LIGHTGBM_MARGIN),
    }
    classes = tuple(range(max(2, description["num_class"])))
    return Answers("Booster", ways, classes, to_numpy, inputs=inputs)


def catboost_answers(model: Any) -> Answers:
    """A CatBoost model of any class; "logit" is the raw formula value."""
    try:
        import catboost
    except ImportError as error:
        raise MissingExtra("catboost", "catboost") from error
    if not isinstance(model, catboost.CatBoost):
        raise _no_model(model)
    if not model.is_fitted():
        raise NotAModel(f"{type(model).__name__} has not been fitted: fit it first.")
    classes, inputs = known_classes(model), inputs_of(model)
    name = type(model).__name__
    if classes is None:
        return Answers(name, {"value": Method(model, "predict")}, where=to_numpy, inputs=inputs)
    ways: dict[Kind, Way] = {
        "probability": Method(model, "predict", {"prediction_type": "Probability"}),
        "logit": Method(model, "predict", CATBOOST_MARGIN),
        "label": Method(model, "predict", {"prediction_type": "Class"}),
    }
    return Answers(name, ways, classes, to_numpy, inputs=inputs)


def _estimator(model: Any, margin: Mapping[str, object]) -> Answers:
    """A booster in scikit-learn's clothes: its margin in place of log probabilities."""
    if not hasattr(model, "predict"):
        raise _no_model(model)
    is_fitted = getattr(model, "__sklearn_is_fitted__", None)
    if is_fitted is not None and not is_fitted():
        raise NotAModel(f"{type(model).__name__} has not been fitted: fit it first.")
    answers = estimator_answers(model)
    if "logit" not in answers.ways:
        return answers
    ways: dict[Kind, Way] = {**answers.ways, "logit": Method(model, "predict", margin)}
    return replace(answers, ways=ways)


def _no_model(thing: object) -> NotAModel:
    return NotAModel(
        f"A {type(thing).__name__} is no model: pass the booster or estimator that was trained."
    )
