"""scikit-learn estimators and pipelines, and whatever else has their methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.protocols import Array, Kind
from anharmonic.errors import MissingExtra, NotAModel
from anharmonic.models.answers import Answers, Way
from anharmonic.models.inputs import inputs_of
from anharmonic.models.outputs import log
from anharmonic.models.predictor import Chain

__all__ = ["Method", "estimator_answers", "known_classes", "sklearn_answers"]


@dataclass(frozen=True, eq=False)
class Method:
    """One method of an estimator, asked with points as the estimator knows them."""

    estimator: object
    method: str
    options: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, points: Array) -> Array:
        try:
            ask = getattr(self.estimator, self.method)
            return ask(_with_names(self.estimator, to_numpy(points)), **self.options)
        except Exception as error:
            if type(error).__name__ == "NotFittedError":
                raise _unfitted(self.estimator) from error
            raise


def sklearn_answers(estimator: object) -> Answers:
    """A fitted scikit-learn estimator or pipeline: probabilities, else margins, else values."""
    try:
        from sklearn.base import is_classifier, is_clusterer
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted
    except ImportError as error:
        raise MissingExtra("scikit-learn", "sklearn") from error
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
    return estimator_answers(estimator, labels)


def estimator_answers(estimator: object, labels: bool = False) -> Answers:
    """Anything with scikit-learn's methods; `labels` says that `predict` gives labels."""
    ways: dict[Kind, Way] = {}
    if hasattr(estimator, "predict_proba"):
        ways["probability"] = Method(estimator, "predict_proba")
    if hasattr(estimator, "decision_function"):
        ways["logit"] = Method(estimator, "decision_function")
    elif "probability" in ways:
        ways["logit"] = Chain((ways["probability"], log))
    if labels or ways or hasattr(estimator, "classes_"):
        ways["label"] = Method(estimator, "predict")
    else:
        ways["value"] = Method(estimator, "predict")
    known = known_classes(estimator)
    return Answers(type(estimator).__name__, ways, known, to_numpy, inputs=inputs_of(estimator))


def known_classes(estimator: object) -> tuple[object, ...] | None:
    """The estimator's classes as plain values, if it has one list of them."""
    found = getattr(estimator, "classes_", None)
    # One list of classes a target is no list of classes.
    if found is None or (isinstance(found, list) and any(np.ndim(item) for item in found)):
        return None
    classes = np.asarray(found)
    return tuple(classes.tolist()) if classes.ndim == 1 and classes.size else None


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
