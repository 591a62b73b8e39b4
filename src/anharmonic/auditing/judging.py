"""The best of the quick models as a judge: what a good model of this reference would say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic.auditing.yardsticks import Yardstick

__all__ = ["Judge", "choose_judge", "choose_peers"]

TEMPERATURES = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
SOFTENED = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)


class Judge(NamedTuple):
    """The yardstick that does best in cross-validation.

    Parameters
    ----------
    yardstick
        Itself.
    held_out
        Its cross-validated answers at the reference's sample; probabilities are calibrated.
    new
        The same at new rows.
    loss
        Its cross-validated mean loss: a share of wrong classes, or a mean squared error.
    base
        What the most frequent class, or the mean, would lose.
    """

    yardstick: Yardstick
    held_out: Floats
    new: Floats
    loss: float
    base: float


def choose_judge(yardsticks: Sequence[Yardstick], labels: NDArray[Any], task: str) -> Judge | None:
    """The best of the yardsticks by their cross-validated loss; None where there are none."""
    if not yardsticks:
        return None
    losses = [float(_losses(each.held_out, labels, task).mean()) for each in yardsticks]
    best = yardsticks[int(np.argmin(losses))]
    held_out, new = best.held_out, best.new
    if task == "classes":
        power, soft = _calibration(held_out, labels)
        held_out, new = _calibrated(held_out, power, soft), _calibrated(new, power, soft)
        base = 1 - float(np.bincount(labels).max()) / len(labels)
    else:
        base = float(np.var(labels))
    return Judge(best, held_out, new, min(losses), base)


def choose_peers(
    yardsticks: Sequence[Yardstick], labels: NDArray[Any], task: str
) -> tuple[Yardstick, ...]:
    """The yardsticks that are not told apart from the best one, itself among them.

    Those whose cross-validated losses are on average within two standard errors of the best
    one's, row by row: any of them could have been the judge of another sample of these rows.
    """
    losses = [_losses(each.held_out, labels, task) for each in yardsticks]
    least = min(losses, key=lambda each: float(each.mean()))
    error = 1 / np.sqrt(len(labels))
    return tuple(
        yardstick
        for yardstick, own in zip(yardsticks, losses, strict=True)
        if (own - least).mean() <= 2 * (own - least).std() * error
    )


def _losses(answers: Floats, labels: NDArray[Any], task: str) -> Floats:
    """How wrong each answer is, (rows,)."""
    if task == "classes":
        return np.asarray(answers.argmax(axis=1) != labels, dtype=np.float64)
    return np.asarray((answers[:, 0] - labels) ** 2)


def _calibrated(probabilities: Floats, temperature: float, soft: float) -> Floats:
    """Powers of probabilities, mixed with equal ones: sharper or softer, never surer than that."""
    powers = np.clip(probabilities, 1e-6, 1.0) ** (1 / temperature)
    if not len(powers):
        return powers
    return np.asarray(
        (1 - soft) * powers / powers.sum(axis=1, keepdims=True) + soft / powers.shape[1]
    )


def _calibration(probabilities: Floats, labels: NDArray[Any]) -> tuple[float, float]:
    """The temperature and the softening that give held-out labels the largest likelihood."""
    rows = np.arange(len(labels))
    best, least = (1.0, 0.0), np.inf
    for temperature in TEMPERATURES:
        for soft in SOFTENED:
            given = _calibrated(probabilities, temperature, soft)[rows, labels]
            loss = float(-np.log(np.maximum(given, 1e-12)).mean())
            if loss < least:
                best, least = (temperature, soft), loss
    return best
