"""Anything that predicts, recognised by its class and adapted; no framework is imported for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeGuard, get_args

from anharmonic._core.protocols import Kind, Model
from anharmonic.errors import NotAModel
from anharmonic.models.files import ACCEPTED, load, load_attribute
from anharmonic.models.function import function_outputs
from anharmonic.models.mlflow import is_mlflow, load_mlflow, pyfunc_outputs
from anharmonic.models.onnx import Graph, onnx_outputs
from anharmonic.models.outputs_offered import ModelOutputs, outputs_of, predictor
from anharmonic.models.predictor import Predictor
from anharmonic.models.remote import remote_outputs
from anharmonic.models.sklearn import estimator_outputs, sklearn_outputs
from anharmonic.models.torch import torch_outputs
from anharmonic.models.trees import catboost_outputs, lightgbm_outputs, xgboost_outputs

__all__ = ["as_model"]

# By the package a class, or one it inherits from, was defined in. Boosters come first, because
# they inherit from scikit-learn as well.
ADAPTERS: Final[Mapping[str, Callable[[Any], ModelOutputs]]] = {
    "xgboost": xgboost_outputs,
    "lightgbm": lightgbm_outputs,
    "catboost": catboost_outputs,
    "onnxruntime": onnx_outputs,
    "torch": torch_outputs,
    "sklearn": sklearn_outputs,
    "mlflow": pyfunc_outputs,
}


def as_model(
    source: object,
    output: object = None,
    classes: Sequence[object] | None = None,
    trust: bool = False,
    timeout: float = 30.0,
) -> Model:
    """Make a model of anything that predicts: points (rows, …) in, outputs (rows[, columns]) out.

    Parameters
    ----------
    source
        A function on arrays, a fitted estimator, a torch module, an ONNX session or file, a
        model file (pickles only with `trust`), `package.module:attribute`, an MLflow address
        (`models:/NAME/VERSION`, `runs:/…`, `mlflow:/FOLDER`) or folder, or an http(s) address
        speaking the Open Inference Protocol v2.
    output
        None (probabilities where a model has them, else margins, else values), or "probability",
        "logit", "label", "onehot", a column number, a class, or a function of the natural
        outputs. The raw outputs of functions, torch, ONNX and servers are taken as logits.
    classes
        The classes of a model that does not know them, in column order.
    trust
        Whether to read files whose reading can run code.
    timeout : float
        Seconds that a server may take for one request.

    Examples
    --------
    >>> import numpy as np
    >>> model = as_model(lambda points: points @ np.eye(2), output="label", classes=(5, 9))
    >>> model(np.array([[3.0, 1.0], [1.0, 3.0]])), model.kind
    (array([5., 9.]), 'label')
    """
    if isinstance(source, str | Path):
        return _named(source, output, classes, trust, timeout)
    if not _is_model(source):
        return predictor(_adapted(source), output, classes)
    if output is None and classes is None:
        return source
    if output is None and source.kind == "label":  # already chosen: not to become one-hot rows
        output = "label"
    return predictor(outputs_of(source), output, classes)


def _named(
    source: str | Path,
    output: object,
    classes: Sequence[object] | None,
    trust: bool,
    timeout: float,
) -> Model:
    """The model that an address, a Python name or a path stands for."""
    if isinstance(source, str) and source.lower().startswith(("http://", "https://")):
        return predictor(remote_outputs(source, timeout), output, classes)
    if is_mlflow(source):
        logged = as_model(load_mlflow(source, trust), output, classes)
        return replace(logged, name=str(source)) if isinstance(logged, Predictor) else logged
    path = Path(source).expanduser()
    attribute = None if path.exists() else load_attribute(str(source))
    loaded = load(path, trust) if attribute is None else attribute
    if isinstance(loaded, str | Path):  # a name of a name could go round in circles
        raise NotAModel(f"{source} is text, not a model: pass {loaded} itself.")
    model = as_model(loaded, output, classes)
    if attribute is None and isinstance(model, Predictor):
        return replace(model, name=path.stem)
    return model


def _adapted(source: object) -> ModelOutputs:
    if isinstance(source, Graph | bytes):
        return onnx_outputs(source)
    if isinstance(source, type):
        raise NotAModel(f"{source.__name__} is a class: pass a fitted instance of it.")
    roots = {ancestor.__module__.partition(".")[0] for ancestor in type(source).__mro__}
    for root, adapt in ADAPTERS.items():
        if root in roots and (root != "sklearn" or hasattr(source, "predict")):
            return adapt(source)
    if hasattr(source, "predict"):
        return estimator_outputs(source)
    if callable(source):
        return function_outputs(source)
    raise NotAModel(f"A {type(source).__name__} is no model. Accepted: {ACCEPTED}.")


def _is_model(source: object) -> TypeGuard[Model]:
    """Whether something has the shape of `protocols.Model` already."""
    facts = ("name", "classes", "place", "batch_size")
    instance = callable(source) and not isinstance(source, type)
    shaped = instance and all(hasattr(source, fact) for fact in facts)
    return shaped and getattr(source, "kind", None) in get_args(Kind)
