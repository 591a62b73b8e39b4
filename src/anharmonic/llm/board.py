"""Runs of several models on several data sets, side by side, and which differences are real."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic.errors import InputError
from anharmonic.llm.summaries import RunSummary, read_run
from anharmonic.measures.compare import Comparison, Difference
from anharmonic.scores import Scores

__all__ = ["Board", "Contest", "leaderboard"]


@dataclass(frozen=True)
class Contest:
    """One data set: its runs, how many questions all of them measured, and every pair compared.

    Parameters
    ----------
    data
        The data set's name.
    runs
        One run per model.
    shared
        How many questions every run has a gamma for.
    differences
        Every pair of models compared; none where the runs were measured differently, or share
        too few questions.
    alike
        Whether all were measured the same way.
    """

    data: str
    runs: tuple[RunSummary, ...]
    shared: int
    differences: tuple[Difference, ...]
    alike: bool


@dataclass(frozen=True)
class Board:
    """Models by data sets, ranked by the mean over the sets that all have, measured alike.

    Parameters
    ----------
    models
        Their names, the smallest gamma first.
    contests
        One per data set.
    """

    models: tuple[str, ...]
    contests: tuple[Contest, ...]

    def run(self, model: str, data: str) -> RunSummary | None:
        """A model's run on a data set, if there is one."""
        runs = next(contest.runs for contest in self.contests if contest.data == data)
        return next((run for run in runs if run.model == model), None)

    def overall(self, model: str) -> Estimate:
        """The plain mean over the sets that every model has, all alike; NaN where there is none."""
        runs = [
            self.run(model, contest.data)
            for contest in self.contests
            if contest.alike and len(contest.runs) == len(self.models)
        ]
        means = [run.mean for run in runs if run is not None]
        if not means:
            return Estimate(float("nan"), float("nan"))
        error = float(np.sqrt(sum(mean.error**2 for mean in means))) / len(means)
        return Estimate(float(np.mean([mean.value for mean in means])), error)

    def plain(self) -> dict[str, object]:
        """Everything as plain values, ready for JSON."""
        return {
            "models": [
                {"model": model, "overall": list(self.overall(model))} for model in self.models
            ],
            "data": [
                {
                    "data": contest.data,
                    "runs": [run.plain() for run in contest.runs],
                    "alike": contest.alike,
                    "shared": contest.shared,
                    "differences": [
                        {
                            "larger": pair.larger,
                            "smaller": pair.smaller,
                            "difference": list(pair.estimate),
                            "interval": list(pair.interval),
                            "real": pair.real,
                            "same": pair.same,
                            "verdict": pair.verdict,
                            "why": pair.why,
                        }
                        for pair in contest.differences
                    ],
                }
                for contest in self.contests
            ],
        }


def leaderboard(paths: Sequence[str | os.PathLike[str]], level: float = 0.95) -> Board:
    """Read runs and compare them, paired question by question where they are alike.

    Parameters
    ----------
    paths
        Files written by `anharmonic llm score`, one per model and data set.
    level
        Of the intervals of differences.
    """
    if not paths:
        raise InputError("a leaderboard needs runs: give files written by anharmonic llm score")
    sets: dict[str, dict[str, RunSummary]] = defaultdict(dict)
    for path in paths:
        run = read_run(path)
        other = sets[run.data].setdefault(run.model, run)
        if other is not run:
            raise InputError(
                f"{other.path} and {run.path} are both of {run.model} on {run.data}: "
                "give one of them, or tell them apart by llm score --name"
            )
    contests = tuple(_contest(data, tuple(runs.values()), level) for data, runs in sets.items())
    names = tuple(dict.fromkeys(run.model for contest in contests for run in contest.runs))
    board = Board(names, contests)
    order = sorted(names, key=lambda name: np.nan_to_num(board.overall(name).value, nan=np.inf))
    return Board(tuple(order), contests)


def _contest(data: str, runs: tuple[RunSummary, ...], level: float) -> Contest:
    recipes = [{**run.header["recipe"], "embed": run.header["embed"]} for run in runs]
    alike = all(recipe == recipes[0] for recipe in recipes)
    shared = _shared(runs)
    if not alike or len(runs) < 2 or len(next(iter(shared.values()))) < 2:
        return Contest(data, runs, len(next(iter(shared.values()))), (), alike)
    # A comparison speaks of rotations of a ball; here those are answers.
    pairs = tuple(
        pair._replace(why=pair.why.replace("rotations", "answers per question"))
        for pair in Comparison(shared, level).differences
    )
    return Contest(data, runs, len(shared[runs[0].model]), pairs, True)


def _shared(runs: tuple[RunSummary, ...]) -> dict[str, Scores]:
    """Scores of the questions that every run has a gamma for, in one order."""
    rows_of = [
        {(run.ids[row], run.prompts[row]): row for row in run.measured.tolist()} for run in runs
    ]
    common = [key for key in rows_of[0] if all(key in rows for rows in rows_of)]
    return {
        run.model: run.scores(np.array([rows[key] for key in common], dtype=np.int64))
        for run, rows in zip(runs, rows_of, strict=True)
    }
