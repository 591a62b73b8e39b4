"""How well a number tells wrong answers from right ones, with bootstrap errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from anharmonic._core.auroc import auroc_interval
from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.errors import InputError
from studies.streams import LanguageStudyStream

__all__ = ["ROUNDS", "Ranked", "Ranking"]

ROUNDS = 1000


@dataclass(frozen=True)
class Ranked:
    """An AUROC, or the difference of two, with what it was in every resampling."""

    value: float
    draws: Floats
    ends: tuple[float, float] | None = None

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.value, float(np.std(self.draws, ddof=1)))

    @property
    def interval(self) -> tuple[float, float]:
        """95%: an AUROC's own (see `auroc`), a difference's by percentiles."""
        if self.ends is not None:
            return self.ends
        low, high = np.quantile(self.draws, (0.025, 0.975))
        return float(low), float(high)

    def __sub__(self, other: Ranked) -> Ranked:
        """The paired difference: both saw the same resamplings."""
        return Ranked(self.value - other.value, self.draws - other.draws)


class Ranking:
    """Questions with right and wrong answers; the same resamplings for every number."""

    def __init__(self, wrong: Any, seed: int = 0, rounds: int = ROUNDS) -> None:
        self.wrong = np.asarray(wrong, dtype=bool)
        if self.wrong.all() or not self.wrong.any():
            each = "wrong" if self.wrong.all() else "right"
            raise InputError(f"the answers are all {each}, so nothing ranks them: ask more")
        rng = generator(seed, LanguageStudyStream.QUESTION_BOOTSTRAP)
        count = len(self.wrong)
        drawn = (
            np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(rounds)
        )
        counts = np.array([each for each in drawn if 0 < each @ self.wrong < count])
        self._counts = counts.astype(float)

    def of(self, values: Any) -> Ranked:
        """AUROC: the chance that a wrong answer has the larger value, ties half."""
        numbers = np.asarray(values, dtype=float)
        places = rankdata(numbers, method="dense") - 1
        value, low, high = auroc_interval(numbers, self.wrong)
        return Ranked(value, self._draws(places), (low, high))

    def _draws(self, places: Any) -> Floats:
        """In each resampling, over levels of equal values: wrong there times right below."""
        order = np.argsort(places, kind="stable")
        bad = self._counts[:, order] * self.wrong[order]
        good = self._counts[:, order] * ~self.wrong[order]
        starts = np.flatnonzero(np.diff(places[order], prepend=-1))
        bad, good = (np.add.reduceat(each, starts, axis=1) for each in (bad, good))
        below = np.cumsum(good, axis=1) - good / 2
        found: Floats = np.sum(bad * below, axis=1) / (bad.sum(axis=1) * good.sum(axis=1))
        return found

    def every(self, table: Mapping[str, Any]) -> dict[str, Ranked]:
        """AUROC of each column."""
        return {name: self.of(values) for name, values in table.items()}
