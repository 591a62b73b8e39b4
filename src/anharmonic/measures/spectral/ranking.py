"""Several models by SPADE: one input graph, the same blocks, and which order is real."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.statistics import Moments
from anharmonic.errors import SettingsError
from anharmonic.measures.spectral.result import SpadeScores
from anharmonic.measures.spectral.scoring import BLOCKS, Stages, scored
from anharmonic.measures.spectral.search import Search
from anharmonic.measures.spectral.solution import Components, Plan

__all__ = ["Ranking", "Ratio", "compare"]


class Ratio(NamedTuple):
    """How many times larger one model's score is than another's.

    `value` is for all points, `block_value` the geometric mean over blocks with its `interval`.
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
    """SPADE scores of several models over the same points."""

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
        level = 1 - (1 - self.level) / max(1, len(pairs))
        return [self._ratio(larger, smaller, level) for larger, smaller in pairs]

    def _ratio(self, larger: str, smaller: str, level: float) -> Ratio:
        one, two = self.scores[larger], self.scores[smaller]
        gaps = Moments.of(np.log(one.blocks) - np.log(two.blocks))
        low, high = (float(np.exp(end)) for end in gaps.interval(level))
        middle = float(np.exp(gaps.mean)) if len(one.blocks) else float("nan")
        return Ratio(larger, smaller, one.score / two.score, middle, (low, high))

    def __repr__(self) -> str:
        width = max(len(name) for name in self.scores)
        rows = [
            f"  {name:{width}}  {Estimate(self.scores[name].score, self.scores[name].error)}"
            for name in self.ranking
        ]
        unsure = [f"  not told apart: {each}" for each in self.ratios if not each.real]
        return "\n".join([f"<spade of {len(self.scores)} models", *rows, *unsure]) + ">"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td>"
            f"<td>{Estimate(self.scores[name].score, self.scores[name].error)}</td></tr>"
            for name in self.ranking
        )
        found = "".join(f"<li>{html.escape(str(each))}</li>" for each in self.ratios)
        return f"<table><tr><th>model</th><th>SPADE</th></tr>{rows}</table><ul>{found}</ul>"


def compare(
    inputs: Any,
    sources: Mapping[str, Any],
    *,
    neighbours: int = 10,
    rank: int = 10,
    components: Components = "join",
    search: str | Search = "auto",
    scale: Any = None,
    output: Any = None,
    blocks: int = BLOCKS,
    level: float = 0.95,
    seed: int = 0,
    progress: Stages | None = None,
) -> Ranking:
    """SPADE of several models over one input graph, and which differences are real.

    `sources` maps names to arrays of outputs, one row an input, or to models. Other arguments
    are those of `spade`.

    >>> points = np.random.default_rng(0).normal(size=(800, 3))
    >>> found = compare(points, {"smooth": points[:, :2], "rough": np.sin(9 * points[:, :2])})
    >>> found.ranking, found.ratios[0].real
    (['smooth', 'rough'], True)
    """
    if not sources:
        raise SettingsError("there is nothing to compare: give a dictionary of names and outputs")
    plan = Plan(neighbours, rank, components, search, seed)
    return Ranking(scored(inputs, sources, plan, blocks, scale, output, progress), level)
