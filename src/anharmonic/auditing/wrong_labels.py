"""How many labels are wrong, by the likelihood of what a judge that never saw them says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats
from scipy.special import expit, gammaln, logit

from anharmonic._core.protocols import Floats
from anharmonic.auditing.finding import Measured
from anharmonic.auditing.statistics import normal_tail

__all__ = ["flipped_share", "swapped_share"]

HEAVIEST = 1.5
"""The least degrees of freedom of errors: the heaviest tails that they have by nature."""


def flipped_share(answers: Floats, labels: NDArray[Any], limit: float) -> tuple[Measured, float]:
    """The share of labels that were changed into another class, and its chance if `limit` were.

    Where classes overlap, an answer is right with a chance that goes to 1 as it gets surer: here
    σ(a + b·z), z the log-odds of the largest probability. Labels that were changed with chance ε
    hold it below 1−ε, however sure. ε by maximum likelihood, a and b free.
    """
    right = answers.argmax(axis=1) == labels
    odds = logit(np.clip(answers.max(axis=1), 1e-3, 1 - 1e-3))
    odds = (odds - odds.mean()) / (float(odds.std()) or 1.0)
    others = max(1, answers.shape[1] - 1)

    def loss(parameters: Floats, share: float) -> float:
        true = expit(parameters[0] + np.exp(parameters[1]) * odds)
        chance = (1 - share) * true + share * (1 - true) / others
        return float(-np.log(np.where(right, chance, 1 - chance) + 1e-300).sum())

    return _share_by_likelihood(loss, np.array([1.0, 0.0]), limit)


def swapped_share(labels: Floats, said: Floats, limit: float) -> tuple[Measured, float]:
    """The share of labels that belong to other rows, and the chance of that if `limit` did.

    A label is the judge's answer with an error of Student's law, in units of the errors' size at
    such answers; or, with chance ε, a draw from all labels. Errors above and below have sizes and
    tails of their own: labels that are skewed by nature (prices, concentrations) have large errors
    on one side, and labels of other rows have them on both. ε by maximum likelihood, its interval
    and the test by likelihood ratios.
    """
    errors = labels - said
    size = _local_size(said, errors)
    scaled = errors / size
    marginal = stats.gaussian_kde(labels)(labels) * size

    def loss(parameters: Floats, share: float) -> float:
        away = scaled - parameters[0]
        # Within what can be squared: errors that are all but one of them 0 lead far away.
        sizes = np.exp(np.clip(parameters[1:3], -50.0, 50.0))
        tails = HEAVIEST + np.exp(np.minimum(parameters[3:], 8.0))
        side = (away > 0).astype(int)
        # Two halves of Student's law that meet at their mode, where both are 1; half of the
        # inverse of the law's own density at 0 is what each half holds.
        log_shape = -(tails[side] + 1) / 2 * np.log1p((away / sizes[side]) ** 2 / tails[side])
        holds = float((sizes / (2 * np.exp(_log_peak(tails)))).sum())
        density = np.exp(log_shape) / holds
        return float(-np.log((1 - share) * density + share * marginal + 1e-300).sum())

    return _share_by_likelihood(loss, np.array([0.0, 0.0, 0.0, 1.0, 1.0]), limit)


def _share_by_likelihood(
    loss: Callable[[Floats, float], float], start: Floats, limit: float
) -> tuple[Measured, float]:
    """The share with the largest likelihood, its interval, and its chance if it were `limit`."""
    shares = np.array([0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.13, 0.17, 0.22, 0.3])
    losses = np.empty(len(shares))
    last = start
    for place, share in enumerate(shares.tolist()):
        # From where the share before ended, and from the start, lest one gets stuck.
        found = [
            optimize.minimize(loss, first, args=(share,), method="Nelder-Mead")
            for first in (last, start)
        ]
        best = min(found, key=lambda each: float(each.fun))
        last, losses[place] = best.x, best.fun
    least = int(np.argmin(losses))
    # Twice the ratio of log-likelihoods is χ² of one degree: 3.84 at 95%.
    inside = shares[2 * (losses - losses[least]) <= 3.84]
    ahead = 2 * (float(np.interp(limit, shares, losses)) - losses[least])
    chance = normal_tail(float(np.sqrt(max(0.0, ahead)))) if shares[least] > limit else 1.0
    measured = Measured(float(shares[least]), float(inside.min()), float(inside.max()), "share")
    return measured, chance


def _log_peak(freedom: Floats) -> Floats:
    """The logarithm of the density of Student's law at 0."""
    half = freedom / 2
    return np.asarray(gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(freedom * np.pi))


def _local_size(said: Floats, errors: Floats) -> Floats:
    """The usual size of errors among rows of similar answers, (rows,)."""
    size = np.empty(len(errors))
    smallest = 1e-9 * float(np.std(errors)) or 1.0
    for part in np.array_split(np.argsort(said, kind="stable"), 10):
        size[part] = max(1.4826 * float(np.median(np.abs(errors[part]))), smallest)
    return size
