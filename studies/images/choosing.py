"""Which candidate is best, and how much of that is luck: the choice is made again and again.

Every resample of the photos makes the choice anew. How often each candidate comes out first says
how sure the choice is. What a chosen one loses from its own resample to all photos, on average,
is the optimism of having chosen (Efron and Tibshirani), and what it has on the photos its resample
left out is what to expect of photos that nobody has seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from studies.images.contest import MARGIN, Contest
from studies.images.ranking import Interval, interval, resampled, resamples
from studies.images.scoring import Score

__all__ = ["ROUNDS", "Choice", "choice"]

ROUNDS = 200


@dataclass(frozen=True)
class Choice:
    """Candidates by their smallest AUROC over networks and labels, the best first.

    - `ordered`: each with that figure on all photos. `shares`: how often a resample chose it.
    - `behind`: how much smaller it is than the best's, paired by resamples.
    - `optimism`: what choosing adds to the best's figure.
    - `unseen`: the chosen one's figure on photos that had no part in choosing, and `gain` how much
      it is above the margin there, on average over networks and labels.
    """

    ordered: list[tuple[Score, float]]
    shares: dict[str, float]
    behind: dict[str, Interval]
    optimism: float
    unseen: Interval
    gain: Interval

    @property
    def best(self) -> Score:
        return self.ordered[0][0]

    @property
    def corrected(self) -> float:
        """The best's smallest AUROC without what choosing added."""
        return self.ordered[0][1] - self.optimism

    @property
    def untold(self) -> list[Score]:
        """Candidates that cannot be told from the best: the interval of the difference holds 0."""
        every = [score for score, _ in self.ordered[1:]]
        return [each for each in every if not self.behind[str(each)].high < 0]


def choice(contest: Contest, rounds: int = ROUNDS) -> Choice:
    """Choose on all photos, and on every resample of them."""
    counts = resamples(len(contest.found[0]), contest.seed, rounds)
    left = (counts == 0).astype(np.float64)
    ordered = contest.ordered
    worst, unseen = (np.empty((len(ordered), rounds)) for _ in range(2))
    means = np.empty((len(ordered), rounds))
    for at, (score, _) in enumerate(ordered):
        worst[at] = np.fmin.reduce(_everywhere(contest, score, counts))
        outside = _everywhere(contest, score, left)
        unseen[at], means[at] = np.fmin.reduce(outside), _mean(outside)
    best, each = np.nan_to_num(worst, nan=-1.0).argmax(axis=0), np.arange(rounds)
    whole = np.array([figure for _, figure in ordered])
    first = Counter(best.tolist())
    margin = _mean(_everywhere(contest, MARGIN, left))
    return Choice(
        ordered=ordered,
        shares={str(ordered[at][0]): many / rounds for at, many in first.items()},
        behind={
            str(score): interval(figure - whole[0], worst[at] - worst[0])
            for at, (score, figure) in enumerate(ordered)
        },
        optimism=float(_mean((worst[best, each] - whole[best])[:, None])[0]),
        unseen=_middle(unseen[best, each]),
        gain=_middle(means[best, each] - margin),
    )


def _everywhere(contest: Contest, score: Score, counts: Floats) -> Any:
    """The AUROC in every cell and resample, (cells, resamples)."""
    return np.stack(
        [
            resampled(score.of(each)[known], unstable, counts[:, known])
            for each, _, known, unstable in contest.cells()
        ]
    )


def _mean(cells: Floats) -> Floats:
    """Over the cells that are known."""
    known = np.isfinite(cells)
    total, many = np.where(known, cells, 0.0).sum(axis=0), known.sum(axis=0)
    means: Floats = np.divide(total, many, out=np.full(len(total), np.nan), where=many > 0)
    return means


def _middle(draws: Floats) -> Interval:
    """What resamples gave in the middle, and between which ends 95% of them."""
    known = draws[np.isfinite(draws)]
    return interval(float(np.median(known)) if len(known) else float("nan"), draws)
