"""Rows of which some have labels, and the chances with which these were chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.performance.estimator import Estimator
from anharmonic.performance.fitting import number_labels, plain_labels
from anharmonic.performance.metrics import observed_credits

__all__ = ["Sampled", "chances_of", "check_chosen", "sampled_rows"]


class Sampled(NamedTuple):
    """Rows of which some have labels: outputs, credits expected and observed, chances (rows, …).

    Observed credits are 0 in rows without a label.
    """

    outputs: Floats
    expected: Floats
    observed: Floats
    chosen: NDArray[np.bool_]
    chances: Floats

    @property
    def labelled(self) -> int:
        """How many have a label."""
        return int(self.chosen.sum())

    @property
    def weights(self) -> Floats:
        """How many rows each labelled one stands for, (rows,), 0 for the others."""
        weight = np.zeros(len(self.chosen))
        weight[self.chosen] = 1 / self.chances[self.chosen]
        # A ratio by Σ weights keeps few labels from carrying the count as well (Hájek, 1971).
        return weight * (len(weight) / weight.sum()) if weight.sum() > 0 else weight

    @property
    def freedom(self) -> float:
        """Degrees of freedom: equal labels that weigh as much (Kish, 1965), less 1."""
        weights = self.weights
        squares = float((weights**2).sum())
        return max(float(weights.sum()) ** 2 / squares - 1, 1.0) if squares > 0 else 1.0


def sampled_rows(
    estimator: Estimator,
    outputs: Floats,
    features: Floats | None,
    labels: NDArray[Any],
    chosen: NDArray[np.bool_],
    probabilities: Floats | float | None,
) -> Sampled:
    """Rows with the labels of the chosen ones, checked; labels are of all rows or of these.

    Where no chances are given all rows had the same one, which is the share of chosen rows.
    """
    check_chosen(chosen, len(outputs))
    given = plain_labels(labels)
    if len(given) == len(chosen):
        given = [label for label, mine in zip(given, chosen.tolist(), strict=True) if mine]
    if len(given) != chosen.sum():
        raise PointsError(f"{len(given)} labels for {chosen.sum()} rows: give one per chosen row")
    if probabilities is None:
        probabilities = max(float(chosen.mean()), 1e-300) if len(chosen) else 1.0
    chances = chances_of(probabilities, len(outputs))
    known = chances[chosen]
    if not ((known > 0) & (known <= 1)).all():
        raise PointsError("a chosen row has no chance between 0 and 1: give those it was chosen by")
    if len(known) and (known == 1).all() and (chances[~chosen] == 1).any():
        raise PointsError(
            f"{chosen.sum()} of {len(chosen)} rows have labels, and all with the chance 1: give "
            "the chances that they were chosen by, or none if all rows had the same"
        )
    expected = estimator.expected(outputs, features)
    numbered = number_labels(given, estimator.kind, estimator.classes or None, len(given))
    observed = np.zeros_like(expected)
    observed[chosen] = observed_credits(outputs[chosen], numbered, estimator.kind)
    return Sampled(outputs, expected, observed, chosen, chances)


def check_chosen(chosen: NDArray[np.bool_], count: int) -> None:
    """Refuse what does not say of each row whether it has a label, such as rows' numbers."""
    if chosen.shape != (count,):
        raise PointsError(
            f"chosen has the shape {chosen.shape} for {count} rows: give True or False for each"
        )


def chances_of(probabilities: Floats | float, count: int) -> Floats:
    """The chance of each row to be chosen, (rows,), from one for all or one for each."""
    given = np.asarray(probabilities, dtype=np.float64)
    if given.shape not in ((), (count,)):
        raise PointsError(
            f"chances have the shape {given.shape} for {count} rows: give one for each row, also "
            "of those that were not chosen, or one number"
        )
    return np.broadcast_to(given, (count,))
