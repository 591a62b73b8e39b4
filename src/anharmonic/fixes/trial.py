"""What every proposal is held against: the model on rows that were held out, fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments, half_widths, welch
from anharmonic.fixes.holding_out import Fold, Gain, measured_gain
from anharmonic.fixes.refitting import Asked, Data, ask, refit
from anharmonic.fixes.scoring import Scoring, scoring_for
from anharmonic.performance.result import Interval

__all__ = ["Trial", "begin_trial"]


@dataclass(frozen=True, eq=False)
class Trial:
    """A model, its reference in folds, and how it does on the rows that each fold holds out.

    Parameters
    ----------
    model, estimator
        The model as it was given, and what can be fitted anew, if anything can.
    reference, pool
        Labelled rows, and rows without labels.
    folds, fitted, asked, scores
        The folds, and for each the model fitted without its held-out rows, its answers there and
        their scores.
    scoring
        What scores are.
    level
        Of intervals, so that all proposals together err as rarely as was asked for.
    tolerance
        How much of the score may be given up for steadiness.
    count
        How many rows may be labelled.
    seed
        Of all that is random.
    """

    model: object
    estimator: Any | None
    reference: Data
    pool: Any | None
    folds: Sequence[Fold]
    fitted: Sequence[Any]
    asked: Sequence[Asked]
    scores: Sequence[Floats]
    scoring: Scoring
    level: float
    tolerance: float
    count: int
    seed: int

    def score(self, model: object, data: Data) -> Floats:
        """A model's scores at labelled rows, (rows,)."""
        return self.scoring.row_scores(ask(model, data.rows), data.labels)

    def gain(self, before: Sequence[Floats], after: Sequence[Floats]) -> Gain:
        """What changes row by row."""
        return measured_gain(before, after, self.level)

    def contrast(self, inside: Floats, outside: Floats) -> Gain:
        """How much larger the mean is inside than outside, of different rows (Welch, 1947)."""
        if min(len(inside), len(outside)) < 2:
            nothing = Interval(0.0, -np.inf, np.inf)
            return Gain(float("nan"), float("nan"), nothing, len(inside) + len(outside))
        difference, count = welch(Moments.of(inside), Moments.of(outside))
        half = float(half_widths(np.float64(difference.error), np.float64(count), self.level))
        value = float(difference.value)
        return Gain(
            float(outside.mean()),
            float(inside.mean()),
            Interval(value, value - half, value + half),
            len(inside) + len(outside),
        )

    def whole(self) -> Any:
        """The model fitted to the whole reference; one that cannot be fitted as it is."""
        return self.model if self.estimator is None else refit(self.estimator, self.reference)


def begin_trial(
    model: object,
    estimator: Any | None,
    reference: Data,
    folds: Sequence[Fold],
    *,
    pool: Any | None,
    metric: str | None,
    level: float,
    tolerance: float,
    count: int,
    seed: int,
) -> Trial:
    """Fit the model without each fold's held-out rows, and ask it there."""
    fitted = [model if estimator is None else refit(estimator, fold.found_on) for fold in folds]
    asked = [ask(part, fold.held_out.rows) for part, fold in zip(fitted, folds, strict=True)]
    scoring = scoring_for(metric, asked[0], reference)
    scores = [
        scoring.row_scores(answers, fold.held_out.labels)
        for answers, fold in zip(asked, folds, strict=True)
    ]
    return Trial(
        model=model,
        estimator=estimator,
        reference=reference,
        pool=pool,
        folds=folds,
        fitted=fitted,
        asked=asked,
        scores=scores,
        scoring=scoring,
        level=level,
        tolerance=tolerance,
        count=count,
        seed=seed,
    )
