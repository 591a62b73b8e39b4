"""Several models by SPADE: one input graph, the same blocks, and which order is real."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core.estimate import Estimate
from anharmonic._core.statistics import Moments
from anharmonic.errors import SettingsError
from anharmonic.measures.spectral.result import SpadeScores
from anharmonic.measures.spectral.scoring import BLOCKS, Stages, score_sources
from anharmonic.measures.spectral.search import Search
from anharmonic.measures.spectral.solution import Components, Plan

__all__ = ["Ranking", "Ratio", "compare"]


class Ratio(NamedTuple):
    """How many times larger one model's score is than another's.

    Parameters
    ----------
    larger, smaller
        Names of the models.
    value
        The ratio for all points.
    block_value, interval
        The geometric mean of the ratios of blocks, and its interval.
    """

    larger: str
    smaller: str
    value: float
    block_value: float
    interval: tuple[float, float]

    @property
    def real(self) -> bool:
        """Whether blocks, independent of each other, say the same as all points together."""
        return self.interval[0] > 1

    def __str__(self) -> str:
        relation = ">" if self.real else "≈"
        low, high = self.interval
        return (
            f"{self.larger} {relation} {self.smaller}: {self.value:.3g} times, in blocks "
            f"{self.block_value:.3g} [{low:.3g}, {high:.3g}]"
        )


@dataclass(frozen=True, repr=False)
class Ranking:
    """SPADE scores of several models over the same points.

    Parameters
    ----------
    scores
        By the models' names.
    level
        Of the intervals of ratios.
    """

    scores: dict[str, SpadeScores]
    level: float = 0.95

    @property
    def ranking(self) -> list[str]:
        """Names from the smallest score, the most robust, to the largest."""
        return sorted(self.scores, key=lambda name: self.scores[name].score)

    @property
    def ratios(self) -> list[Ratio]:
        """Every pair, block by block; Bonferroni's correction for their number.

        The mean of independent blocks' log ratios has an honest Student's interval, though for
        blocks' size: whether it excludes 1 says whether an order at that size is chance.
        """
        pairs = list(combinations(reversed(self.ranking), 2))
        # Bonferroni: each of m intervals at level 1 − α/m, so that all hold at once at 1 − α.
        level = 1 - (1 - self.level) / max(1, len(pairs))
        return [self._ratio(larger, smaller, level) for larger, smaller in pairs]

    def _ratio(self, larger: str, smaller: str, level: float) -> Ratio:
        above, below = self.scores[larger], self.scores[smaller]
        # Both were scored on the same blocks, so logarithms are compared pair by pair.
        gaps = Moments.of(np.log(above.blocks) - np.log(below.blocks))
        low, high = (float(np.exp(end)) for end in gaps.interval(level))
        middle = float(np.exp(gaps.mean)) if len(above.blocks) else float("nan")
        return Ratio(larger, smaller, above.score / below.score, middle, (low, high))

    def __repr__(self) -> str:
        width = max(len(name) for name in self.scores)
        rows = [
            f"  {name:{width}}  {Estimate(self.scores[name].score, self.scores[name].error)}"
            for name in self.ranking
        ]
        unsure = [f"  not told apart: {ratio}" for ratio in self.ratios if not ratio.real]
        return "\n".join([f"<spade of {len(self.scores)} models", *rows, *unsure]) + ">"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td>"
            f"<td>{Estimate(self.scores[name].score, self.scores[name].error)}</td></tr>"
            for name in self.ranking
        )
        ratios = "".join(f"<li>{html.escape(str(ratio))}</li>" for ratio in self.ratios)
        return f"<table><tr><th>model</th><th>SPADE</th></tr>{rows}</table><ul>{ratios}</ul>"


def compare(
    inputs: object,
    sources: Mapping[str, object],
    *,
    neighbours: int = 10,
    rank: int = 10,
    components: Components = "join",
    search: str | Search = "auto",
    scale: ArrayLike | str | None = None,
    output: object = None,
    blocks: int = BLOCKS,
    level: float = 0.95,
    seed: int = 0,
    progress: Stages | None = None,
) -> Ranking:
    """SPADE of several models over one input graph, and which differences are real.

    Parameters
    ----------
    inputs : (points, n)
        Recorded inputs, or the points where models are asked.
    sources
        Names, and arrays of outputs, one row per input, or models.
    neighbours, rank, components, search, scale, output, blocks, seed, progress
        As in `spade`.
    level
        Of the intervals of ratios, all of them together.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(800, 3))
    >>> models = compare(points, {"smooth": points[:, :2], "rough": np.sin(9 * points[:, :2])})
    >>> models.ranking, models.ratios[0].real
    (['smooth', 'rough'], True)
    """
    if not sources:
        raise SettingsError("there is nothing to compare: give a dictionary of names and outputs")
    plan = Plan(neighbours, rank, components, search, seed)
    return Ranking(score_sources(inputs, sources, plan, blocks, scale, output, progress), level)
