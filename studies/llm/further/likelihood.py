"""What the model itself says of its answers: token probabilities, and whether it holds them true.

    python -m studies.llm.further.likelihood DIR MODEL.gguf OUT.npz

answers every question of DIR greedily, as the study does, and keeps numbers of each question in
OUT after every batch; a run that was stopped goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Array, Floats
from studies.llm.generation import generate
from studies.llm.network import Network, opened, read_network
from studies.llm.questions import read_questions
from studies.llm.scored import Scored, fingerprint
from studies.llm.tokens import Vocabulary, read_vocabulary

__all__ = ["LIKELIHOODS", "likelihoods_of", "measure", "read_likelihoods"]

LIKELIHOODS = ("−mean log p", "−least log p", "−sum of log p", "mean entropy", "1 − p(True)")
"""All larger for less trust. The first four come with the answer, the last takes one call more."""
BATCH = 64
ASKED = (
    "Question: {question}\nProposed answer: {answer}\n"
    "Is the proposed answer true? Say True or False."
)


class _Watched:
    """Log probabilities of the tokens said, and entropies, step by step."""

    def __init__(self) -> None:
        self.chosen: list[Any] = []
        self.entropies: list[Any] = []

    def __call__(self, logits: Any, tokens: Any) -> None:
        logs = logits.float().log_softmax(-1)
        self.chosen.append(logs.gather(1, tokens[:, None])[:, 0].cpu().numpy())
        self.entropies.append(-(logs.exp() * logs).sum(-1).cpu().numpy())


def _of_batch(network: Network, vocabulary: Vocabulary, prompts: list[str]) -> dict[str, Any]:
    seen = _Watched()
    tokens = [vocabulary.question(prompt) for prompt in prompts]
    said = generate(network, tokens, vocabulary.end, watch=seen)
    logs, entropies = np.stack(seen.chosen, axis=1), np.stack(seen.entropies, axis=1)
    columns: dict[str, list[float]] = {name: [] for name in LIKELIHOODS[:4]}
    answers = [vocabulary.text(each) for each in said]
    for row, each in enumerate(said):
        # Up to the end mark, which counts: to stop there was a choice too.
        stop = each.index(vocabulary.end) + 1 if vocabulary.end in each else len(each)
        own = logs[row, :stop]
        figures = (-own.mean(), -own.min(), -own.sum(), entropies[row, :stop].mean())
        for name, figure in zip(LIKELIHOODS, figures, strict=False):
            columns[name].append(float(figure))
    asked = [
        vocabulary.question(ASKED.format(question=prompt, answer=answer))
        for prompt, answer in zip(prompts, answers, strict=True)
    ]
    firsts: list[Any] = []
    generate(network, asked, vocabulary.end, new=1, watch=lambda logits, _: firsts.append(logits))
    sure = firsts[0].float().softmax(-1).cpu().numpy()
    yes, no = (vocabulary.first(word) for word in ("True", "False"))
    columns[LIKELIHOODS[4]] = (1 - sure[:, yes] / (sure[:, yes] + sure[:, no])).tolist()
    return columns | {"answers": answers}


def measure(folder: Path, model: Path, out: Path) -> None:
    """All questions that OUT does not hold yet, in batches of prompts of one length."""
    import torch

    reader = opened(model)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network, vocabulary = read_network(reader, device), read_vocabulary(reader)
    prompts = {fingerprint(each.prompt): each.prompt for each in read_questions(folder)}
    known = _kept(out)
    left = [name for name in prompts if name not in set(known.get("question", np.array([])))]
    left.sort(key=lambda name: len(prompts[name]))
    for first in range(0, len(left), BATCH):
        names = left[first : first + BATCH]
        with torch.inference_mode():
            found = _of_batch(network, vocabulary, [prompts[name] for name in names])
        new = {"question": np.array(names)} | {
            name: np.array(values) for name, values in found.items()
        }
        known = {
            name: np.concatenate([known[name], new[name]]) if name in known else new[name]
            for name in new
        }
        with whole_file(out) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **known)
        print(f"{len(left) - first - len(names)} questions are left", flush=True)


def _kept(out: Path) -> dict[str, Array]:
    if not out.exists():
        return {}
    with np.load(out, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def read_likelihoods(path: Path) -> dict[str, dict[str, float]]:
    """Numbers by question's fingerprint."""
    held = _kept(path)
    names = held["question"].tolist()
    return {
        name: {column: float(held[column][row]) for column in LIKELIHOODS}
        for row, name in enumerate(names)
    }


def likelihoods_of(scored: Scored, known: dict[str, dict[str, float]]) -> dict[str, Floats]:
    """Columns for the questions of a source, in its order; NaN where one is not known."""
    names = scored.columns["question"].tolist()
    return {
        column: np.array([known.get(name, {}).get(column, np.nan) for name in names])
        for column in LIKELIHOODS
    }


if __name__ == "__main__":
    measure(*(Path(word) for word in sys.argv[1:4]))
