"""How well a model does on each single row, so that two of them can be compared row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from anharmonic._core.margins import by_class, decides, probabilities_of
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.errors import InputError, SettingsError, listed
from anharmonic.fixes.refitting import Asked
from anharmonic.fixes.rows import Data

__all__ = ["METRICS", "Scoring", "class_positions", "gives_classes", "scoring_for", "shares_of"]

METRICS: Final[Mapping[str, str]] = {
    "accuracy": "accuracy",
    "brier": "Brier score, as 1 less the squared distance",
    "log_loss": "log loss, as the log probability of the label",
    "r2": "share of the labels' variance that is explained",
}
LOSSES: Final[Mapping[str, str]] = {
    "accuracy": "share of wrong answers",
    "brier": "Brier loss",
    "log_loss": "log loss",
    "r2": "squared error, as a share of the labels' variance",
}
SMALLEST = 1e-4
"""A probability below counts as this in the log loss, so that one row cannot decide it."""


@dataclass(frozen=True)
class Scoring:
    """A metric that is a mean over rows, larger is better.

    Parameters
    ----------
    metric
        One of `METRICS`.
    is_classes
        Whether labels are classes.
    variance
        Of labels that are numbers.
    """

    metric: str
    is_classes: bool
    variance: float = 1.0

    def row_scores(self, asked: Asked, labels: Array) -> Floats:
        """One number per row, (rows,)."""
        if not self.is_classes:
            error = asked.outputs[:, 0] - labels.astype(np.float64)
            return np.asarray(1 - error**2 / self.variance)
        shares = shares_of(asked)
        positions = class_positions(labels, asked.classes, shares.shape[1])
        inside = positions >= 0
        own = np.where(inside, shares[np.arange(len(shares)), np.maximum(positions, 0)], 0.0)
        if self.metric == "accuracy":
            return np.asarray(inside & (shares.argmax(axis=1) == positions), dtype=np.float64)
        if self.metric == "log_loss":
            return np.asarray(np.log(np.maximum(own, SMALLEST)))
        # Half of Σ (p − 1[label])² = Σ p² − 2·p(label) + 1, from 0 to 1.
        return np.asarray(1 - ((shares**2).sum(axis=1) - 2 * own + 1) / 2)

    def losses(self, scores: Floats) -> Floats:
        """Scores as losses: less is better, 0 is perfect."""
        return np.asarray(-scores if self.metric == "log_loss" else 1 - scores)

    @property
    def span(self) -> float | None:
        """How far two scores can be apart; None where there is no end to it."""
        if self.metric == "log_loss":
            return -float(np.log(SMALLEST))
        return 1.0 if self.is_classes else None

    @property
    def loss(self) -> str:
        """What the losses are called."""
        return LOSSES[self.metric]

    def __str__(self) -> str:
        return self.metric


def scoring_for(
    metric: str | None, asked: Asked, data: Data, held_out: Data | None = None
) -> Scoring:
    """The metric that was named, or accuracy for classes and r2 for numbers.

    Parameters
    ----------
    metric
        One of `METRICS`, if told.
    asked
        Answers of the model that is scored.
    data, held_out
        The labels that it is scored against.
    """
    classes = gives_classes(asked)
    if not classes and data.labels.dtype.kind not in "fiub":
        raise InputError(
            "labels are text and the model answers numbers of no class: give a classifier, or "
            "labels that are numbers"
        )
    offered = [name for name in METRICS if (name == "r2") != classes]
    chosen = metric or offered[0]
    if chosen not in offered:
        raise SettingsError(f"metric {chosen!r}: choose of {', '.join(offered)} for this model")
    if classes:
        for part in (data, held_out):
            if part is not None:
                _check_labels(part.labels, asked)
        return Scoring(chosen, True)
    return Scoring(chosen, False, float(np.var(data.labels.astype(np.float64))) or 1.0)


def _check_labels(labels: Array, asked: Asked) -> None:
    """Refuse labels that are no classes, or not the numbers of a model's columns."""
    columns = asked.outputs.shape[1]
    unknown = class_positions(labels, asked.classes, columns) < 0
    if asked.classes is None and unknown.any():
        # A model that names no classes numbers them: labels from 1 on would shift all by one.
        raise InputError(
            f"the model names no classes, so labels are its columns' numbers, 0 to "
            f"{max(columns, 2) - 1}, and {_named(labels[unknown])} is none: number the labels so, "
            "or give a model with classes_"
        )
    if unknown.all():
        raise InputError(
            f"labels {_named(labels)} are no classes of the model: give labels as it was fitted "
            "to them"
        )


def _named(labels: Array) -> str:
    return listed(sorted(set(map(str, labels.tolist()))))


def gives_classes(asked: Asked) -> bool:
    """Whether answers are about classes: several columns, or one that is known to be."""
    return decides(asked.outputs.shape[1], asked.kind) or asked.kind == "onehot"


def shares_of(asked: Asked) -> Floats:
    """A share for each class, (rows, classes)."""
    return np.asarray(
        probabilities_of(by_class(asked.outputs, asked.kind, asked.classes), asked.kind)
    )


def class_positions(labels: Array, classes: tuple[object, ...] | None, columns: int) -> Integers:
    """The column of each label's class, (rows,); −1 where there is none.

    >>> class_positions(np.array(["b", "c"]), ("a", "b"), 2).tolist()
    [1, -1]
    >>> class_positions(np.array([True, False]), (0, 1), 2).tolist()
    [1, 0]
    """
    names = list(range(max(columns, 2))) if classes is None else list(classes)
    by_text = {_text(name): number for number, name in enumerate(names)}
    # True is 1: XGBoost and ONNX number truth values.
    by_value = {name: number for number, name in enumerate(names)}
    return np.array(
        [by_value.get(label, by_text.get(_text(label), -1)) for label in labels.tolist()],
        dtype=np.int64,
    )


def _text(label: object) -> str:
    """A class as text, the same for 1, 1.0 and numpy's of both."""
    if isinstance(label, bool | np.bool_):
        return str(bool(label))
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)
