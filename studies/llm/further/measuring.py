"""Ask the made questions, and search near prompts: `python -m studies.llm.further DIR MODEL OUT`.

OUT gets made.json and ascents.json, each written after every few questions; a run that was stopped
goes on. Minutes on a GPU, hours on a core that is shared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from anharmonic._core.files import whole_file
from anharmonic._core.randomness import generator
from anharmonic.llm.embed import minilm
from anharmonic.llm.measuring import gamma
from anharmonic.llm.prompt_search import WAYS, search
from anharmonic.llm.types import Embed, Parameters
from studies.llm.correctness import right
from studies.llm.further.asking import NetworkClient
from studies.llm.further.made import made_questions
from studies.llm.questions import read_questions
from studies.llm.scored import fingerprint
from studies.streams import LanguageStudyStream

__all__ = ["Effort", "measure_ascents", "measure_made"]

TOKENS = 32
TOGETHER = 8


class Effort(NamedTuple):
    """Questions of a made kind, answers of a group; prompts, steps and candidates of an ascent."""

    each: int = 40
    others: int = 10
    prompts: int = 40
    steps: int = 4
    candidates: int = 6


def _write(path: Path, held: Any) -> None:
    with whole_file(path) as temporary:
        Path(temporary).write_text(json.dumps(held, ensure_ascii=False, indent=0))


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text())) if path.exists() else {}


def measure_made(client: NetworkClient, embed: Embed, out: Path, effort: Effort, seed: int) -> None:
    """Gamma of every made question by control characters and asked again; is it right?"""
    path = out / "made.json"
    held = _read(path)
    questions = [
        each for each in made_questions(seed, effort.each) if fingerprint(each.prompt) not in held
    ]
    parameters = Parameters(max_tokens=TOKENS)
    for first in range(0, len(questions), TOGETHER):
        some = questions[first : first + TOGETHER]
        prompts = [each.prompt for each in some]
        found = {
            perturb: gamma(
                client,
                prompts,
                embed=embed,
                count=effort.others,
                perturb=perturb,
                gamma0=False,
                parameters=parameters,
                seed=seed,
            )
            for perturb in ("control", "resample")
        }
        for row, question in enumerate(some):
            answer = found["control"].records[row].answer.text
            held[fingerprint(question.prompt)] = {
                "kind": question.source,
                "prompt": question.prompt,
                "answer": answer,
                "right": bool(question.right) and right(question, answer, embed),
                **{name: float(scores.values[row]) for name, scores in found.items()},
            }
        _write(path, held)
        print(f"made: {len(questions) - first - len(some)} questions are left", flush=True)


def measure_ascents(
    client: NetworkClient, embed: Embed, data: Path, out: Path, effort: Effort, seed: int
) -> None:
    """Every way from some WebQuestions, by two kinds of characters, at equal candidates."""
    path = out / "ascents.json"
    held = _read(path)
    questions = [each for each in read_questions(data) if each.source == "WebQuestions"]
    order = generator(seed, LanguageStudyStream.ASCENT_QUESTIONS).permutation(len(questions))
    for number in order[: effort.prompts].tolist():
        question = questions[number]
        for kind in ("unicode", "control"):
            for way in WAYS:
                key = f"{fingerprint(question.prompt)} {kind} {way}"
                if key in held:
                    continue
                path_found = search(
                    client,
                    question.prompt,
                    embed=embed,
                    way=way,
                    steps=effort.steps,
                    count=effort.candidates,
                    perturb=kind,
                    seed=seed,
                    parameters=Parameters(max_tokens=TOKENS),
                )
                held[key] = {
                    "chosen": [float(step.gamma.value) for step in path_found.steps],
                    "fresh": [float(step.fresh.value) for step in path_found.steps],
                    "right": [right(question, step.answer, embed) for step in path_found.steps],
                    "calls": path_found.calls,
                }
                _write(path, held)
        print(f"ascents: {len(held)} searches are done", flush=True)


def main(data: Path, model: Path, out: Path, effort: Effort, seed: int = 0) -> None:
    """Both, one after the other."""
    out.mkdir(parents=True, exist_ok=True)
    client, embed = NetworkClient.opened(model), minilm()
    measure_made(client, embed, out, effort, seed)
    measure_ascents(client, embed, data, out, effort, seed)


def effort_of(text: str) -> Effort:
    """From numbers with commas between them; the study's own where there are none."""
    return Effort(*(int(number) for number in text.split(","))) if text else Effort()
