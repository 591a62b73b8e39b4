"""Does gamma tell right answers from wrong ones, and better than asking again?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from anharmonic.llm.embed import minilm
from anharmonic.reproduce.llm.ablations import COUNTS, counts, embedders, kinds
from anharmonic.reproduce.llm.headline import COUNT, MAIN, Headline, answered, compared, ranked
from anharmonic.reproduce.llm.measures import Asked
from anharmonic.reproduce.llm.questions import SOURCES, read_questions
from anharmonic.reproduce.llm.ranking import ROUNDS
from anharmonic.reproduce.llm.saved import ask_now, read_answers
from anharmonic.reproduce.llm.vectors import Vectors
from anharmonic.reproduce.page import Page, Tell, silent

__all__ = ["language"]

EACH = 24
"""Questions of a source in a reduced run."""
PART = 200
"""Questions of a source in the ablations: embedding is what takes the time."""
TITLE = "Does gamma tell which answers to trust?"
CLAIM = """γ → 0 goes with trustworthy answers: ten prompts changed by control characters, and the
answer held against the mean answer, in an embedder's space (arXiv 2404.19708). No AUROC was
published for it. It is open which characters, how many prompts and which embedder are best
(its open questions 1, 2 and 5). Elsewhere: semantic entropy 0.79, naive entropy 0.69,
p(True) 0.70, with large models (Nature 2024)."""


def language(
    data: Path,
    seed: int = 0,
    tell: Tell = silent,
    each: int = EACH,
    part: int = PART,
    rounds: int = ROUNDS,
) -> Page:
    """The study from saved answers in `data`; without any, `each` questions are asked now.

    `part` questions of a source go into the ablations.
    """
    saved = read_answers(data)
    questions = read_questions(data, None if saved is not None else each, seed)
    answers = ask_now(questions, data, seed, tell) if saved is None else saved
    vectors = Vectors(minilm(), None if saved is None else data / "vectors")
    asked = [Asked.of(source, questions, answers, vectors) for source in SOURCES]
    parts = [] if saved is None else [each.part(part, seed) for each in asked]
    vectors.learn(_texts(asked, parts), tell)
    tell("the answers are being ranked …")
    found = [Headline.of(each, seed, rounds) for each in asked]
    some = [Headline.of(each, seed, rounds) for each in parts]
    sections = [answered(found, bool(parts)), ranked(found), compared(found)]
    if some:
        sections += [kinds(some), counts(some), embedders(some)]
    verdict = tuple(line for each in sections for line in each.verdict)
    shown = tuple(each.section for each in sections)
    return Page("llm", TITLE, CLAIM, shown, verdict, seed, needs="--data DIR")


def _texts(asked: Sequence[Asked], parts: Sequence[Asked]) -> Iterator[str]:
    """All that is to be embedded: ten others a question for the main tables, all for a part."""
    for each in asked:
        yield from each.texts(("original", "repeat", *MAIN), COUNT)
    for each in parts:
        yield from each.texts(each.answers, max(COUNTS))
