"""Runs of several models on several data sets, side by side, and which differences are real."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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

    Without `differences` the runs were measured differently, or share too few questions.
    """

    data: str
    runs: tuple[RunSummary, ...]
    shared: int
    differences: tuple[Difference, ...]
    alike: bool


@dataclass(frozen=True)
class Board:
    """Models by data sets; a place is by the mean over the sets that all have, measured alike."""

    models: tuple[str, ...]
    contests: tuple[Contest, ...]

    def run(self, model: str, data: str) -> RunSummary | None:
        """A model's run on a data set, if there is one."""
        runs = next(each.runs for each in self.contests if each.data == data)
        return next((each for each in runs if each.model == model), None)

    def overall(self, model: str) -> Estimate:
        """The plain mean over the sets that every model has, all alike; NaN where there is none."""
        found = [
            self.run(model, each.data)
            for each in self.contests
            if each.alike and len(each.runs) == len(self.models)
        ]
        means = [each.mean for each in found if each is not None]
        if not means:
            return Estimate(float("nan"), float("nan"))
        error = float(np.sqrt(sum(each.error**2 for each in means))) / len(means)
        return Estimate(float(np.mean([each.value for each in means])), error)

    def plain(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {
            "models": [
                {"model": model, "overall": list(self.overall(model))} for model in self.models
            ],
            "data": [
                {
                    "data": each.data,
                    "runs": [run.plain() for run in each.runs],
                    "alike": each.alike,
                    "shared": each.shared,
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
                        for pair in each.differences
                    ],
                }
                for each in self.contests
            ],
        }


def leaderboard(paths: Sequence[str | os.PathLike[str]], level: float = 0.95) -> Board:
    """Read runs and compare them, paired question by question where they are alike."""
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
    names = tuple(dict.fromkeys(run.model for each in contests for run in each.runs))
    board = Board(names, contests)
    order = sorted(names, key=lambda name: np.nan_to_num(board.overall(name).value, nan=np.inf))
    return Board(tuple(order), contests)


def _contest(data: str, runs: tuple[RunSummary, ...], level: float) -> Contest:
    recipes = [{**run.header["recipe"], "embed": run.header["embed"]} for run in runs]
    alike = all(each == recipes[0] for each in recipes)
    shared = _shared(runs)
    if not alike or len(runs) < 2 or len(next(iter(shared.values()))) < 2:
        return Contest(data, runs, len(next(iter(shared.values()))), (), alike)
    # What turns of a ball are elsewhere, answers are here.
    pairs = tuple(
        pair._replace(why=pair.why.replace("rotations", "answers per question"))
        for pair in Comparison(shared, level).differences
    )
    return Contest(data, runs, len(shared[runs[0].model]), pairs, True)


def _shared(runs: tuple[RunSummary, ...]) -> dict[str, Scores]:
    """Scores of the questions that every run has a gamma for, in one order."""
    places = [
        {(run.ids[row], run.prompts[row]): row for row in run.measured.tolist()} for run in runs
    ]
    common = [key for key in places[0] if all(key in place for place in places)]
    return {
        run.model: run.scores(np.array([place[key] for key in common], dtype=np.int64))
        for run, place in zip(runs, places, strict=True)
    }
