"""`Comparison`: several models' scores on the same points, and which differences are real."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypedDict

import numpy as np

from anharmonic._core import tables
from anharmonic._core.columns import remark
from anharmonic._core.estimate import Estimate
from anharmonic._core.settings import Settings
from anharmonic.measures.compare.differences import Difference, bracket, difference
from anharmonic.scores import Scores

__all__ = ["Comparison"]


class _Overall(TypedDict):
    """What a model counts with: its mean, the interval of that mean, and where it is."""

    mean: float
    error: float
    low: float
    high: float
    noise_floor: float
    at: str


@dataclass(frozen=True, repr=False)
class Comparison:
    """Scores of several models on the same points, and which of their differences are real.

    Parameters
    ----------
    scores
        By the models' names.
    level
        `differences` hold at this level, all of them together.
    at_reference
        Scores at reference points, where the models were measured there too. Then a model counts
        with the larger of its two means: some memorise in a way that shows only at the points
        they were trained on, some only between them.
    equivalence
        Models are the same where neither mean is more than this share above the other.
    """

    scores: dict[str, Scores]
    level: float = 0.95
    at_reference: dict[str, Scores] = field(default_factory=dict)
    equivalence: float = 0.10

    def places(self, name: str) -> dict[str, Scores]:
        """A model's scores by where they were measured: "points" and perhaps "reference"."""
        places = {"points": self.scores[name]}
        if name in self.at_reference:
            places["reference"] = self.at_reference[name]
        return places

    @property
    def fragile(self) -> str:
        """Which values of the measure are the fragile ones: "large" or "small"."""
        return next(iter(self.scores.values())).fragile if self.scores else "large"

    def where(self, name: str) -> str:
        """Where a model looks the more fragile: by the larger mean, of gamma."""
        places = self.places(name)
        most_fragile = min if self.fragile == "small" else max
        return most_fragile(places, key=lambda place: places[place].mean)

    largest = where
    """Its name in 0.1.0."""

    def counted(self, name: str) -> Scores:
        """The scores a model counts with: those where it looks the more fragile."""
        return self.places(name)[self.where(name)]

    def overall(self, name: str) -> Estimate:
        """The mean a model counts with."""
        scores = self.counted(name)
        return Estimate(scores.mean, scores.error)

    @property
    def ranking(self) -> list[str]:
        """Names from the least fragile to the most: of gamma, from the smallest mean on."""
        sign = -1.0 if self.fragile == "small" else 1.0
        return sorted(
            self.scores, key=lambda name: np.nan_to_num(sign * self.overall(name).value, nan=np.inf)
        )

    @property
    def differences(self) -> list[Difference]:
        """Every pair, paired point by point; Bonferroni's correction for their number."""
        by_mean = sorted(self.ranking, key=lambda name: -self.overall(name).value)
        pairs = list(combinations(by_mean, 2))
        # Bonferroni: k intervals at 1 − α/k hold all together with probability 1 − α.
        level = 1 - (1 - self.level) / max(1, len(pairs))
        brackets = {
            name: {place: bracket(scores) for place, scores in self.places(name).items()}
            for name in self.scores
        }
        return [
            difference(pair, (brackets[pair[0]], brackets[pair[1]]), level, self.equivalence)
            for pair in pairs
        ]

    @property
    def queries(self) -> int:
        every = [*self.scores.values(), *self.at_reference.values()]
        return sum(scores.queries for scores in every)

    @property
    def metric(self) -> str:
        """What was measured."""
        return next(iter(self.scores.values())).metric

    @property
    def counting(self) -> str:
        """What a model counts with, in words; nothing where there is only one mean."""
        if not self.at_reference:
            return ""
        end = "smaller" if self.fragile == "small" else "larger"
        return f"each by the {end} of its means at the points and at the reference"

    def summary(self) -> dict[str, object]:
        """Everything but single points as plain values; NaN where a number is not known."""
        return {
            "ranking": self.ranking,
            "overall": {name: self._overall(name) for name in self.ranking},
            "queries": self.queries,
            "models": {name: scores.summary() for name, scores in self.scores.items()},
            "at_reference": {name: scores.summary() for name, scores in self.at_reference.items()},
            "differences": [pair.summary() for pair in self.differences],
        }

    def _overall(self, name: str) -> _Overall:
        """What a model counts with: its mean, where that is, and the interval of that mean."""
        scores = self.counted(name)
        low, high = scores.interval(self.level)
        return {
            "mean": scores.mean,
            "error": scores.error,
            "low": low,
            "high": high,
            "noise_floor": scores.floor,
            "at": self.where(name),
        }

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per model, the least fragile first: what it counts with, and every mean."""
        rows = []
        for name in self.ranking:
            places = self.places(name)
            means = {f"at_{place}": scores.mean for place, scores in places.items()}
            queries = sum(scores.queries for scores in places.values())
            rows.append({"model": name, **self._overall(name), **means, "queries": queries})
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        return tables.frame(tables.arrow(columns, {"holds": "comparison"}), backend)

    def __repr__(self) -> str:
        width = max(len(name) for name in self.scores)
        rows = [
            f"  {name:{width}}  {self.overall(name)}" + self._where(name) for name in self.ranking
        ]
        unclear = [f"  {pair}" for pair in self.differences if pair.verdict != "real"]
        return "\n".join([f"<{self._heading}", *rows, *unclear]) + ">"

    @property
    def _heading(self) -> str:
        models = "1 model" if len(self.scores) == 1 else f"{len(self.scores)} models"
        title = f"{self.metric} of {models}{remark(self.settings)}"
        return ", ".join(part for part in (title, self.counting) if part)

    @property
    def settings(self) -> Settings:
        """What the models have in common: those of the first."""
        return next(iter(self.scores.values())).settings if self.scores else Settings()

    def _where(self, name: str) -> str:
        return f" (at the {self.where(name)})" if self.at_reference else ""

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{self.overall(name)}{self._where(name)}</td></tr>"
            for name in self.ranking
        )
        items = "".join(f"<li>{html.escape(str(pair))}</li>" for pair in self.differences)
        heading = f"<tr><th>model</th><th>{html.escape(self.metric)}</th></tr>"
        caption = f"<caption>{html.escape(self._heading)}</caption>"
        about = html.escape(remark(self.settings, always=True))
        return f"<table>{caption}{heading}{rows}</table><p>{about}</p><ul>{items}</ul>"
