"""Does gamma tell right answers from wrong ones, and better than asking again?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from anharmonic.llm.embed import minilm
from anharmonic.reproduce.llm.ablations import counts, embedders, kinds
from anharmonic.reproduce.llm.headline import Headline, answered, compared, ranked
from anharmonic.reproduce.llm.measures import Asked
from anharmonic.reproduce.llm.prompts import Answers
from anharmonic.reproduce.llm.questions import SOURCES, Question, read_questions
from anharmonic.reproduce.llm.ranking import ROUNDS
from anharmonic.reproduce.llm.saved import ask_now, read_answers
from anharmonic.reproduce.llm.vectors import Vectors
from anharmonic.reproduce.page import Page, Tell, silent

__all__ = ["language"]

EACH = 24
"""Questions of a source in a reduced run."""
TITLE = "Does gamma tell which answers to trust?"
CLAIM = """γ → 0 goes with trustworthy answers: ten prompts changed by control characters, and the
answer held against the mean answer, in an embedder's space (arXiv 2404.19708). No AUROC was
published for it. It is open which characters, how many prompts and which embedder are best
(its open questions 1, 2 and 5). Elsewhere: semantic entropy 0.79, naive entropy 0.69,
p(True) 0.70, with large models (Nature 2024)."""


def language(
    data: Path, seed: int = 0, tell: Tell = silent, each: int = EACH, rounds: int = ROUNDS
) -> Page:
    """The whole study from saved answers in `data`; a few dozen questions asked now without."""
    saved = read_answers(data)
    questions = read_questions(data, None if saved is not None else each, seed)
    answers = ask_now(questions, data, seed, tell) if saved is None else saved
    vectors = Vectors(minilm(), None if saved is None else data / "vectors")
    vectors.learn(_texts(questions, answers), tell)
    tell("the answers are being ranked …")
    asked = [Asked.of(source, questions, answers, vectors) for source in SOURCES]
    return _page(asked, seed, rounds, whole=saved is not None)


def _texts(questions: Sequence[Question], answers: Answers) -> Iterable[str]:
    """All that is to be embedded: the answers, and what those of TruthfulQA are held against."""
    for question in questions:
        if question.wrong:
            yield from (*question.right, *question.wrong)
    for group in answers.values():
        for said in group.values():
            yield from said


def _page(asked: Sequence[Asked], seed: int, rounds: int, whole: bool) -> Page:
    found = [Headline.of(each, seed, rounds) for each in asked]
    sections = [answered(found, whole), ranked(found), compared(found)]
    if whole:
        sections += [kinds(found), counts(found), embedders(found)]
    verdict = tuple(line for each in sections for line in each.verdict)
    parts = tuple(each.section for each in sections)
    return Page("llm", TITLE, CLAIM, parts, verdict, seed, needs="--data DIR")
