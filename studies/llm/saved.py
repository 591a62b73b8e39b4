"""Answers for the study: those saved in the data folder, or a few asked for now."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anharmonic.demos.model_file import model_file
from anharmonic.errors import InputError
from anharmonic.llm.clients import LocalServer
from anharmonic.llm.types import Client, Parameters, Request
from studies.llm.generation import NEW
from studies.llm.prompts import GROUPS, REPEAT, Answers, Group, gathered
from studies.llm.questions import Question
from studies.page import Tell, silent

__all__ = ["ask_now", "elsewhere", "provenance", "read_answers"]

ANSWERS, ABOUT, ELSEWHERE = "answers.jsonl.gz", "answers.txt", "elsewhere.txt"
FEW = {"original": 1, "repeat": 1, "control": 5, "resample": 5}
"""The groups of a reduced run, and how many answers of each."""


def read_answers(folder: Path) -> Answers | None:
    """The answers that `generation` wrote into the folder, or None where there are none."""
    path = folder / ANSWERS
    if not path.is_file():
        return None
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return gathered([json.loads(line) for line in lines])
    except (OSError, EOFError, ValueError, KeyError) as problem:
        raise InputError(
            f"{path} holds no answers that can be read: make it again by "
            "python -m studies.llm.generation"
        ) from problem


def provenance(folder: Path) -> str:
    """What stands in the folder about where and when the answers were made; may be nothing."""
    return _note(folder / ABOUT)


def elsewhere(folder: Path) -> list[str]:
    """What the folder says that other questions showed, a paragraph each; may be nothing."""
    return [each.strip() for each in _note(folder / ELSEWHERE).split("\n\n") if each.strip()]


def _note(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def ask_now(
    questions: Sequence[Question], folder: Path, seed: int = 0, tell: Tell = silent
) -> Answers:
    """A few answers for each question, through the runner that is installed."""
    groups = [each for each in (REPEAT, *GROUPS) if each.name in FEW]
    with LocalServer(model_file(folder), threads=1) as client:
        found: Answers = {}
        for number, group in enumerate(groups, start=1):
            tell(f"{group.name}: group {number} of {len(groups)} is being answered …")
            found[group.name] = dict(enumerate(_asked(client, group, questions, seed)))
    return found


def _asked(
    client: Client, group: Group, questions: Sequence[Question], seed: int
) -> list[list[str]]:
    each = FEW[group.name]
    parameters = Parameters(group.temperature, NEW)
    requests = [
        Request(prompt, parameters, repeat, seed=1 + 1000 * seed + repeat)
        for question in questions
        for repeat, prompt in enumerate(group.prompts(question, seed)[:each])
    ]
    answers: list[Any] = client.answers(requests)
    # A model that says nothing has still answered.
    texts = [answer.text.strip() or "(nothing)" for answer in answers]
    return [texts[first : first + each] for first in range(0, len(texts), each)]
