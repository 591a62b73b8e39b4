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
from anharmonic.measures.compare.differences import Difference, difference
from anharmonic.measures.compare.frontier import Standing, standings
from anharmonic.measures.compare.labelled import LabelledScore, label_difference
from anharmonic.measures.compare.over_sources import brackets_of
from anharmonic.scores import Scores

__all__ = ["Comparison"]


class _Overall(TypedDict):
    """What a model counts with: its mean, the interval of that mean, and where it is."""

    mean: float
    error: float
    low: float
    high: float
    noise_floor: float
    relative: float | None
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
    labelled
        How right each model is at the points, where labels were given.
    """

    scores: dict[str, Scores]
    level: float = 0.95
    at_reference: dict[str, Scores] = field(default_factory=dict)
    equivalence: float = 0.10
    labelled: dict[str, LabelledScore] = field(default_factory=dict)

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
            self.scores, key=lambda name: _last_if_unknown(sign * self.overall(name).value)
        )

    @property
    def differences(self) -> list[Difference]:
        """Every pair, paired point by point; Bonferroni's correction for their number."""
        by_mean = sorted(self.ranking, key=lambda name: -self.overall(name).value)
        pairs = list(combinations(by_mean, 2))
        level = self._pair_level
        brackets = {
            name: {place: brackets_of(scores) for place, scores in self.places(name).items()}
            for name in self.scores
        }
        return [
            difference(pair, (brackets[pair[0]], brackets[pair[1]]), level, self.equivalence)
            for pair in pairs
        ]

    @property
    def _pair_level(self) -> float:
        """Bonferroni: k intervals at 1 − α/k hold all together with probability 1 − α."""
        pairs = len(self.scores) * (len(self.scores) - 1) // 2
        return 1 - (1 - self.level) / max(1, pairs)

    @property
    def label_differences(self) -> list[Difference]:
        """Every pair's difference in accuracy or R², row by row; none without labels.

        As in `differences`, intervals hold at the comparison's level, all pairs together.
        """
        best_first = sorted(self.labelled, key=lambda name: -self.labelled[name].estimate.value)
        return [
            label_difference(pair, (self.labelled[pair[0]], self.labelled[pair[1]]), level)
            for level in [self._pair_level]
            for pair in combinations(best_first, 2)
        ]

    @property
    def standings(self) -> dict[str, Standing]:
        """Who is on the frontier of score and gamma, and who is behind whom; by labels."""
        if not self.labelled:
            return {}
        sign = -1.0 if self.fragile == "small" else 1.0
        return standings(
            {name: _last_if_unknown(sign * self.overall(name).value) for name in self.ranking},
            {name: score.estimate.value for name, score in self.labelled.items()},
            [self.differences, self.label_differences],
        )

    @property
    def frontier(self) -> list[str]:
        """Models that no other beats in both score and gamma, the least fragile first."""
        return [name for name, standing in self.standings.items() if standing.on_frontier]

    @property
    def label_metric(self) -> str:
        """What labels are compared by: "accuracy" or "R²"; nothing without labels."""
        return next(iter(self.labelled.values())).metric if self.labelled else ""

    @property
    def queries(self) -> int:
        measured = sum(
            scores.queries for scores in (*self.scores.values(), *self.at_reference.values())
        )
        return measured + sum(score.queries for score in self.labelled.values())

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

    @property
    def reading(self) -> str:
        """Which mean each number is, and where other verbs give another, in a sentence."""
        if not self.at_reference:
            return "The means are those at the points, as gamma, check and sweep give them."
        end = "smaller" if self.fragile == "small" else "larger"
        return (
            f"A model counts with the {end} of two means: at the points, which is what gamma, "
            "check and sweep give, and at the reference, since memorising may show at either."
        )

    def summary(self) -> dict[str, object]:
        """Everything but single points as plain values; NaN where a number is not known."""
        return {
            "ranking": self.ranking,
            "overall": {name: self._overall(name) for name in self.ranking},
            "reading": self.reading,
            "queries": self.queries,
            "models": {name: scores.summary() for name, scores in self.scores.items()},
            "at_reference": {name: scores.summary() for name, scores in self.at_reference.items()},
            "differences": [pair.summary() for pair in self.differences],
            **self._labelled_summary(),
        }

    def _labelled_summary(self) -> dict[str, object]:
        """What labels add, as plain values; nothing without them."""
        if not self.labelled:
            return {}
        return {
            "labelled": {name: self.labelled[name].summary(self.level) for name in self.ranking},
            "label_differences": [pair.summary() for pair in self.label_differences],
            "frontier": self.frontier,
            "standings": {name: str(standing) for name, standing in self.standings.items()},
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
            "relative": scores.relative.value if scores.about.bounded else None,
            "at": self.where(name),
        }

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One row per model, the least fragile first: what it counts with, and every mean."""
        rows = []
        for name in self.ranking:
            places = self.places(name)
            means = {f"at_{place}": scores.mean for place, scores in places.items()}
            queries = sum(scores.queries for scores in places.values())
            queries += self.labelled[name].queries if self.labelled else 0
            labelled = self._labelled_cells(name)
            rows.append(
                {"model": name, **self._overall(name), **means, **labelled, "queries": queries}
            )
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        return tables.frame(tables.arrow(columns, {"holds": "comparison"}), backend)

    def _labelled_cells(self, name: str) -> dict[str, object]:
        """A model's cells in a frame, from labels."""
        if not self.labelled:
            return {}
        score, standing = self.labelled[name], self.standings[name]
        low, high = score.interval(self.level)
        error = score.absolute_error
        return {
            "accuracy" if score.metric == "accuracy" else "r2": score.estimate.value,
            "score_low": low,
            "score_high": high,
            **({} if error is None else {"mean_absolute_error": error.value}),
            "on_frontier": standing.on_frontier,
            "standing": str(standing),
        }

    def __repr__(self) -> str:
        width = max(len(name) for name in self.scores)
        rows = [
            f"  {name:{width}}  {self._counts_with(name)}{self._right(name)}"
            for name in self.ranking
        ]
        unclear = [f"  {pair}" for pair in self.differences if pair.verdict != "real"]
        real = [f"  {self.label_metric}: {pair}" for pair in self.label_differences if pair.real]
        reading = [f"  {self.reading}"] if self.at_reference else []
        return "\n".join([f"<{self._heading}", *rows, *unclear, *real, *reading]) + ">"

    @property
    def _heading(self) -> str:
        models = "1 model" if len(self.scores) == 1 else f"{len(self.scores)} models"
        title = ", ".join(part for part in (f"{self.metric} of {models}", self.counting) if part)
        return f"{title}{remark(self.settings)}"

    @property
    def settings(self) -> Settings:
        """What the models have in common: those of the first."""
        return next(iter(self.scores.values())).settings if self.scores else Settings()

    def _counts_with(self, name: str) -> str:
        """The mean that counts, as a number and beside the outputs' spread, and where it is."""
        share = self.counted(name).share_of_spread
        return f"{self.overall(name)}{f', {share}' if share else ''}{self._where(name)}"

    def _where(self, name: str) -> str:
        """Where the mean that counts is, and the other one beside it."""
        if not self.at_reference:
            return ""
        others = [
            f"{Estimate(scores.mean, scores.error)} at the {place}"
            for place, scores in self.places(name).items()
            if place != self.where(name)
        ]
        return f", at the {self.where(name)} ({', '.join(others)})"

    def _right(self, name: str) -> str:
        """A model's accuracy and its standing, to stand behind its gamma."""
        if not self.labelled:
            return ""
        score = self.labelled[name].text(self.level)
        return f", {self.label_metric} {score}, {self.standings[name]}"

    def _cells(self, name: str) -> list[str]:
        """A model's cells in a notebook."""
        score = [self.labelled[name].text(self.level)] if self.labelled else []
        standing = [str(self.standings[name])] if self.labelled else []
        return [name, self._counts_with(name), *score, *standing]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in self._cells(name))}</tr>"
            for name in self.ranking
        )
        of_labels = [f"{self.label_metric}: {pair}" for pair in self.label_differences]
        lines = [*(str(pair) for pair in self.differences), *of_labels]
        items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
        heads = ["model", self.metric, *([self.label_metric, ""] if self.labelled else [])]
        heading = f"<tr>{''.join(f'<th>{html.escape(head)}</th>' for head in heads)}</tr>"
        caption = f"<caption>{html.escape(self._heading)}</caption>"
        about = html.escape(remark(self.settings, always=True))
        reading = f"<p>{html.escape(self.reading)}</p>"
        return f"<table>{caption}{heading}{rows}</table>{reading}<p>{about}</p><ul>{items}</ul>"


def _last_if_unknown(value: float) -> float:
    """A number to sort by: what is not known comes last."""
    return float(np.nan_to_num(value, nan=np.inf))
