"""Every number that may tell right from wrong, for every question, from the same answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.errors import InputError
from anharmonic.llm.rivals import RIVALS, length
from anharmonic.llm.statistics import deviation
from anharmonic.llm.types import Embed
from studies.llm.correctness import right
from studies.llm.prompts import Answers
from studies.llm.questions import Question
from studies.streams import LanguageStudyStream

__all__ = ["Asked"]


@dataclass(frozen=True)
class Asked:
    """The questions of one source with all their answers by group, and who embeds them."""

    source: str
    questions: Sequence[Question]
    answers: dict[str, list[list[str]]]
    embed: Embed

    @classmethod
    def of(
        cls, source: str, questions: Sequence[Question], answers: Answers, embed: Embed
    ) -> Asked:
        """The questions of one source, from answers by group and row."""
        rows = [row for row, each in enumerate(questions) if each.source == source]
        try:
            mine = {name: [found[row] for row in rows] for name, found in answers.items()}
        except KeyError as problem:
            raise InputError(
                f"there is no answer to question {problem}: the answers belong to other questions"
            ) from None
        return cls(source, [questions[row] for row in rows], mine, embed)

    def part(self, count: int, seed: int) -> Asked:
        """So many of the questions, drawn at random."""
        rows = (
            generator(seed, LanguageStudyStream.ABLATION_SAMPLE)
            .permutation(len(self))[:count]
            .tolist()
        )
        mine = {name: [found[row] for row in rows] for name, found in self.answers.items()}
        return Asked(self.source, [self.questions[row] for row in rows], mine, self.embed)

    def texts(self, groups: Iterable[str], count: int) -> Iterator[str]:
        """The first `count` answers of some groups, and what the answers are held against."""
        for question in self.questions:
            if question.wrong:
                yield from (*question.right, *question.wrong)
        for group in groups:
            for said in self.answers[group]:
                yield from said[:count]

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def changed(self) -> list[str]:
        """The groups of other answers."""
        return [name for name in self.answers if name not in ("original", "repeat")]

    @property
    def original(self) -> list[str]:
        return [each[0] for each in self.answers["original"]]

    def wrong(self) -> list[bool]:
        """Whether each original answer is wrong."""
        both = zip(self.questions, self.original, strict=True)
        return [not right(question, answer, self.embed) for question, answer in both]

    def gamma(self, group: str, count: int = 10, embed: Embed | None = None) -> Floats:
        """Gamma of each question from the first `count` answers of a group."""
        found = []
        for answer, others in zip(self.original, self.answers[group], strict=True):
            vectors = (embed or self.embed)([answer, *others[:count]])
            found.append(deviation(vectors[0], vectors[1:]))
        return np.array(found)

    def noise(self) -> Floats:
        """Gamma of the same prompt in another batch."""
        return self.gamma("repeat", 1)

    def rivals(self, group: str, count: int = 10) -> dict[str, Floats]:
        """Every rival that looks at the answers of a group."""
        columns: dict[str, list[float]] = {name: [] for name in RIVALS if name != "length"}
        for answer, others in zip(self.original, self.answers[group], strict=True):
            texts = [answer, *others[:count]]
            vectors = self.embed(texts)
            for name, column in columns.items():
                column.append(RIVALS[name](texts, vectors))
        return {name: np.array(column) for name, column in columns.items()}

    def lengths(self) -> Floats:
        return np.array([length([answer], np.ones((1, 1))) for answer in self.original])
