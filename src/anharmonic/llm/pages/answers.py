"""Answers with their gamma as one page, the least steady first."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from anharmonic._core.printable import visible
from anharmonic.llm.bands import PAPER
from anharmonic.llm.pages import write_page
from anharmonic.llm.records import Record
from anharmonic.llm.result import LanguageScores

__all__ = ["write_answers"]


def write_answers(
    path: str | os.PathLike[str],
    scores: LanguageScores,
    *,
    title: str,
    right: Sequence[bool] | None = None,
    command: str = "",
) -> Path:
    """Write the page and return its path; `right` says which answers are known to be right."""
    order = np.argsort(-np.nan_to_num(scores.values, nan=-1.0), kind="stable").tolist()
    settings = scores.settings
    return write_page(
        path,
        "answers.html",
        kind="gamma of answers",
        title=title,
        lead=f"Mean gamma {scores.mean} over {len(scores)} questions, {scores.calls:,} calls",
        how=f"{visible(str(settings.model))}: each answer is held against the mean of "
        f"{settings.count} others ({settings.perturb}).",
        judged=right is not None,
        rows=[
            _row(scores.records[row], right is not None and right[row])
            for row in order
            if row < len(scores.records)
        ],
        caveat=PAPER.caveat,
        command=visible(command),
    )


def _row(record: Record, right: bool) -> dict[str, object]:
    return {
        "gamma": "–" if record.gamma is None else record.gamma.estimate,
        "gamma0": "" if record.gamma0 is None else f"{record.gamma0.value:.3g}",
        "prompt": visible(record.prompt),
        "answer": visible(record.answer.text or record.answer.error or "", lines=True),
        "others": [
            (
                visible(trial.prompt),
                visible(trial.answer.text or trial.answer.error or "", lines=True),
            )
            for trial in record.trials
        ],
        "right": right,
    }
