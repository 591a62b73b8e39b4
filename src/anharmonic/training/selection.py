"""Choosing a model with scikit-learn by its score and by its gamma."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic._core.randomness import generator
from anharmonic._core.streams import TrainingStream
from anharmonic.errors import SettingsError
from anharmonic.measures.gamma.measure import gamma
from anharmonic.regions import as_region

__all__ = ["GammaScorer", "gamma_scorer", "steadiest_within_one_error"]


@dataclass(frozen=True)
class GammaScorer:
    """Less the mean gamma of an estimator at the points it is scored on: larger is better."""

    radius: Any = "auto"
    output: Any = None
    scale: Any = "auto"
    reference: Any = None
    count: int = 200
    seed: int = 0

    def __call__(self, estimator: Any, points: Any, labels: Any = None) -> float:
        """What scikit-learn asks a scorer for; labels are not looked at."""
        measured = gamma(
            estimator,
            _some(points, self.count, self.seed),
            radius=self.radius,
            output=self.output,
            scale=self.scale,
            reference=self.reference,
            seed=self.seed,
            ball="auto pairs",
        )
        return -measured.mean


def _some(points: Any, count: int, seed: int) -> Any:
    """A random sample of the rows of an array or a table, in their own order."""
    region = as_region(points)
    if len(region) <= count:
        return region
    return region.rows(
        np.sort(
            generator(seed, TrainingStream.SCORER_SAMPLE).choice(len(region), count, replace=False)
        )
    )


def gamma_scorer(
    *,
    radius: Any = "auto",
    output: Any = None,
    scale: Any = "auto",
    reference: Any = None,
    count: int = 200,
    seed: int = 0,
) -> GammaScorer:
    """A scorer for `GridSearchCV`, `cross_validate` and the like, from `gamma`'s arguments.

    Give `reference`, the data the estimators train on, so that radius and scale are the same in
    every fold. `count` points of a fold are measured, drawn by the `seed`: folds may be sorted.
    """
    return GammaScorer(radius, output, scale, reference, count, seed)


def steadiest_within_one_error(
    score: str = "score", gamma: str = "gamma"
) -> Callable[[Mapping[str, Any]], int]:
    """A rule for `refit=`: of the candidates within one standard error of the best, the smallest
    gamma.

    `score` and `gamma` are names in the search's `scoring`. Breiman's one standard error rule, with
    gamma in place of simplicity.

    >>> results = {
    ...     "mean_test_score": np.array([0.90, 0.89, 0.70]),
    ...     "split0_test_score": np.array([0.88, 0.87, 0.70]),
    ...     "split1_test_score": np.array([0.92, 0.91, 0.70]),
    ...     "mean_test_gamma": np.array([-0.5, -0.1, -0.0]),
    ... }
    >>> steadiest_within_one_error()(results)
    1
    """

    def chosen(results: Mapping[str, Any]) -> int:
        missing = [f"mean_test_{name}" for name in (score, gamma)]
        missing = [name for name in missing if name not in results]
        if missing:
            raise SettingsError(
                f"no {', '.join(missing)} in the results: name the scorers in scoring={{…}} as in "
                "steadiest_within_one_error(score, gamma)"
            )
        splits = np.stack(
            [
                values
                for name, values in results.items()
                if name.startswith("split") and name.endswith(f"_test_{score}")
            ]
        )
        means = np.asarray(results[f"mean_test_{score}"])
        best = int(np.nanargmax(means))
        error = splits[:, best].std(ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else 0.0
        near = means >= means[best] - error
        steady = np.where(near, np.asarray(results[f"mean_test_{gamma}"]), -np.inf)
        return int(np.nanargmax(steady))

    return chosen
