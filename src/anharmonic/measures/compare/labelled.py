"""How right models are at points with labels: accuracy or R², paired between models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.estimate import Estimate
from anharmonic._core.margins import by_class, decides, labels_of
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import (
    Moments,
    half_widths,
    paired_share_interval,
    share_interval,
)
from anharmonic.errors import PointsError
from anharmonic.measures.compare.differences import CHANCE, ONE_POINT, Difference
from anharmonic.measures.over_data.asking import ask_rows
from anharmonic.measures.setup.labels import class_numbers, given_labels, numeric_labels
from anharmonic.models import as_model
from anharmonic.models.labels import codes
from anharmonic.regions import Region, unmoved

__all__ = ["LabelledScore", "label_difference", "score_labels"]


@dataclass(frozen=True)
class LabelledScore:
    """How right a model is at points with labels: accuracy for classes, R² for numbers.

    Parameters
    ----------
    metric : "accuracy" or "R²"
        Of either, more is better.
    rows : (points,)
        What each row adds: the score is their mean. 1 where the class is right and 0 where it is
        not; of R² the score plus the row's influence on it.
    absolute_error
        The mean absolute error of a model of numbers, with its standard error.
    queries
        Rows the model was asked for.
    """

    metric: Literal["accuracy", "R²"]
    rows: Floats
    absolute_error: Estimate | None = None
    queries: int = 0

    @cached_property
    def estimate(self) -> Estimate:
        """The score with its standard error."""
        moments = Moments.of(self.rows)
        return Estimate(float(moments.mean), float(moments.error))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Of accuracy Clopper and Pearson's; of R² Student's, of the rows' influences."""
        count = len(self.rows)
        if self.metric == "accuracy":
            return share_interval(int(self.rows.sum()), count, level)
        value, error = self.estimate
        reach = float(half_widths(error, count, level))
        return value - reach, min(value + reach, 1.0)

    def texts(self, level: float = 0.95) -> tuple[str, str]:
        """The score and its interval, as people read them."""
        low, high = self.interval(level)
        form = ".1%" if self.metric == "accuracy" else ".3f"
        return f"{self.estimate.value:{form}}", f"[{low:{form}}, {high:{form}}]"

    def text(self, level: float = 0.95) -> str:
        """Both in a line."""
        return " ".join(self.texts(level))

    def summary(self, level: float = 0.95) -> dict[str, object]:
        """Everything but single rows as plain values."""
        error = self.absolute_error
        return {
            "metric": self.metric,
            "value": self.estimate.value,
            "error": self.estimate.error,
            "interval": list(self.interval(level)),
            **({} if error is None else {"mean_absolute_error": list(error)}),
            "queries": self.queries,
        }


def score_labels(
    model: object, region: Region, labels: object, batch_size: int | None = None
) -> LabelledScore:
    """The score of one model at rows with labels; costs one query per row.

    Parameters
    ----------
    model
        Anything `as_model` takes. One that knows its classes is asked for its decisions, as its
        own `predict` makes them.
    region
        The rows.
    labels
        One per row: classes as the model names them, their numbers where it has no names, or
        numbers.
    batch_size
        Rows of a call.
    """
    rows = region if region.form == "sparse" else unmoved(region)
    given = given_labels(labels, len(rows))
    adapted = as_model(model)
    if adapted.classes is not None and len(adapted.classes) > 1:
        numbers = class_numbers(given, adapted.classes)
        asked = ask_rows(as_model(model, output="label"), rows, batch_size)
        wanted = np.asarray(codes(adapted.classes))[numbers]
        return _accuracy(asked.answers[:, 0] == wanted)
    answers = ask_rows(adapted, rows, batch_size).answers
    # Several raw outputs and one label per row are a classifier's that says no more about itself.
    scores_classes = decides(answers.shape[1], adapted.kind) and given.ndim == 1
    if adapted.kind == "label":
        return _accuracy(answers[:, 0] == numeric_labels(given, answers.shape)[:, 0])
    if scores_classes:
        by_number = by_class(answers, adapted.kind)
        numbers = class_numbers(given, tuple(range(by_number.shape[1])))
        return _accuracy(labels_of(by_number) == numbers)
    return _numbers(answers, numeric_labels(given, answers.shape))


def _accuracy(right: NDArray[Any]) -> LabelledScore:
    return LabelledScore("accuracy", right.astype(np.float64), queries=len(right))


def _numbers(answers: Floats, truth: Floats) -> LabelledScore:
    """R² averaged over targets, by rows: R² less (u − (1 − R²)·v)/mean v, u and v squares."""
    errors = (truth - answers) ** 2
    spread = (truth - truth.mean(axis=0)) ** 2
    whole = spread.mean(axis=0)
    if not (whole > 0).all():
        raise PointsError("the labels are all the same number, and R² needs them to differ")
    share = errors.mean(axis=0) / whole
    rows = 1 - share - (errors - share * spread) / whole
    absolute = Moments.of(np.abs(truth - answers).mean(axis=1))
    return LabelledScore(
        "R²",
        np.asarray(rows.mean(axis=1)),
        Estimate(float(absolute.mean), float(absolute.error)),
        queries=len(rows),
    )


def label_difference(
    names: tuple[str, str], scores: tuple[LabelledScore, LabelledScore], level: float
) -> Difference:
    """How much better one model's score is than another's, row by row at the same rows."""
    one, two = scores
    if one.estimate.value < two.estimate.value:
        names, (one, two) = (names[1], names[0]), (two, one)
    gaps = one.rows - two.rows
    moments = Moments.of(gaps)
    estimate = Estimate(float(moments.mean), float(moments.error))
    if one.metric == "accuracy":
        interval = paired_share_interval(
            int((gaps > 0).sum()), int((gaps < 0).sum()), len(gaps), level
        )
    else:
        reach = float(half_widths(estimate.error, len(gaps), level))
        interval = estimate.value - reach, estimate.value + reach
    strength = estimate.value / estimate.error if estimate.error > 0 else 0.0
    difference = Difference(*names, estimate, interval, strength)
    if difference.real:
        return difference
    return difference._replace(why=ONE_POINT if len(gaps) < 2 else CHANCE)
