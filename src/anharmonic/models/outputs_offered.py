"""Which outputs a model offers, and how the output that is wanted is made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from anharmonic._core.protocols import Array, Kind, Model
from anharmonic.errors import SettingsError
from anharmonic.models.inputs import Inputs
from anharmonic.models.labels import to_labels, to_onehot
from anharmonic.models.outputs import log, numbers, of_class, of_column, softmax
from anharmonic.models.predictor import Chain, Predictor, as_they_are

__all__ = ["ModelOutputs", "OutputFunction", "outputs_of", "predictor", "raw_outputs"]

OutputFunction = Callable[[Array], Array]
"""From points to one kind of output, or one step on the way there."""

Route = tuple[tuple[OutputFunction, ...], Kind]
"""The steps from points to the output that is wanted, and what kind of output that is."""

# Above it a single column of scores means the second class.
THRESHOLDS: Final[Mapping[Kind, float]] = {"logit": 0.0, "probability": 0.5, "onehot": 0.5}


@dataclass(frozen=True)
class ModelOutputs:
    """A function for each kind of output that a model offers, its natural kind first.

    Parameters
    ----------
    name
        The model's.
    functions
        From points to outputs, by kind. That of "label" gives labels as the model writes them,
        text included. Labels and one-hot rows that are not offered are made from scores.
    classes
        In the order of the columns, where the model knows them.
    place
        Copies points to where the model computes.
    batch_size
        The most rows per call, if the model cares.
    scores_or_labels
        For a server that may return either: what labels and one-hot rows are made from instead.
        Which of the two it returned is seen from the response.
    inputs
        Which columns the model takes, where it knows.
    """

    name: str
    functions: Mapping[Kind, OutputFunction]
    classes: tuple[object, ...] | None = None
    place: Callable[[Array], Array] = as_they_are
    batch_size: int | None = None
    scores_or_labels: OutputFunction | None = None
    inputs: Inputs | None = None

    @property
    def natural(self) -> Kind:
        """What the model gives when nothing is asked for."""
        return next(iter(self.functions))


def raw_outputs(function: OutputFunction) -> dict[Kind, OutputFunction]:
    """What a model offers of which only raw outputs are known: they can be taken as logits."""
    return {"value": function, "logit": function, "probability": Chain((function, softmax))}


def outputs_of(model: Model) -> ModelOutputs:
    """What can still be made of a model that has been adapted already."""
    functions: dict[Kind, OutputFunction] = {model.kind: model}
    if model.kind == "value":
        functions = raw_outputs(model)
    elif model.kind == "probability":
        functions["logit"] = Chain((model, log))
    inputs = getattr(model, "inputs", None)
    return ModelOutputs(
        model.name, functions, model.classes, model.place, model.batch_size, inputs=inputs
    )


def predictor(offered: ModelOutputs, output: object, classes: Sequence[object] | None) -> Predictor:
    """The model that gives `output`; every conversion is decided here, once."""
    agreed = _agreed_classes(offered, classes)
    steps, kind = _route(offered, output, agreed)
    # A single column or a function's value has no classes any more.
    named = agreed if output is None or (isinstance(output, str) and output == kind) else None
    if offered.inputs is not None:
        steps = (offered.inputs.taken, *steps)
    return Predictor(
        Chain(steps),
        offered.name,
        kind,
        named,
        offered.place,
        offered.batch_size,
        offered.inputs,
        chosen=output is not None,
    )


def _agreed_classes(
    offered: ModelOutputs, classes: Sequence[object] | None
) -> tuple[object, ...] | None:
    """The model's own classes, or those of the caller where the model knows none."""
    if classes is None:
        return offered.classes
    plain = tuple(item.item() if isinstance(item, np.generic) else item for item in classes)
    if offered.classes in (None, plain):
        return plain
    raise SettingsError(
        f"{offered.name} has the classes {offered.classes} and classes={plain} contradicts them: "
        "leave classes= out."
    )


def _route(offered: ModelOutputs, output: object, classes: tuple[object, ...] | None) -> Route:
    if output is None:
        return _natural_route(offered, classes)
    if callable(output):
        labels_only = offered.natural == "label" and classes is None
        start = (
            (offered.functions["label"],) if labels_only else _natural_route(offered, classes)[0]
        )
        # A model with several targets returns a list, which only the caller's function can take.
        start = tuple(step for step in start if step is not numbers)
        return (*start, output, numbers), "value"
    if output in ("probability", "logit", "label", "onehot"):
        return _route_to_kind(offered, output, classes)
    steps, kind = _natural_route(offered, classes)
    if isinstance(output, int | np.integer) and not isinstance(output, bool):
        if output < 0:
            raise SettingsError(f"output={output} is no column: count columns from 0.")
        return (*steps, partial(of_column, column=int(output))), kind
    return (*steps, partial(of_class, position=_position(output, classes), kind=kind)), kind


def _natural_route(offered: ModelOutputs, classes: tuple[object, ...] | None) -> Route:
    if offered.natural == "label":
        return _route_to_kind(offered, "onehot", classes)
    return (offered.functions[offered.natural], numbers), offered.natural


def _route_to_kind(offered: ModelOutputs, kind: Kind, classes: tuple[object, ...] | None) -> Route:
    functions = offered.functions
    if kind in functions and kind != "label":
        return (functions[kind], numbers), kind
    source: Kind = offered.natural if offered.natural in THRESHOLDS else "logit"
    # Labels come by the model's own rule where it has one, one-hot rows when they can be placed.
    if "label" in functions and (kind == "label" or classes or source not in functions):
        source = "label"
    if kind not in ("label", "onehot") or source not in functions:
        raise SettingsError(_refusal(offered, kind))
    if kind == "onehot" and source == "label" and not classes:
        raise SettingsError(
            f"{offered.name} answers labels only and its classes are not known: pass classes= "
            "with all of them in order, or output='label' if the labels are numbers."
        )
    convert = to_labels if kind == "label" else to_onehot
    threshold = THRESHOLDS.get(source, 0.0)
    step = partial(convert, classes=classes, threshold=threshold, labels=source == "label")
    function = offered.scores_or_labels or functions[source]
    return (function, step), kind


def _refusal(offered: ModelOutputs, kind: Kind) -> str:
    kinds = list(offered.functions)
    if set(kinds) & {"label", *THRESHOLDS}:
        kinds += [derived for derived in ("label", "onehot") if derived not in kinds]
    return (
        f"{offered.name} does not answer output='{kind}': it offers {', '.join(kinds)}. "
        "Leave output= out for the first of these, or pass a column or a function."
    )


def _position(output: object, classes: tuple[object, ...] | None) -> int:
    if classes is not None and output in classes:
        return classes.index(output)
    what = f"none of its classes {classes}" if classes else "no class that is known"
    raise SettingsError(
        f"output={output!r} is {what}: use 'probability', 'logit', 'label', 'onehot', a class "
        "(give classes= if the model does not know them), a column number or a function."
    )
