"""What the study asks: every question as it is, perturbed in each way, and again while sampling.

    python -m studies.llm.prompts FOLDER prompts.json.gz

writes all of it for `generation`, the first part complete before the second begins.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anharmonic._core.randomness import generator
from anharmonic.llm import perturb
from studies.llm.questions import Question, read_questions
from studies.streams import LanguageStudyStream

__all__ = ["GROUPS", "REPEAT", "Answers", "Group", "gathered", "groups"]

Answers = dict[str, dict[int, list[str]]]
"""By group, then by the question's row."""


@dataclass(frozen=True)
class Group:
    """`count` prompts a question, changed in one way and asked at one temperature."""

    name: str
    kind: str
    count: int
    temperature: float = 0.0

    def prompts(self, question: Question, seed: int) -> list[str]:
        """The same for the same question and seed, whatever else is asked."""
        changes = perturb.named(self.kind)
        return [
            perturb.perturbed(question.prompt, changes, seed, turn).prompt
            for turn in range(self.count)
        ]


GROUPS = (
    Group("original", "resample", 1),
    Group("control", "control", 20),
    Group("resample", "resample", 20, 1.0),
    Group("typos", "typos", 10),
    Group("case", "case", 10),
    Group("unicode", "unicode", 10),
    Group("whitespace", "whitespace", 10),
    Group("zero_width", "zero_width", 10),
    Group("control, sampled", "control", 10, 1.0),
    Group("resample, cooler", "resample", 10, 0.5),
)
REPEAT = Group("repeat", "resample", 1)


def groups(questions: Sequence[Question], seed: int = 0) -> Iterator[dict[str, Any]]:
    """Two thirds of the questions in every group, then the rest if there is time.

    `REPEAT` asks all of them in one go: what another batch changes in an answer.
    """
    order = generator(seed, LanguageStudyStream.PROMPT_ORDER).permutation(len(questions)).tolist()
    most = -(-2 * len(order) // 3)
    yield _asked(REPEAT, questions, order, seed)
    for rows in (order[:most], order[most:]):
        for group in GROUPS:
            yield _asked(group, questions, rows, seed)


def _asked(
    group: Group, questions: Sequence[Question], rows: list[int], seed: int
) -> dict[str, Any]:
    prompts = [prompt for row in rows for prompt in group.prompts(questions[row], seed)]
    return {
        "name": group.name,
        "temperature": group.temperature,
        "rows": rows,
        "prompts": prompts,
    }


def gathered(done: Sequence[dict[str, Any]]) -> Answers:
    """Answers by group and question, from the groups that were answered."""
    found: Answers = {}
    for group in done:
        each = len(group["answers"]) // len(group["rows"])
        for at, row in enumerate(group["rows"]):
            texts = group["answers"][each * at : each * (at + 1)]
            found.setdefault(group["name"], {})[row] = texts
    return found


if __name__ == "__main__":
    everything = list(groups(read_questions(Path(sys.argv[1]))))
    Path(sys.argv[2]).write_bytes(gzip.compress(json.dumps(everything).encode(), mtime=0))
