"""A leaderboard as one page: a table of models by data sets, distributions, pairs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from anharmonic._core.printable import shortened, visible
from anharmonic.llm.board import Board, Contest
from anharmonic.llm.pages import write_page
from anharmonic.llm.summaries import RunSummary

__all__ = ["write_board"]

BINS, WIDTH, HEIGHT = 48, 480, 40


def write_board(path: str | os.PathLike[str], board: Board) -> Path:
    """Write the page and return its path."""
    best = board.models[0]
    sets = len(board.contests)
    what = f"{len(board.models)} models on {sets} data {'set' if sets == 1 else 'sets'}"
    lead = f"{visible(best)} has the smallest gamma, {board.overall(best)}, of {what}"
    if not np.isfinite(board.overall(best).value):
        lead = f"{what}, but none that all were measured on alike: there is no order"
    return write_page(
        path,
        "board.html",
        kind="leaderboard",
        title="Gamma of language models",
        lead=lead,
        data=[visible(contest.data) for contest in board.contests],
        rows=[_row(board, model) for model in board.models],
        contests=[_contest(contest) for contest in board.contests],
    )


def _row(board: Board, model: str) -> dict[str, object]:
    runs = [board.run(model, contest.data) for contest in board.contests]
    return {
        "model": visible(model),
        "overall": board.overall(model),
        "cells": [
            None
            if run is None
            else {"mean": run.mean, "excess": run.excess, "missing": run.missing, "runs": len(run)}
            for run in runs
        ],
    }


def _contest(contest: Contest) -> dict[str, object]:
    known = np.concatenate([run.values[np.isfinite(run.values)] for run in contest.runs])
    most = float(known.max(initial=0.0)) or 1.0
    return {
        "data": visible(contest.data),
        "most": f"{most:.3g}",
        "width": WIDTH,
        "height": HEIGHT,
        "strips": [_strip(run, most) for run in contest.runs],
        "alike": contest.alike,
        "shared": contest.shared,
        "pairs": [
            {
                "larger": visible(pair.larger),
                "smaller": visible(pair.smaller),
                "estimate": pair.estimate,
                "interval": "{:.3g} … {:.3g}".format(*pair.interval),
                "real": pair.real,
                "verdict": pair.verdict,
                "why": pair.why,
            }
            for pair in contest.differences
        ],
    }


def _strip(run: RunSummary, most: float) -> dict[str, object]:
    """A histogram as bars, and the questions with the largest gamma."""
    known = np.flatnonzero(np.isfinite(run.values))
    counts, _ = np.histogram(run.values[known], bins=BINS, range=(0.0, most))
    tallest = max(int(counts.max(initial=0)), 1)
    step = WIDTH / BINS
    worst = known[np.argsort(-run.values[known])][:3]
    recipe = run.header["recipe"]
    return {
        "model": visible(run.model),
        "mean": run.mean,
        "mean0": run.mean0,
        "excess": run.excess,
        "questions": f"{len(run):,}",
        "answers": f"{run.answers:,}",
        "refused": f"{run.refused.sum():,}",
        "failed": f"{run.failed.sum():,}",
        "how": f"{recipe['perturb']}, {recipe['count']} each, {recipe['unit']}, embedded by "
        f"{visible(str(run.header['embed']))}",
        "bars": [
            (round(number * step, 1), round(step - 1, 1), round(HEIGHT * count / tallest, 1))
            for number, count in enumerate(counts.tolist())
            if count
        ],
        "worst": [(f"{run.values[row]:.3g}", shortened(run.prompts[row], 160)) for row in worst],
    }
