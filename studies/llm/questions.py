"""The questions of the study, with what counts as right and as wrong."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anharmonic._core.randomness import generator
from anharmonic.errors import InputError
from studies.streams import LanguageStudyStream

__all__ = ["SOURCES", "Question", "read_questions", "read_truthfulqa", "read_webquestions"]

SOURCES = {"WebQuestions": "webquestions.jsonl", "TruthfulQA": "truthfulqa.csv"}


@dataclass(frozen=True)
class Question:
    """A prompt, its right answers, and where they are known the usual wrong ones."""

    source: str
    prompt: str
    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()


def read_questions(folder: Path, each: int | None = None, seed: int = 0) -> list[Question]:
    """The questions of both sources, or `each` of them chosen at random."""
    found: list[Question] = []
    for read in (read_webquestions, read_truthfulqa):
        questions = read(folder)
        order = generator(seed, LanguageStudyStream.QUESTION_ORDER).permutation(len(questions))
        found += [questions[at] for at in np.sort(order[:each])]
    return found


def read_webquestions(folder: Path) -> list[Question]:
    """Lines of `{id, prompt, answers}`."""
    lines = _text(folder, "WebQuestions").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [Question("WebQuestions", row["prompt"], tuple(row["answers"])) for row in rows]


def read_truthfulqa(folder: Path) -> list[Question]:
    """The published table, in which answers are parted by semicolons."""
    rows = csv.DictReader(_text(folder, "TruthfulQA").splitlines())
    return [
        Question(
            "TruthfulQA",
            row["Question"],
            (row["Best Answer"], *_parted(row["Correct Answers"])),
            _parted(row["Incorrect Answers"]),
        )
        for row in rows
    ]


def _parted(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(";") if part.strip())


def _text(folder: Path, source: str) -> str:
    path = folder / SOURCES[source]
    if not path.is_file():
        raise InputError(f"there is no {path.name} in {folder}: it holds the questions of {source}")
    return path.read_text(encoding="utf-8")
