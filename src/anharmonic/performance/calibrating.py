"""From a model's confidence to the share that is right at it, by isotonic regression.

References: Zadrozny and Elkan, "Transforming classifier scores into accurate multiclass
probability estimates" (2002).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from anharmonic._core.protocols import Floats

__all__ = ["Calibration", "fit_calibration", "logits"]

EDGE = 1e-4
"""Confidences nearer to 0 or 1 than this are alike: their logarithms must not carry a fit."""


def logits(probabilities: Floats) -> Floats:
    """Log p/(1−p), with p kept off 0 and 1."""
    inside = np.clip(probabilities, EDGE, 1 - EDGE)
    return np.asarray(np.log(inside) - np.log1p(-inside))


class Calibration(NamedTuple):
    """One class's calibration: the ends of the steps of a rising curve, and its levels there."""

    steps: Floats
    levels: Floats

    def __call__(self, confidence: Floats) -> Floats:
        return np.asarray(np.interp(confidence, self.steps, self.levels))


def fit_calibration(confidence: Floats, right: Floats) -> Calibration:
    """Of confidences (rows,) in a class and whether it was the label."""
    steps, place, count = np.unique(confidence, return_inverse=True, return_counts=True)
    means = np.bincount(place, right) / count
    fitted = isotonic_regression(means, weights=count)
    # Only the two ends of each level: in between the curve is flat.
    ends = np.unique(np.concatenate([fitted.blocks[:-1], fitted.blocks[1:] - 1]))
    return Calibration(steps[ends], fitted.x[ends])
