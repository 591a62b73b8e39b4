"""What a model's answers are: a column per class, or numbers; and labels as the same."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Floats
from anharmonic.auditing.given import Given
from anharmonic.auditing.sides import Task
from anharmonic.errors import InputError, listed
from anharmonic.models.labels import codes
from anharmonic.models.outputs import softmax, two_columns

__all__ = ["Reading", "coded", "read_answers"]

Form = Literal["columns", "one probability", "log-odds", "labels"]
ROUNDED = 1e-3
"""How far beyond 0 and 1 probabilities may be, rounded."""
FAR = 2.0
"""So many times as far apart as two labels are, beyond either, lines fitted to them hardly go."""
MOST = 100
"""Different labels of classes, at most."""
TRUTHS = (("0", "1"), ("False", "True"))
"""Two classes that are the same: XGBoost and ONNX number truth values."""


class Reading(NamedTuple):
    """How answers are read.

    Parameters
    ----------
    task
        Whether they are of classes or numbers.
    classes
        The classes' names in the order of columns; none for numbers.
    form
        Columns are as they came; of one probability, that of the second class, and of labels there
        is made a column per class; log-odds and margins become shares that add up to 1 and decide
        alike.
    word
        What a graded answer is called.
    codes
        The number of each class, where answers are labels.
    """

    task: Task
    classes: tuple[str, ...] = ()
    form: Form = "columns"
    word: Literal["probability", "score"] = "probability"
    codes: tuple[float, ...] = ()

    def read(self, given: Floats) -> Floats:
        """Answers as checks take them, NaN where there was none."""
        if self.form == "columns":
            return given
        if self.form == "labels":
            onehot = (given == np.array(self.codes)).astype(np.float64)
            return np.where(np.isnan(given), np.nan, onehot)
        return np.asarray(two_columns(given) if self.form == "one probability" else softmax(given))


def read_answers(given: Given, answers: list[Floats]) -> Reading:
    """What the answers are, by the model's classes, the labels and the answers themselves."""
    labels = [part for part in (given.reference_labels, given.new_labels) if part is not None]
    named, width = given.model.classes, answers[0].shape[1]
    present = np.concatenate([part[np.isfinite(part)] for part in answers])
    low, high = float(present.min()), float(present.max())
    is_share = low >= -ROUNDED and high <= 1 + ROUNDED
    if named is not None and len(named) > 1:
        names = tuple(_text(name) for name in named)
        if width == 1 and given.model.kind == "label":
            return Reading("classes", names, "labels", codes=tuple(codes(named)))
        if len(named) == width or (len(named) == 2 and width == 1):
            return _of_classes(names, width, is_share)
    levels = _levels(labels)
    if width > 1:
        names = levels if len(levels) == width else tuple(str(number) for number in range(width))
        if not levels and not is_share:
            # Columns that nothing is known of stay as they are.
            return Reading("classes", names, word="score")
        return _of_classes(names, width, is_share)
    if len(levels) == 2 and is_share:
        return _of_classes(levels, width, is_share)
    _refuse_log_odds(given, labels, (low, high))
    _refuse_labels(given, labels, present)
    return Reading("numbers")


def _of_classes(names: tuple[str, ...], width: int, is_share: bool) -> Reading:
    if not is_share:
        return Reading("classes", names, "log-odds", "score")
    return Reading("classes", names, "one probability" if width == 1 else "columns")


def _refuse_log_odds(
    given: Given, labels: list[NDArray[Any]], answers: tuple[float, float]
) -> None:
    """Refuse one number per row that lies far beyond two labels, if nobody said what it is."""
    values = np.concatenate([np.empty(0), *(part for part in labels if part.dtype.kind in "biuf")])
    levels = np.unique(values[np.isfinite(values)])
    if len(levels) != 2 or given.is_estimator or getattr(given.model, "chosen", False):
        return
    beyond = FAR * (levels[1] - levels[0])
    if answers[0] < levels[0] - beyond or answers[1] > levels[1] + beyond:
        raise InputError(
            f"labels are {levels[0]:g} or {levels[1]:g}, and the model answers one number from "
            f"{answers[0]:.3g} to {answers[1]:.3g}: give ah.as_model(model, output='probability') "
            "if these are log-odds, and output=0 if labels are numbers (--output)"
        )


def _refuse_labels(given: Given, labels: list[NDArray[Any]], answers: Floats) -> None:
    """Refuse a function that answers labels only: nobody said whether these are classes."""
    if given.is_estimator or given.is_file or getattr(given.model, "chosen", False):
        return
    numbers = [part for part in labels if part.dtype.kind in "biuf"]
    levels = np.unique(np.concatenate([np.empty(0), *numbers]))
    if not 2 <= len(levels) <= MOST or not np.isin(answers, levels).all():
        return
    raise InputError(
        f"the model answers nothing but labels ({listed([f'{level:g}' for level in levels])}): "
        "give the model itself, not its predict; or ah.as_model(model, output='onehot', "
        "classes=[…]) if these are classes, and output=0 if they are numbers"
    )


def _levels(labels: list[NDArray[Any]]) -> tuple[str, ...]:
    """The different labels as texts, in the order of numbers where they are numbers."""
    distinct = {label for part in labels for label in part[~_missing(part)].tolist()}
    return tuple(dict.fromkeys(_text(label) for label in sorted(distinct, key=_order)))


def _order(label: object) -> tuple[bool, float, str]:
    is_number = isinstance(label, bool | int | float)
    return (not is_number, float(label) if is_number else 0.0, str(label))  # type: ignore[arg-type]


def coded(labels: NDArray[Any] | None, reading: Reading, name: str) -> NDArray[Any] | None:
    """Labels as numbers of classes, or as numbers."""
    if labels is None:
        return None
    if reading.task == "numbers":
        try:
            numbers = labels.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{name} are texts and the model answers numbers: give labels of the same kind; "
                "of a classifier that answers log-odds or classes, give ah.as_model(model, "
                "output='probability') or output='onehot', with classes="
            ) from None
        if not np.isfinite(numbers).all():
            raise InputError(f"{name} are missing in some rows: leave those rows out")
        return numbers
    if _missing(labels).any():
        raise InputError(f"{name} are missing in some rows: leave those rows out")
    number = {text: code for code, text in enumerate(reading.classes)}
    for names, others in (TRUTHS, TRUTHS[::-1]):
        if reading.classes == names:
            number |= {text: code for code, text in enumerate(others)}
    texts = [_text(label) for label in labels.tolist()]
    unknown = sorted(set(texts) - number.keys())
    if unknown:
        raise InputError(
            f"{name} {listed(unknown)} are no classes of the model ({listed(reading.classes)}): "
            "give labels as the model was fitted to them"
        )
    return np.array([number[text] for text in texts], dtype=np.int64)


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([is_missing(label) for label in labels.tolist()], dtype=bool)


def _text(label: object) -> str:
    """A label as classes are written: 1.0 is the class 1 where files have made floats of it."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
