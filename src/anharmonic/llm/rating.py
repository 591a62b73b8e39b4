"""Gamma against people's ratings: correlation with an interval, and how far people agree."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import LanguageStream
from anharmonic.errors import InputError
from anharmonic.llm.questions import read_rows
from anharmonic.llm.summaries import RunSummary, read_run

__all__ = ["Agreement", "Correlation", "Ratings", "krippendorff", "ratings"]

ROUNDS = 1000
"""Resamplings of a bootstrap."""


class Correlation(NamedTuple):
    """How gamma goes with ratings in a group of answers.

    Parameters
    ----------
    group, answers
        Which answers, and how many.
    spearman, pearson
        The correlation, and the ends of its 95% interval.
    """

    group: str
    answers: int
    spearman: tuple[float, float, float]
    pearson: tuple[float, float, float]


class Agreement(NamedTuple):
    """How far annotators agree.

    Parameters
    ----------
    alpha, low, high
        Krippendorff's alpha for interval data, with its 95% interval over answers.
    annotators
        How many there are.
    rated_twice
        How many answers have more than one rating.
    """

    alpha: float
    low: float
    high: float
    annotators: int
    rated_twice: int


@dataclass(frozen=True)
class Ratings:
    """Gamma beside people's ratings.

    Parameters
    ----------
    correlations
        Of all answers first, then by model and by domain.
    agreement
        Of the annotators, where some answers have several.
    unmatched
        How many ratings belong to no question of the runs.
    """

    correlations: tuple[Correlation, ...]
    agreement: Agreement | None
    unmatched: int

    def plain(self) -> dict[str, object]:
        """Everything as plain values, ready for JSON."""
        return {
            "correlations": [correlation._asdict() for correlation in self.correlations],
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
    """Correlate the gammas of runs with people's ratings of the answers.

    An answer's rating is the mean of its annotators'.

    Parameters
    ----------
    runs
        Files written by `anharmonic llm score`.
    table
        A .csv, .jsonl or .parquet file with the columns id and rating, and annotator and model
        where there are several.
    seed
        Of the resamplings for intervals.
    """
    summaries = [read_run(path) for path in runs]
    marks, unmatched = _marks(table, {(run.model, name) for run in summaries for name in run.ids})
    rated = [answer for run in summaries for answer in _rated(run, marks)]
    if len(rated) < 3:
        raise InputError(f"{table} rates {len(rated)} answers that have a gamma: 3 are the least")
    groups = {"all": rated}
    for word in ("model", "domain"):
        names = sorted({getattr(answer, word) for answer in rated} - {""})
        if len(names) > 1:
            for name in names:
                group = [answer for answer in rated if getattr(answer, word) == name]
                groups[f"{word} {name}"] = group
    correlations = tuple(_correlation(name, group, seed) for name, group in groups.items())
    return Ratings(correlations, _agreement([answer.marks for answer in rated], seed), unmatched)


def krippendorff(marks: Sequence[Sequence[float]]) -> float:
    """Krippendorff's alpha for interval data: 1 in full agreement, 0 as by chance.

    Parameters
    ----------
    marks
        Each answer's ratings; those with a single one say nothing.

    Examples
    --------
    >>> krippendorff([[1, 1], [3, 3], [5, 5, 5]])
    1.0
    """
    sums = _sums(marks)
    return float(_alpha(sums.sum(axis=0))) if len(sums) else float("nan")


def _sums(marks: Sequence[Sequence[float]]) -> Floats:
    """For each answer with several marks, (answers, 4): count, sum, squares, disagreement.

    Alpha is a function of the sums of these, so that a bootstrap adds rows and nothing else.
    """
    units = [np.asarray(ratings, dtype=float) for ratings in marks if len(ratings) > 1]
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
    # α = 1 − D_observed/D_expected; the common factor 1/count of both is left out.
    among = 2 * (count * squares - total**2) / (count - 1)
    return np.where(among > 0, 1 - within / np.where(among > 0, among, 1.0), 1.0)


def _marks(
    table: str | os.PathLike[str], questions: set[tuple[str, str]]
) -> tuple[dict[tuple[str, str], dict[str, float]], int]:
    """Ratings by model and id, and how many belong to nothing here."""
    models = sorted({model for model, _ in questions})
    marks: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    unmatched = 0
    for number, row in enumerate(read_rows(table)):
        try:
            name, mark = str(row["id"]), float(cast(str | float, row["rating"]))
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{table}, row {number}: each needs an id and a rating, such as 4"
            ) from None
        if "model" not in row and len(models) > 1:
            raise InputError(f"{table} needs a column model: there are runs of {', '.join(models)}")
        key = str(row.get("model", models[0])), name
        unmatched += key not in questions
        marks[key][str(row.get("annotator", len(marks[key])))] = mark
    return marks, unmatched


def _rated(run: RunSummary, marks: dict[tuple[str, str], dict[str, float]]) -> list[_Rated]:
    return [
        _Rated(run.model, domain, float(value), marks[run.model, name])
        for name, domain, value in zip(run.ids, run.domains, run.values, strict=True)
        if (run.model, name) in marks and np.isfinite(value)
    ]


def _correlation(name: str, group: list[_Rated], seed: int) -> Correlation:
    from scipy.stats import rankdata  # half a second to import, for few who need it

    gammas = np.array([answer.gamma for answer in group])
    means = np.array([np.mean(list(answer.marks.values())) for answer in group])
    # Bootstrap over answers, (rounds, answers); the same resamples for both correlations.
    rows = generator(seed, LanguageStream.RATING_BOOTSTRAP).integers(
        len(group), size=(ROUNDS, len(group))
    )

    def with_interval(ranked: bool) -> tuple[float, float, float]:
        """Spearman's is Pearson's of ranks, ranked anew in every resample."""
        pair = gammas, means
        samples = (rankdata(side[rows], axis=1) if ranked else side[rows] for side in pair)
        draws = _pearson(*samples)
        known = draws[np.isfinite(draws)]
        # Percentile interval; a resample of equal values has no correlation and is left out.
        low, high = np.quantile(known, (0.025, 0.975)) if len(known) else (np.nan, np.nan)
        whole = (rankdata(side) if ranked else side for side in pair)
        return float(_pearson(*whole)), float(low), float(high)

    return Correlation(name, len(group), with_interval(ranked=True), with_interval(ranked=False))


def _pearson(one: Array, two: Array) -> Array:
    """The correlation along the last axis; NaN where one side does not vary."""
    left, right = (side - side.mean(axis=-1, keepdims=True) for side in (one, two))
    scale = np.sqrt(np.sum(left**2, axis=-1) * np.sum(right**2, axis=-1))
    return np.where(scale > 0, np.sum(left * right, axis=-1), np.nan) / np.where(
        scale > 0, scale, 1
    )


def _agreement(marks: list[dict[str, float]], seed: int) -> Agreement | None:
    sums = _sums([list(ratings.values()) for ratings in marks])
    if not len(sums):
        return None
    # Bootstrap over answers, all its ratings with it: (rounds, answers, 4) to (rounds, 4).
    rows = generator(seed, LanguageStream.AGREEMENT_BOOTSTRAP).integers(
        len(sums), size=(ROUNDS, len(sums))
    )
    low, high = np.quantile(_alpha(sums[rows].sum(axis=1)), (0.025, 0.975))
    annotators = {name for ratings in marks for name in ratings}
    alpha = float(_alpha(sums.sum(axis=0)))
    return Agreement(alpha, float(low), float(high), len(annotators), len(sums))
