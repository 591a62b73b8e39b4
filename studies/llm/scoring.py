"""From answers to the numbers that the tables are made of.

    python -m studies.llm.scoring DIR OUT

embeds the answers in DIR (a quarter of an hour on a core) and keeps their numbers in OUT, from
which `anharmonic reproduce llm --data OUT` makes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.protocols import Array
from anharmonic.llm.embed import characters, minilm
from anharmonic.llm.perturb import isotropy
from studies.llm.measures import Asked
from studies.llm.prompts import GROUPS
from studies.llm.questions import SOURCES, read_questions
from studies.llm.saved import ask_now, read_answers
from studies.llm.scored import LETTERS, MAIN, NOISE, Scored, fingerprint
from studies.llm.vectors import Vectors
from studies.page import Tell, silent

__all__ = ["COUNT", "COUNTS", "EACH", "PART", "PROMPTS", "score"]

COUNT = 10
"""Other answers a question in the main tables, as in the paper."""
COUNTS = (3, 5, 10, 20)
"""Other answers a question where their number is the question."""
EACH = 24
"""Questions of a source in a reduced run."""
PART = 200
"""Questions of a source in the ablations: embedding is what takes the time."""
PROMPTS = 50
"""Prompts whose changes are embedded themselves."""


def score(
    data: Path, seed: int = 0, tell: Tell = silent, each: int = EACH, part: int = PART
) -> list[Scored]:
    """The main columns of every source, then those of a part of its questions for the ablations.

    From saved answers in `data`; without any, `each` questions of a source are asked now, and
    there are no ablations.
    """
    saved = read_answers(data)
    questions = read_questions(data, None if saved is not None else each, seed)
    answers = ask_now(questions, data, seed, tell) if saved is None else saved
    vectors = Vectors(minilm(), None if saved is None else data / "vectors")
    asked = [Asked.of(source, questions, answers, vectors) for source in SOURCES]
    parts = [] if saved is None else [each.part(part, seed) for each in asked]
    vectors.learn(_texts(asked, parts), tell)
    tell("the answers are being scored …")
    found = [_main(each) for each in asked] + [_part(each) for each in parts]
    if parts:
        found[len(asked)].facts["moved"] = _moved(parts[0], seed)
    return found


def _texts(asked: Sequence[Asked], parts: Sequence[Asked]) -> Iterator[str]:
    """All that is to be embedded: ten others a question for the main tables, all for a part."""
    for each in asked:
        yield from each.texts(("original", NOISE, *MAIN), COUNT)
    for each in parts:
        yield from each.texts(each.answers, max(COUNTS))


def _main(asked: Asked) -> Scored:
    """Gamma and every rival, at equal calls."""
    others = _others(asked)
    columns: dict[str, Array] = {"length": asked.lengths(), f"gamma/{NOISE}/1": asked.noise()}
    for group in MAIN:
        columns[f"gamma/{group}/{others}"] = asked.gamma(group, others)
        for name, column in asked.rivals(group, others).items():
            columns[f"rival/{group}/{name}"] = column
    return _scored(asked, columns)


def _part(asked: Asked) -> Scored:
    """Gamma by the way of changing, by the number of answers, and by letters alone."""
    others, letters = _others(asked), characters()
    columns: dict[str, Array] = {}
    for group in asked.changed:
        columns[f"gamma/{group}/{others}"] = asked.gamma(group, others)
    for group in MAIN:
        for count in COUNTS:
            if count <= len(asked.answers[group][0]):
                columns[f"gamma/{group}/{count}"] = asked.gamma(group, count)
        columns[f"{LETTERS}/{group}/{others}"] = asked.gamma(group, others, letters)
    return _scored(asked, columns, part=True)


def _scored(asked: Asked, columns: dict[str, Array], part: bool = False) -> Scored:
    pairs = zip(asked.original, asked.answers[NOISE], strict=True)
    facts = {
        "source": asked.source,
        "part": part,
        "others": _others(asked),
        "calls": sum(len(said) for group in asked.answers.values() for said in group),
        "same": float(np.mean([answer == again[0] for answer, again in pairs])),
    }
    known = {
        "question": np.array([fingerprint(each.prompt) for each in asked.questions]),
        "wrong": np.array(asked.wrong()),
    }
    return Scored(facts, known | columns)


def _others(asked: Asked) -> int:
    return min(COUNT, len(asked.answers["control"][0]))


def _moved(asked: Asked, seed: int) -> dict[str, dict[str, Any]]:
    """How far each change moves a prompt in the embedder's space, and how evenly."""
    prompts = [question.prompt for question in asked.questions[:PROMPTS]]
    kinds = dict.fromkeys(group.kind for group in GROUPS if group.kind != "resample")
    return {
        kind: asdict(isotropy(kind, prompts, asked.embed, count=10, seed=seed)) for kind in kinds
    }


if __name__ == "__main__":
    for _found in score(Path(sys.argv[1]), tell=print):
        print(_found.save(Path(sys.argv[2])))
