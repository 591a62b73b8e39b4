"""Every score against every label of every network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from studies.images.measurements import Measurements
from studies.images.ranking import (
    Interval,
    auroc,
    interval,
    ranked,
    resampled,
    resamples,
)
from studies.images.scoring import LABELS, Label, Score, budgets, candidates, margin

__all__ = ["Contest"]

MARGIN = Score("margin", 0, margin)
FEW = 20
"""The most queries of a score that is recommended."""


@dataclass(frozen=True)
class Contest:
    """Networks measured on the same photos. A cell is a network and a label."""

    found: list[Measurements]
    seed: int

    @cached_property
    def labels(self) -> dict[tuple[str, str], Label]:
        """Every cell's label, by the network's name and the label's."""
        return {
            (each.network, name): Label.of(each, name) for each in self.found for name in LABELS
        }

    @cached_property
    def allowed(self) -> list[int]:
        return budgets(self.found)

    @cached_property
    def _counts(self) -> Floats:
        """Resamples of photos, the same for all networks and scores, so that they pair."""
        return resamples(len(self.found[0]), self.seed)

    def cells(self) -> Iterator[tuple[Measurements, str, Any, Any]]:
        """Network, label's name, the rows where it is known, and whether unstable there."""
        for each in self.found:
            for name in LABELS:
                label = self.labels[each.network, name]
                known = np.flatnonzero(label.known)
                yield each, name, known, label.unstable[known]

    def ranks(self, score: Score) -> list[Interval]:
        """The AUROC of a score in every cell."""
        return [
            ranked(score.of(each)[known], unstable) for each, _, known, unstable in self.cells()
        ]

    def gains(self, score: Score, rival: Score = MARGIN) -> tuple[list[Interval], Interval]:
        """How much above a rival in every cell, and on average: a paired bootstrap."""
        values, draws = [], []
        for each, _, known, unstable in self.cells():
            one, other = score.of(each)[known], rival.of(each)[known]
            counts = self._counts[:, known]
            values.append(auroc(one, unstable) - auroc(other, unstable))
            draws.append(resampled(one, unstable, counts) - resampled(other, unstable, counts))
        told = [interval(value, draw) for value, draw in zip(values, draws, strict=True)]
        clear = [at for at, value in enumerate(values) if np.isfinite(value)]
        if not clear:
            return told, Interval(np.nan, np.nan, np.nan)
        average = np.mean([draws[at] for at in clear], axis=0)
        return told, interval(float(np.mean([values[at] for at in clear])), average)

    def worst(self, score: Score) -> float:
        """The smallest AUROC over cells, of those that are known."""
        values = [
            auroc(score.of(each)[known], unstable) for each, _, known, unstable in self.cells()
        ]
        known_values = [value for value in values if np.isfinite(value)]
        return min(known_values, default=float("nan"))

    @cached_property
    def ordered(self) -> list[tuple[Score, float]]:
        """Candidates of few queries with their worst AUROC over cells, best first."""
        few = [budget for budget in self.allowed if budget <= FEW]
        tried = [(score, self.worst(score)) for score in candidates(few)]
        return sorted(tried, key=lambda each: -np.nan_to_num(each[1]))
