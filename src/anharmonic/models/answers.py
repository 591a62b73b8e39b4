"""What a model can answer, and how the answer asked for is made from it."""

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

__all__ = ["Answers", "Way", "answers_of", "predictor", "scored"]

Way = Callable[[Array], Array]
Route = tuple[tuple[Way, ...], Kind]

# Above it a single column of scores means the second class.
THRESHOLDS: Final[Mapping[Kind, float]] = {"logit": 0.0, "probability": 0.5, "onehot": 0.5}


@dataclass(frozen=True)
class Answers:
    """A function for each kind of output a model offers, its natural one first.

    The way to "label" gives labels as the model writes them, text included. Labels and one-hot
    rows that are not offered are made from scores, or from what `decided` gives: scores or labels,
    as it may turn out. `inputs` says which columns the model takes, where it knows.
    """

    name: str
    ways: Mapping[Kind, Way]
    classes: tuple[object, ...] | None = None
    where: Callable[[Array], Array] = as_they_are
    batch_size: int | None = None
    decided: Way | None = None
    inputs: Inputs | None = None

    @property
    def natural(self) -> Kind:
        return next(iter(self.ways))


def scored(raw: Way) -> dict[Kind, Way]:
    """The ways of a model known only by its outputs: taken as logits when it is asked."""
    return {"value": raw, "logit": raw, "probability": Chain((raw, softmax))}


def answers_of(model: Model) -> Answers:
    """What can still be made of a model that has been adapted already."""
    ways: dict[Kind, Way] = {model.kind: model}
    if model.kind == "value":
        ways = scored(model)
    elif model.kind == "probability":
        ways["logit"] = Chain((model, log))
    known = getattr(model, "inputs", None)
    return Answers(model.name, ways, model.classes, model.place, model.batch_size, inputs=known)


def predictor(answers: Answers, output: object, classes: Sequence[object] | None) -> Predictor:
    """The model that answers `output`; every conversion is decided here, once."""
    known = _agreed(answers, classes)
    steps, kind = _route(answers, output, known)
    named = known if output is None or (isinstance(output, str) and output == kind) else None
    if answers.inputs is not None:
        steps = (answers.inputs.taken, *steps)
    return Predictor(
        Chain(steps),
        answers.name,
        kind,
        named,
        answers.where,
        answers.batch_size,
        answers.inputs,
    )


def _agreed(answers: Answers, classes: Sequence[object] | None) -> tuple[object, ...] | None:
    if classes is None:
        return answers.classes
    given = tuple(item.item() if isinstance(item, np.generic) else item for item in classes)
    if answers.classes in (None, given):
        return given
    raise SettingsError(
        f"{answers.name} has the classes {answers.classes} and classes={given} contradicts them: "
        "leave classes= out."
    )


def _route(answers: Answers, output: object, classes: tuple[object, ...] | None) -> Route:
    if output is None:
        return _natural(answers, classes)
    if callable(output):
        labels_only = answers.natural == "label" and classes is None
        start = (answers.ways["label"],) if labels_only else _natural(answers, classes)[0]
        # A model with several targets answers a list, which only the function can take.
        start = tuple(step for step in start if step is not numbers)
        return (*start, output, numbers), "value"
    if output in ("probability", "logit", "label", "onehot"):
        return _kind(answers, output, classes)
    steps, kind = _natural(answers, classes)
    if isinstance(output, int | np.integer) and not isinstance(output, bool):
        if output < 0:
            raise SettingsError(f"output={output} is no column: count columns from 0.")
        return (*steps, partial(of_column, column=int(output))), kind
    return (*steps, partial(of_class, position=_position(output, classes), kind=kind)), kind


def _natural(answers: Answers, classes: tuple[object, ...] | None) -> Route:
    if answers.natural == "label":
        return _kind(answers, "onehot", classes)
    return (answers.ways[answers.natural], numbers), answers.natural


def _kind(answers: Answers, kind: Kind, classes: tuple[object, ...] | None) -> Route:
    if kind in answers.ways and kind != "label":
        return (answers.ways[kind], numbers), kind
    source: Kind = answers.natural if answers.natural in THRESHOLDS else "logit"
    # Labels come by the model's own rule where it has one, one-hot rows when they can be placed.
    if "label" in answers.ways and (kind == "label" or classes or source not in answers.ways):
        source = "label"
    if kind not in ("label", "onehot") or source not in answers.ways:
        raise SettingsError(_refusal(answers, kind))
    if kind == "onehot" and source == "label" and not classes:
        raise SettingsError(
            f"{answers.name} answers labels only and its classes are not known: pass classes= "
            "with all of them in order, or output='label' if the labels are numbers."
        )
    convert = to_labels if kind == "label" else to_onehot
    threshold = THRESHOLDS.get(source, 0.0)
    step = partial(convert, classes=classes, threshold=threshold, labels=source == "label")
    way = answers.decided or answers.ways[source]
    return (way, step), kind


def _refusal(answers: Answers, kind: Kind) -> str:
    offered = list(answers.ways)
    if set(offered) & {"label", *THRESHOLDS}:
        offered += [made for made in ("label", "onehot") if made not in offered]
    return (
        f"{answers.name} does not answer output='{kind}': it offers {', '.join(offered)}. "
        "Leave output= out for the first of these, or pass a column or a function."
    )


def _position(output: object, classes: tuple[object, ...] | None) -> int:
    if classes is not None and output in classes:
        return classes.index(output)
    known = f"none of its classes {classes}" if classes else "no class that is known"
    raise SettingsError(
        f"output={output!r} is {known}: use 'probability', 'logit', 'label', 'onehot', a class "
        "(give classes= if the model does not know them), a column number or a function."
    )
