"""What a row's label is expected to be, learnt from rows with labels, out of their own folds.

For classes: the calibrated confidence, and half of what boosted trees on features and outputs
find that it lacks. Trees follow a shift that the confidence does not show, calibration holds
where trees have seen too little: the average was nearest the truth where the method was chosen.
For numbers: trees for the logarithm of the expected absolute error, and E e² = κ·(E|e|)².
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic.performance.boosting import Trees, fit_trees
from anharmonic.performance.calibrating import Calibration, fit_calibration, logits
from anharmonic.performance.metrics import Task, observed_credits

__all__ = ["Member", "contiguous_folds", "design", "fit_folds", "fit_member", "interleaved_folds"]

TREES = 0.5
"""The share of the trees' correction that is taken."""
LEAST_CREDIT = 1e-4
LEAST_ERROR = 0.02
"""The least error expected of a row, as a share of the mean error."""
INNER = 3
"""Folds out of which a calibration's residuals are taken."""


class Member(NamedTuple):
    """One fit: for classes a calibration and trees per column, for numbers trees and a scale.

    Parameters
    ----------
    calibrations, trees
        Of two classes the second's alone, of more each class's and that of the decided one; no
        trees where there are no features.
    scale
        Of numbers the mean error, and κ.
    """

    calibrations: tuple[Calibration, ...]
    trees: tuple[Trees, ...]
    scale: tuple[float, float] = (1.0, 1.0)

    def expected(self, outputs: Floats, inputs: Floats) -> Floats:
        """Expected credits (rows, columns)."""
        if not self.calibrations:
            mean, ratio = self.scale
            errors = mean * np.maximum(np.exp(self.trees[0](inputs)), LEAST_ERROR)
            return np.stack([errors, ratio * errors**2], axis=1)
        credits = calibrated(outputs, self.calibrations)
        if not self.trees:
            return credits
        rest = np.stack([trees(inputs) for trees in self.trees], axis=1)
        if rest.shape[1] == 1:
            rest = np.concatenate([-rest, rest], axis=1)
        return _shares(credits + TREES * rest)


def design(outputs: Floats, features: Floats | None) -> Floats:
    """The columns that trees see: features, and outputs (of two classes the second)."""
    if outputs.ndim == 1:
        shown = outputs[:, None]
    else:
        shown = logits(outputs[:, 1:] if outputs.shape[1] == 2 else outputs)
    return shown if features is None else np.concatenate([features, shown], axis=1)


def calibrated(outputs: Floats, calibrations: tuple[Calibration, ...]) -> Floats:
    """Calibrated probabilities (rows, classes) that add up to 1.

    Of several classes there may be one calibration more, of the decided one.
    """
    if outputs.shape[1] == 2:
        second = calibrations[0](outputs[:, 1])
        return _shares(np.stack([1 - second, second], axis=1))
    columns = [calibrations[k](outputs[:, k]) for k in range(outputs.shape[1])]
    credits = _shares(np.stack(columns, axis=1))
    if len(calibrations) == outputs.shape[1]:
        return credits
    # Each class by itself says too much of the decided one, which was chosen for being largest.
    decided = outputs.argmax(axis=1)[:, None]
    usual = np.take_along_axis(credits, decided, axis=1)
    right = np.clip(calibrations[-1](usual[:, 0])[:, None], LEAST_CREDIT, 1 - LEAST_CREDIT)
    credits = credits * (1 - right) / np.maximum(1 - usual, LEAST_CREDIT)
    np.put_along_axis(credits, decided, right, axis=1)
    return _shares(credits)


def fit_member(
    outputs: Floats,
    labels: NDArray[Any],
    inputs: Floats,
    kind: Task,
    seed: int,
    *,
    trees: bool,
) -> Member:
    """Fit on these rows; `trees` says whether there are features to learn from."""
    credits = observed_credits(outputs, labels, kind)
    if kind == "numbers":
        return _fit_errors(credits[:, 0], inputs, seed)
    columns = [1] if credits.shape[1] == 2 else list(range(credits.shape[1]))

    def fit(rows: Any) -> tuple[Calibration, ...]:
        fitted = tuple(fit_calibration(outputs[rows, k], credits[rows, k]) for k in columns)
        if len(columns) == 1:
            return fitted
        decided = outputs[rows].argmax(axis=1)[:, None]
        usual, right = (
            np.take_along_axis(part, decided, axis=1)[:, 0]
            for part in (calibrated(outputs[rows], fitted), credits[rows])
        )
        return (*fitted, fit_calibration(usual, right))

    whole = fit(slice(None))
    if not trees:
        return Member(whole, ())
    left = credits.copy()
    fold = interleaved_folds(len(outputs), INNER)
    for number in range(INNER):
        mine = fold == number
        left[mine] -= calibrated(outputs[mine], fit(~mine))
    rests = [fit_trees(inputs, left[:, k], "squared_error", seed) for k in columns]
    return Member(whole, tuple(rests))


def _fit_errors(errors: Floats, inputs: Floats, seed: int) -> Member:
    """Trees for absolute errors: Poisson's loss keeps means right and weighs by the mean.

    The more rows, the more leaves: few of them draw single rows to the mean, which is right for
    a row and wrong for a shift of many.
    """
    mean = float(errors.mean())
    leaves = int(np.clip(len(errors) / 1000, 8, 31))
    # Poisson's loss has no fit where all errors are 0.
    trees = fit_trees(inputs, np.maximum(errors / (mean or 1.0), 1e-9), "poisson", seed, leaves)
    return Member((), (trees,), (mean, 1.0))


def fit_folds(
    outputs: Floats,
    labels: NDArray[Any],
    inputs: Floats,
    fold: Integers,
    kind: Task,
    seed: int,
    *,
    trees: bool,
) -> tuple[tuple[Member, ...], Floats]:
    """A fit without each fold, and the expected credits of each row by that without its own."""
    observed = observed_credits(outputs, labels, kind)
    members = []
    expected = np.empty_like(observed)
    for number in range(int(fold.max()) + 1):
        rest, mine = fold != number, fold == number
        data = outputs[rest], labels[rest], inputs[rest]
        members.append(fit_member(*data, kind, seed + number, trees=trees))
        expected[mine] = members[-1].expected(outputs[mine], inputs[mine])
    if kind == "classes":
        return tuple(members), expected
    # κ by rows that the fits did not see.
    ratio = float(observed[:, 1].mean()) / max(float((expected[:, 0] ** 2).mean()), 1e-300)
    expected[:, 1] *= ratio
    scaled = (member._replace(scale=(member.scale[0], ratio)) for member in members)
    return tuple(scaled), expected


def _shares(credits: Floats) -> Floats:
    inside = np.clip(credits, LEAST_CREDIT, 1.0)
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))


def contiguous_folds(count: int, folds: int) -> Integers:
    """The stretch each row belongs to: rows that follow each other are left out together."""
    return np.arange(count) * folds // max(count, 1)


def interleaved_folds(count: int, folds: int) -> Integers:
    """Every `folds`-th row together: what is left out is like what is kept."""
    return np.arange(count) % folds
