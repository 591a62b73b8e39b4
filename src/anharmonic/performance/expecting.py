"""What a row's label is expected to be, learnt from rows with labels, out of their own folds.

For classes: the calibrated confidence B, trees D for what is left of the label after B, and trees
C for the label itself, all of the outputs and the features; P = B + a·D + b·(C − B). For numbers:
trees for the absolute and for the squared error. Each is fitted with one stretch of the reference
left out, the weights are the best on the stretches left out, and further rows get the average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from anharmonic._core.protocols import Floats, Integers
from anharmonic.performance.boosting import LARGE, SMALL, Size, Trees, fit_trees
from anharmonic.performance.calibrating import Calibration, fit_calibration, logits
from anharmonic.performance.metrics import Task, observed_credits

__all__ = [
    "Member",
    "average_parts",
    "better_size",
    "blend",
    "contiguous_folds",
    "design",
    "fit_folds",
    "fit_member",
    "fit_weights",
]

LEAST_CREDIT = 1e-4
LEAST_ERROR = 0.02
"""The least error expected of a row, as a share of the mean error."""


@dataclass(frozen=True)
class Member:
    """One fit: a calibration per class, and trees for what each column of credits lacks."""

    calibrations: tuple[Calibration, ...]
    rests: tuple[Trees, ...]
    classifier: Trees | None

    def parts(self, outputs: Floats, inputs: Floats) -> Floats:
        """What is blended: (parts, rows, columns)."""
        if not self.calibrations:
            return np.stack([trees(inputs)[:, 0] for trees in self.rests], axis=1)[None]
        base = calibrated(outputs, self.calibrations)
        if self.classifier is None:
            return np.stack([base, np.zeros_like(base), base])
        rest = np.concatenate([trees(inputs) for trees in self.rests], axis=1)
        raw = self.classifier(inputs)
        if base.shape[1] == 2:
            rest = np.concatenate([-rest, rest], axis=1)
            second = expit(raw)
            return np.stack([base, rest, np.concatenate([1 - second, second], axis=1)])
        return np.stack([base, rest, softmax(raw, axis=1)])


def design(outputs: Floats, features: Floats | None) -> Floats:
    """The columns that trees see: features, and outputs (of two classes the second)."""
    if outputs.ndim == 1:
        shown = outputs[:, None]
    else:
        shown = logits(outputs[:, 1:] if outputs.shape[1] == 2 else outputs)
    return shown if features is None else np.concatenate([features, shown], axis=1)


def calibrated(outputs: Floats, calibrations: tuple[Calibration, ...]) -> Floats:
    """Calibrated probabilities (rows, classes) that add up to 1."""
    if outputs.shape[1] == 2:
        second = calibrations[0](outputs[:, 1])
        return np.stack([1 - second, second], axis=1)
    columns = [calibration(outputs[:, k]) for k, calibration in enumerate(calibrations)]
    return _shares(np.stack(columns, axis=1))


def fit_member(
    outputs: Floats,
    labels: NDArray[Any],
    inputs: Floats,
    kind: Task,
    seed: int,
    *,
    size: Size | None,
    inner: int = 3,
) -> Member:
    """Fit on these rows; what is left after calibration is taken out of `inner` folds.

    Trees are of this `size`; None for calibration alone.
    """
    credits = observed_credits(outputs, labels, kind)
    if kind == "numbers":
        rests = [fit_trees(inputs, credits[:, k], "squares", seed, size or SMALL) for k in range(2)]
        return Member((), tuple(rests), None)
    columns = [1] if credits.shape[1] == 2 else list(range(credits.shape[1]))

    def fit(rows: Any) -> tuple[Calibration, ...]:
        return tuple(fit_calibration(outputs[rows, k], credits[rows, k]) for k in columns)

    whole = fit(slice(None))
    present = len(np.unique(labels)) == credits.shape[1]
    if size is None or not present:
        return Member(whole, (), None)
    left = credits.copy()
    fold = np.arange(len(outputs)) % inner
    for number in range(inner):
        mine = fold == number
        left[mine] -= calibrated(outputs[mine], fit(~mine))
    rests = [fit_trees(inputs, left[:, k], "squares", seed, size) for k in columns]
    classifier = fit_trees(inputs, np.asarray(labels, dtype=np.int64), "classes", seed, size)
    return Member(whole, tuple(rests), classifier)


def fit_folds(
    outputs: Floats,
    labels: NDArray[Any],
    inputs: Floats,
    fold: Integers,
    kind: Task,
    seed: int,
    *,
    size: Size | None,
) -> tuple[tuple[Member, ...], Floats]:
    """A fit without each fold, and the parts (parts, rows, columns) of rows from their own."""
    members = []
    parts: Floats | None = None
    for number in range(int(fold.max()) + 1):
        rest, left = fold != number, fold == number
        data = outputs[rest], labels[rest], inputs[rest]
        members.append(fit_member(*data, kind, seed + number, size=size))
        mine = members[-1].parts(outputs[left], inputs[left])
        if parts is None:
            parts = np.empty((len(mine), len(outputs), mine.shape[2]))
        parts[:, left] = mine
    assert parts is not None
    return tuple(members), parts


def better_size(
    outputs: Floats, labels: NDArray[Any], inputs: Floats, kind: Task, seed: int
) -> Size:
    """The size of trees that is nearer the labels of every fifth row, fitted on the others."""
    left = np.arange(len(outputs)) % 5 == 0
    observed = observed_credits(outputs[left], labels[left], kind)
    errors = {}
    for size in (SMALL, LARGE):
        data = outputs[~left], labels[~left], inputs[~left]
        parts = fit_member(*data, kind, seed, size=size).parts(outputs[left], inputs[left])
        weights = fit_weights(parts, observed, kind)
        # Probabilities by Brier's score; of numbers the absolute error alone, squares are wild.
        misses = (blend(parts, weights, kind) - observed)[:, : None if kind == "classes" else 1]
        errors[size] = float((misses**2).mean())
    return min(errors, key=lambda size: errors[size])


def average_parts(members: tuple[Member, ...], outputs: Floats, inputs: Floats) -> Floats:
    """The members' parts, averaged one after the other."""
    total = members[0].parts(outputs, inputs)
    for member in members[1:]:
        total = total + member.parts(outputs, inputs)
    return np.asarray(total / len(members))


def fit_weights(parts: Floats, credits: Floats, kind: Task) -> Floats:
    """How to blend, from parts of rows that the fit did not see.

    For classes (a, b); for numbers the means of both errors, and κ with E e² = κ·(E|e|)². Trees
    for errors are not drawn to the mean: that helps single rows, and hides a shift of many.
    """
    if kind == "classes":
        base, rest, other = parts
        target, steps = credits - base, np.linspace(0, 1, 11)
        grid = [(a, b) for a in steps for b in steps if a + b <= 1 + 1e-9]
        losses = [float(((target - a * rest - b * (other - base)) ** 2).sum()) for a, b in grid]
        return np.array(grid[int(np.argmin(losses))])
    means = credits.mean(axis=0)
    first = np.maximum(parts[0, :, 0], LEAST_ERROR * means[0])
    return np.array([*means, means[1] / max(float((first**2).mean()), 1e-300)])


def blend(parts: Floats, weights: Floats, kind: Task) -> Floats:
    """Expected credits (rows, columns) from the parts."""
    if kind == "classes":
        base, rest, other = parts
        return _shares(base + weights[0] * rest + weights[1] * (other - base))
    means, ratio = weights[:2], weights[2]
    first = np.maximum(parts[0, :, 0], LEAST_ERROR * means[0])
    direct = np.maximum(parts[0, :, 1], LEAST_ERROR**2 * means[1])
    # Squares are few and large: half of what their trees say, half of what |e| implies.
    return np.stack([first, (direct + ratio * first**2) / 2], axis=1)


def _shares(credits: Floats) -> Floats:
    inside = np.clip(credits, LEAST_CREDIT, 1.0)
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))


def contiguous_folds(count: int, folds: int) -> Integers:
    """The stretch each row belongs to: rows that follow each other are left out together."""
    return np.arange(count) * folds // max(count, 1)
