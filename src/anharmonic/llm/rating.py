"""Gamma against people's ratings: correlation with an interval, and how far people agree."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import LanguageStream
from anharmonic.errors import InputError
from anharmonic.llm.questions import read_rows
from anharmonic.llm.summaries import RunSummary, read_run

__all__ = ["Agreement", "Correlation", "Ratings", "krippendorff", "ratings"]

ROUNDS = 1000


class Correlation(NamedTuple):
    """How gamma goes with ratings in a group of answers: each value with its 95% interval."""

    group: str
    answers: int
    spearman: tuple[float, float, float]
    pearson: tuple[float, float, float]


class Agreement(NamedTuple):
    """Krippendorff's alpha for interval data, with its 95% interval over answers."""

    alpha: float
    low: float
    high: float
    annotators: int
    rated_twice: int


@dataclass(frozen=True)
class Ratings:
    """Correlations, of all answers first, then by model and by domain; agreement where known."""

    correlations: tuple[Correlation, ...]
    agreement: Agreement | None
    unmatched: int

    def plain(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {
            "correlations": [each._asdict() for each in self.correlations],
            "agreement": None if self.agreement is None else self.agreement._asdict(),
            "unmatched": self.unmatched,
        }


class _Rated(NamedTuple):
    model: str
    domain: str
    gamma: float
    marks: dict[str, float]


def ratings(
    runs: Sequence[str | os.PathLike[str]], table: str | os.PathLike[str], *, seed: int = 0
) -> Ratings:
    """Hold runs against a table with id and rating, and annotator and model where there are more.

    An answer's rating is the mean of its annotators'.
    """
    known = [read_run(path) for path in runs]
    marks, unmatched = _marks(table, {(run.model, name) for run in known for name in run.ids})
    rated = [each for run in known for each in _rated(run, marks)]
    if len(rated) < 3:
        raise InputError(f"{table} rates {len(rated)} answers that have a gamma: 3 are the least")
    groups = {"all": rated}
    for word in ("model", "domain"):
        names = sorted({getattr(each, word) for each in rated} - {""})
        if len(names) > 1:
            for name in names:
                groups[f"{word} {name}"] = [each for each in rated if getattr(each, word) == name]
    found = tuple(_correlation(name, group, seed) for name, group in groups.items())
    return Ratings(found, _agreement([each.marks for each in rated], seed), unmatched)


def krippendorff(marks: Sequence[Sequence[float]]) -> float:
    """Krippendorff's alpha for interval data: 1 in full agreement, 0 as by chance.

    `marks` are each answer's ratings; those with a single one say nothing.

    >>> krippendorff([[1, 1], [3, 3], [5, 5, 5]])
    1.0
    """
    sums = _sums(marks)
    return float(_alpha(sums.sum(axis=0))) if len(sums) else float("nan")


def _sums(marks: Sequence[Sequence[float]]) -> Floats:
    """For each answer with several marks: their count, sum, squares, and disagreement."""
    units = [np.asarray(each, dtype=float) for each in marks if len(each) > 1]
    # The squared differences of all pairs of n numbers sum to 2n·Σ(x − mean)².
    return np.array(
        [
            (len(x), x.sum(), (x**2).sum(), 2 * len(x) * ((x - x.mean()) ** 2).sum() / (len(x) - 1))
            for x in units
        ]
    )


def _alpha(totals: Floats) -> Array:
    """One less the disagreement within answers over that among all marks; (…, 4) to (…)."""
    count, total, squares, within = np.moveaxis(totals, -1, 0)
    among = 2 * (count * squares - total**2) / (count - 1)
    return np.where(among > 0, 1 - within / np.where(among > 0, among, 1.0), 1.0)


def _marks(
    table: str | os.PathLike[str], known: set[tuple[str, str]]
) -> tuple[dict[tuple[str, str], dict[str, float]], int]:
    """Ratings by model and id, and how many belong to nothing here."""
    models = sorted({model for model, _ in known})
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    unmatched = 0
    for number, row in enumerate(read_rows(table)):
        try:
            name, mark = str(row["id"]), float(row["rating"])
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{table}, row {number}: each needs an id and a rating, such as 4"
            ) from None
        if "model" not in row and len(models) > 1:
            raise InputError(f"{table} needs a column model: there are runs of {', '.join(models)}")
        key = str(row.get("model", models[0])), name
        unmatched += key not in known
        found[key][str(row.get("annotator", len(found[key])))] = mark
    return found, unmatched


def _rated(run: RunSummary, marks: dict[tuple[str, str], dict[str, float]]) -> list[_Rated]:
    return [
        _Rated(run.model, domain, float(value), marks[run.model, name])
        for name, domain, value in zip(run.ids, run.domains, run.values, strict=True)
        if (run.model, name) in marks and np.isfinite(value)
    ]


def _correlation(name: str, group: list[_Rated], seed: int) -> Correlation:
    from scipy.stats import rankdata  # half a second to import, for few who need it

    gammas = np.array([each.gamma for each in group])
    means = np.array([np.mean(list(each.marks.values())) for each in group])
    rows = generator(seed, LanguageStream.RATING_BOOTSTRAP).integers(
        len(group), size=(ROUNDS, len(group))
    )

    def bounded(one: Floats, two: Floats, ranked: bool) -> tuple[float, float, float]:
        draws = (rankdata(each[rows], axis=1) if ranked else each[rows] for each in (one, two))
        drawn = _pearson(*draws)
        known = drawn[np.isfinite(drawn)]
        low, high = np.quantile(known, (0.025, 0.975)) if len(known) else (np.nan, np.nan)
        whole = (rankdata(each) if ranked else each for each in (one, two))
        return float(_pearson(*whole)), float(low), float(high)

    return Correlation(
        name, len(group), bounded(gammas, means, True), bounded(gammas, means, False)
    )


def _pearson(one: Array, two: Array) -> Array:
    """The correlation along the last axis; NaN where one side does not vary."""
    left, right = (each - each.mean(axis=-1, keepdims=True) for each in (one, two))
    scale = np.sqrt(np.sum(left**2, axis=-1) * np.sum(right**2, axis=-1))
    return np.where(scale > 0, np.sum(left * right, axis=-1), np.nan) / np.where(
        scale > 0, scale, 1
    )


def _agreement(marks: list[dict[str, float]], seed: int) -> Agreement | None:
    sums = _sums([list(each.values()) for each in marks])
    if not len(sums):
        return None
    rows = generator(seed, LanguageStream.AGREEMENT_BOOTSTRAP).integers(
        len(sums), size=(ROUNDS, len(sums))
    )
    low, high = np.quantile(_alpha(sums[rows].sum(axis=1)), (0.025, 0.975))
    people = {name for each in marks for name in each}
    alpha = float(_alpha(sums.sum(axis=0)))
    return Agreement(alpha, float(low), float(high), len(people), len(sums))
