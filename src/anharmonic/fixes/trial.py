"""What every proposal is held against: the model on rows that were held out, fold by fold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic.fixes.copies import keys_of
from anharmonic.fixes.gains import Contrast, Gain, measured_contrast, measured_gain
from anharmonic.fixes.holding_out import Fold
from anharmonic.fixes.intervals import Group
from anharmonic.fixes.refitting import Asked, ask, refit
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import Scoring, scoring_for

__all__ = ["Trial", "begin_trial"]

Flags = NDArray[np.bool_]

FURTHEST_DECISIONS = math.sqrt(2)
"""How far two decisions can be apart, as columns of 0 and 1: the most that gamma of them is."""


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

    @property
    def first_queries(self) -> int:
        """What asking the models at the held-out rows cost."""
        return sum(asked.queries for asked in self.asked)

    @property
    def first_refits(self) -> int:
        """What fitting them cost."""
        return 0 if self.estimator is None else len(self.folds)

    def score(self, model: object, data: Data) -> Floats:
        """A model's scores at labelled rows, (rows,)."""
        return self.scoring.row_scores(ask(model, data.rows), data.labels)

    def gain(
        self,
        before: Sequence[Floats],
        after: Sequence[Floats],
        measured: Sequence[Data] | None = None,
    ) -> Gain:
        """What changes row by row: of each fold's held-out rows, or those that were `measured`."""
        return measured_gain(
            before, after, self.level, keys=self._keys(measured), span=self.scoring.span
        )

    def steadier(
        self, before: Sequence[Floats], after: Sequence[Floats], measured: Sequence[Data]
    ) -> Gain:
        """The same of how unsteady rows are, with its sign turned: more is better."""
        return measured_gain(
            [-values for values in before],
            [-values for values in after],
            self.level,
            keys=self._keys(measured),
            span=FURTHEST_DECISIONS if self.scoring.is_classes else None,
        )

    def contrast(
        self, losses: Sequence[Floats], inside: Sequence[Flags], measured: Sequence[Data]
    ) -> Contrast:
        """How much larger losses are inside than outside, all folds together."""
        values, flags = np.concatenate(losses), np.concatenate(inside)
        keys = np.concatenate(self._keys(measured))
        groups = [Group(values[chosen], keys[chosen]) for chosen in (flags, ~flags)]
        return measured_contrast(groups[0], groups[1], self.level)

    def _keys(self, measured: Sequence[Data] | None) -> list[Integers]:
        held_out = [fold.held_out for fold in self.folds]
        return [keys_of(data, self.seed) for data in (held_out if measured is None else measured)]

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
    scoring = scoring_for(metric, asked[0], reference, folds[0].held_out)
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
