"""XGBoost, LightGBM and CatBoost: their scikit-learn classes and their native boosters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array, Kind
from anharmonic.errors import NotAModel
from anharmonic.models.inputs import Inputs, inputs_of
from anharmonic.models.outputs import softmax, two_columns
from anharmonic.models.outputs_offered import ModelOutputs, OutputFunction
from anharmonic.models.predictor import Chain
from anharmonic.models.sklearn import Method, estimator_outputs, known_classes

if TYPE_CHECKING:
    import xgboost

__all__ = ["catboost_outputs", "lightgbm_outputs", "xgboost_outputs"]

# How each library's `predict` is asked for the sum of its trees.
XGBOOST_MARGIN: Final[Mapping[str, object]] = {"output_margin": True}
LIGHTGBM_MARGIN: Final[Mapping[str, object]] = {"raw_score": True}
CATBOOST_MARGIN: Final[Mapping[str, object]] = {"prediction_type": "RawFormulaVal"}


def xgboost_outputs(model: object) -> ModelOutputs:
    """An XGBoost estimator or Booster; "logit" is the margin."""
    needs("xgboost", "xgboost")
    import xgboost

    if not isinstance(model, xgboost.Booster):
        return _estimator(model, XGBOOST_MARGIN)
    # The booster keeps its objective and its number of classes in its configuration alone.
    learner = json.loads(model.save_config())["learner"]
    objective = learner["objective"]["name"]
    margin, values = XgboostCall(model, True), XgboostCall(model, False)
    names = tuple(model.feature_names or ())
    inputs = Inputs(names, None if names else model.num_features())
    if not objective.startswith(("binary:", "multi:")):
        return ModelOutputs("Booster", {"value": values}, place=to_numpy, inputs=inputs)
    count = max(2, int(learner["learner_model_param"]["num_class"]))
    probability: OutputFunction = Chain((margin, softmax))
    if objective in ("binary:logistic", "multi:softprob"):
        probability = Chain((values, two_columns))
    functions: dict[Kind, OutputFunction] = {"probability": probability, "logit": margin}
    if objective == "binary:hinge":  # its margin is no log odds
        functions = {"logit": margin}
    return ModelOutputs("Booster", functions, tuple(range(count)), to_numpy, inputs=inputs)


@dataclass(frozen=True, eq=False)
class XgboostCall:
    """A native booster called through a DMatrix that keeps the column names it knows."""

    booster: xgboost.Booster
    margin: bool

    def __call__(self, points: Array) -> Array:
        import xgboost

        points = to_numpy(points)
        names = self.booster.feature_names if isinstance(points, np.ndarray) else None
        matrix = xgboost.DMatrix(points, feature_names=names, enable_categorical=True)
        return self.booster.predict(matrix, output_margin=self.margin)


def lightgbm_outputs(model: object) -> ModelOutputs:
    """A LightGBM estimator or Booster; "logit" is the raw score."""
    needs("lightgbm", "lightgbm")
    import lightgbm

    if not isinstance(model, lightgbm.Booster):
        return _estimator(model, LIGHTGBM_MARGIN)
    description = model.dump_model(num_iteration=1)
    objective = str(description.get("objective", "")).split(" ")[0]
    values = Method(model, "predict")
    inputs = Inputs(tuple(model.feature_name()))
    if objective not in ("binary", "multiclass", "multiclassova"):
        return ModelOutputs("Booster", {"value": values}, place=to_numpy, inputs=inputs)
    functions: dict[Kind, OutputFunction] = {
        "probability": Chain((values, two_columns)),
        "logit": Method(model, "predict", LIGHTGBM_MARGIN),
    }
    classes = tuple(range(max(2, description["num_class"])))
    return ModelOutputs("Booster", functions, classes, to_numpy, inputs=inputs)


def catboost_outputs(model: object) -> ModelOutputs:
    """A CatBoost model of any class; "logit" is the raw formula value."""
    needs("catboost", "catboost")
    import catboost

    if not isinstance(model, catboost.CatBoost):
        raise _no_model(model)
    if not model.is_fitted():
        raise NotAModel(f"{type(model).__name__} has not been fitted: fit it first.")
    classes, inputs = known_classes(model), inputs_of(model)
    name = type(model).__name__
    if classes is None:
        return ModelOutputs(
            name, {"value": Method(model, "predict")}, place=to_numpy, inputs=inputs
        )
    functions: dict[Kind, OutputFunction] = {
        "probability": Method(model, "predict", {"prediction_type": "Probability"}),
        "logit": Method(model, "predict", CATBOOST_MARGIN),
        "label": Method(model, "predict", {"prediction_type": "Class"}),
    }
    return ModelOutputs(name, functions, classes, to_numpy, inputs=inputs)


def _estimator(model: object, margin: Mapping[str, object]) -> ModelOutputs:
    """A booster with scikit-learn's methods: its margin in place of log probabilities."""
    if not hasattr(model, "predict"):
        raise _no_model(model)
    is_fitted = getattr(model, "__sklearn_is_fitted__", None)
    if is_fitted is not None and not is_fitted():
        raise NotAModel(f"{type(model).__name__} has not been fitted: fit it first.")
    offered = estimator_outputs(model)
    if "logit" not in offered.functions:
        return offered
    functions: dict[Kind, OutputFunction] = {
        **offered.functions,
        "logit": Method(model, "predict", margin),
    }
    return replace(offered, functions=functions)


def _no_model(thing: object) -> NotAModel:
    return NotAModel(
        f"A {type(thing).__name__} is no model: pass the booster or estimator that was trained."
    )
