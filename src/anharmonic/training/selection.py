"""Choosing a model with scikit-learn by its score and by its gamma."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core.protocols import Ball
from anharmonic._core.randomness import generator
from anharmonic._core.streams import TrainingStream
from anharmonic.errors import SettingsError
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.over_data.asking import names_rows, refuse_radius, weights_of_ball
from anharmonic.measures.over_data.weights import Given, Weights
from anharmonic.measures.setup.settling import SetupArguments, setup_arguments_in, takes_setup
from anharmonic.regions import Region, as_region, unmoved
from anharmonic.regions.tables import Kinds

__all__ = ["GammaScorer", "gamma_scorer", "steadiest_within_one_error"]

COUNT = 200
"""Points of a fold that spheres are put around, if not told."""


@dataclass(frozen=True)
class GammaScorer:
    """Less the mean gamma of an estimator at the points it is scored on: larger is better.

    Parameters
    ----------
    radius, output, scale, reference, seed, moving, kinds, bounds, batch_size
        As in `gamma`.
    count
        How many points are measured; 200 if not told, and over the data all.
    ball
        As in `gamma`.
    """

    radius: float | Literal["auto"] = "auto"
    output: object = None
    scale: ArrayLike | Literal["auto"] | None = "auto"
    reference: object = None
    count: int | None = None
    seed: int = 0
    moving: Sequence[str | int] | None = None
    kinds: Kinds | None = None
    bounds: object = None
    batch_size: int | None = None
    ball: str | Ball | Weights = "auto pairs"

    def __post_init__(self) -> None:
        # Now, and in words: a search takes an error while it scores for a missing number.
        if self._over_data:
            refuse_radius(setup_arguments_in(self))
            if isinstance(weights_of_ball(self.ball), Given):
                raise SettingsError(
                    "a matrix of weights speaks of its own rows and every fold has others: name "
                    'the weights, such as ball="data forest"'
                )
        if self.count is not None and self.count < 1:
            raise SettingsError(f"count is at least 1, got {self.count}")

    @property
    def _over_data(self) -> bool:
        return isinstance(self.ball, Weights) or names_rows(self.ball)

    def __call__(self, estimator: object, points: object, labels: object = None) -> float:
        """What scikit-learn calls a scorer with; labels are not looked at."""
        region = unmoved(points) if self._over_data else as_region(points)
        count = self.count or (len(region) if self._over_data else COUNT)
        sample = _sample(region, count, self.seed)
        scores = gamma(estimator, sample, ball=self.ball, **setup_arguments_in(self))
        return -scores.mean


def _sample(region: Region, count: int, seed: int) -> Region:
    """A random sample of the rows of an array or a table, in their own order."""
    if len(region) <= count:
        return region
    return region.rows(
        np.sort(
            generator(seed, TrainingStream.SCORER_SAMPLE).choice(len(region), count, replace=False)
        )
    )


@takes_setup
def gamma_scorer(
    *,
    count: int | None = None,
    ball: str | Ball | Weights = "auto pairs",
    **setup: Unpack[SetupArguments],
) -> GammaScorer:
    """A scorer for `GridSearchCV`, `cross_validate` and the like, from `gamma`'s arguments.

    Parameters
    ----------
    count
        How many points of a fold are measured, drawn by the `seed`: folds may be sorted. 200 if
        not told, and over the data all of them.
    ball
        As in `gamma`. "data" takes the fold's other rows in place of a sphere, or those of
        `reference`: tables may have categories and missing cells, a row costs one query, and
        radius, scale and bounds mean nothing.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`. Give `reference`, the data the estimators train on, so that radius and
        scale are the same in every fold.
    """
    return GammaScorer(count=count, ball=ball, **setup)


def steadiest_within_one_error(
    score: str = "score", gamma: str = "gamma"
) -> Callable[[Mapping[str, ArrayLike]], int]:
    """A rule for `refit=`: the smallest gamma within one standard error of the best score.

    Parameters
    ----------
    score, gamma
        Names in the search's `scoring`.

    Notes
    -----
    Breiman's one standard error rule, with gamma in place of simplicity.

    Examples
    --------
    >>> results = {
    ...     "mean_test_score": np.array([0.90, 0.89, 0.70]),
    ...     "split0_test_score": np.array([0.88, 0.87, 0.70]),
    ...     "split1_test_score": np.array([0.92, 0.91, 0.70]),
    ...     "mean_test_gamma": np.array([-0.5, -0.1, -0.0]),
    ... }
    >>> steadiest_within_one_error()(results)
    1
    """

    def best_index(results: Mapping[str, ArrayLike]) -> int:
        missing = [f"mean_test_{name}" for name in (score, gamma)]
        missing = [name for name in missing if name not in results]
        if missing:
            raise SettingsError(
                f"no {', '.join(missing)} in the results: name the scorers in scoring={{…}} as in "
                "steadiest_within_one_error(score, gamma)"
            )
        splits = np.stack(
            [
                np.asarray(values)
                for name, values in results.items()
                if name.startswith("split") and name.endswith(f"_test_{score}")
            ]
        )
        means = np.asarray(results[f"mean_test_{score}"])
        best = int(np.nanargmax(means))
        error = splits[:, best].std(ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else 0.0
        within_error = means >= means[best] - error
        # Scorers give less gamma: the largest is the steadiest.
        steadiness = np.where(within_error, np.asarray(results[f"mean_test_{gamma}"]), -np.inf)
        return int(np.nanargmax(steadiness))

    return best_index
