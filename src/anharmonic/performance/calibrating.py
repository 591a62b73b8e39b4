"""From a model's confidence to the share that is right at it: two calibrations, averaged.

Beta calibration is smooth and has three numbers; isotonic regression follows any rising curve and
is rough where rows are few. Their average was nearest the truth where the method was chosen.

References: Kull, Silva Filho and Flach, "Beta calibration" (2017).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit

from anharmonic._core.protocols import Floats

__all__ = ["Calibration", "fit_calibration", "logits"]

EDGE = 1e-4
"""Confidences nearer to 0 or 1 than this are alike: their logarithms must not carry a fit."""


def logits(probabilities: Floats) -> Floats:
    """Log p/(1−p), with p kept off 0 and 1."""
    inside = np.clip(probabilities, EDGE, 1 - EDGE)
    return np.asarray(np.log(inside) - np.log1p(-inside))


class Calibration(NamedTuple):
    """One class's calibration: beta's numbers (3,), and the steps of the isotonic curve."""

    beta: Floats
    steps: Floats
    levels: Floats

    def __call__(self, confidence: Floats) -> Floats:
        smooth = expit(_terms(confidence) @ self.beta)
        return np.asarray((smooth + np.interp(confidence, self.steps, self.levels)) / 2)


def fit_calibration(confidence: Floats, right: Floats) -> Calibration:
    """Of confidences (rows,) in a class and whether it was the label."""
    terms = _terms(confidence)

    def loss(beta: Floats) -> tuple[float, Floats]:
        logit = terms @ beta
        value = float((np.logaddexp(0, logit) - right * logit).mean())
        return value, terms.T @ (expit(logit) - right) / len(right)

    found = minimize(
        loss, np.array([1.0, 1.0, 0.0]), jac=True, method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
    )  # fmt: skip
    steps, place, count = np.unique(confidence, return_inverse=True, return_counts=True)
    means = np.bincount(place, right) / count
    fitted = isotonic_regression(means, weights=count)
    # Only the two ends of each level: in between the curve is flat.
    ends = np.unique(np.concatenate([fitted.blocks[:-1], fitted.blocks[1:] - 1]))
    return Calibration(np.asarray(found.x), steps[ends], fitted.x[ends])


def _terms(confidence: Floats) -> Floats:
    """Logit = a·log p − b·log(1−p) + c: the three columns."""
    inside = np.clip(confidence, EDGE, 1 - EDGE)
    return np.stack([np.log(inside), -np.log1p(-inside), np.ones(len(inside))], axis=1)
