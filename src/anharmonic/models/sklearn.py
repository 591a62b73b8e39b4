"""scikit-learn estimators and pipelines, and whatever else has their methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array, Kind
from anharmonic.errors import NotAModel
from anharmonic.models.inputs import inputs_of
from anharmonic.models.outputs import log
from anharmonic.models.outputs_offered import ModelOutputs, OutputFunction
from anharmonic.models.predictor import Chain

__all__ = ["Method", "estimator_outputs", "known_classes", "sklearn_outputs"]


@dataclass(frozen=True, eq=False)
class Method:
    """One method of an estimator, called with points as the estimator knows them."""

    estimator: object
    method: str
    options: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, points: Array) -> Array:
        try:
            method = getattr(self.estimator, self.method)
            return method(_with_names(self.estimator, to_numpy(points)), **self.options)
        except Exception as error:
            if type(error).__name__ == "NotFittedError":
                raise _unfitted(self.estimator) from error
            raise


def sklearn_outputs(estimator: object) -> ModelOutputs:
    """A fitted scikit-learn estimator or pipeline: probabilities, else margins, else values."""
    needs("sklearn", "sklearn")
    from sklearn.base import is_classifier, is_clusterer
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    # Only scikit-learn's own classes keep its convention of what fitting leaves behind.
    if type(estimator).__module__.startswith("sklearn."):
        try:
            check_is_fitted(estimator)
        except NotFittedError as error:
            raise _unfitted(estimator) from error
    try:
        labels = bool(is_classifier(estimator) or is_clusterer(estimator))
    except AttributeError:  # a class with scikit-learn's mixins and without its tags
        labels = False
    return estimator_outputs(estimator, labels)


def estimator_outputs(estimator: object, labels: bool = False) -> ModelOutputs:
    """Anything with scikit-learn's methods; `labels` says that `predict` gives labels."""
    functions: dict[Kind, OutputFunction] = {}
    if hasattr(estimator, "predict_proba"):
        functions["probability"] = Method(estimator, "predict_proba")
    if hasattr(estimator, "decision_function"):
        functions["logit"] = Method(estimator, "decision_function")
    elif "probability" in functions:
        functions["logit"] = Chain((functions["probability"], log))
    classes = known_classes(estimator)
    if labels or functions or classes is not None or _has_targets(estimator):
        functions["label"] = Method(estimator, "predict")
    else:
        functions["value"] = Method(estimator, "predict")
    return ModelOutputs(
        type(estimator).__name__, functions, classes, to_numpy, inputs=inputs_of(estimator)
    )


def known_classes(estimator: object) -> tuple[object, ...] | None:
    """The estimator's classes as plain values, if it has one list of them."""
    fitted = getattr(estimator, "classes_", None)
    # One list of classes per target is no list of classes.
    if fitted is None or (isinstance(fitted, list) and any(np.ndim(item) for item in fitted)):
        return None
    classes = np.asarray(fitted)
    return tuple(classes.tolist()) if classes.ndim == 1 and classes.size else None


def _has_targets(estimator: object) -> bool:
    """Whether there is a list of classes per target; CatBoost's regressors have an empty one."""
    fitted = getattr(estimator, "classes_", None)
    return fitted is not None and len(fitted) > 0


def _with_names(estimator: object, points: Array) -> Array:
    """A bare array as a DataFrame when the estimator was fitted with column names."""
    if not isinstance(points, np.ndarray) or points.ndim != 2:
        return points
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or len(names) != points.shape[1]:
        return points
    try:
        import pandas
    except ImportError:
        return points
    return pandas.DataFrame(points, columns=np.asarray(names))


def _unfitted(estimator: object) -> NotAModel:
    return NotAModel(f"{type(estimator).__name__} has not been fitted: fit it first.")
