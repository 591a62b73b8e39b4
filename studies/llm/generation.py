"""Thousands of answers at once, on a GPU if there is one.

    python -m studies.llm.generation prompts.json.gz answers.jsonl.gz MODEL.gguf

It needs torch, tokenizers and gguf. The prompts are groups of `{name, temperature, prompts}`; the
answers come back in the same groups, one a line. What is answered when the time is up is kept.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from studies.llm.network import Network, opened, read_network
from studies.llm.tokens import Vocabulary, read_vocabulary

__all__ = ["Batches", "answer_groups", "generate"]

Watch = Callable[[Any, Any], None]
NEW = 48
"""Tokens an answer may have: enough for the fact that was asked for."""


class Batches(NamedTuple):
    """How answering is cut up: rows a batch, seconds in all, and a seed for the sampling."""

    rows: int = 2048
    seconds: float = 170.0
    seed: int = 0


ALL_AT_ONCE = Batches()


def generate(
    network: Network,
    prompts: Sequence[list[int]],
    end: int,
    temperature: float = 0.0,
    new: int = NEW,
    seed: int = 0,
    watch: Watch | None = None,
) -> list[list[int]]:
    """The tokens that follow each prompt, until `end` or `new` of them.

    `watch` is called at every step with the logits (B, V) and the tokens chosen (B,).
    """
    import torch

    device = network.weights["token_embd.weight"].device
    width = max(map(len, prompts))
    # Padding stands on the left, so that all texts go on in the same column.
    padding = torch.tensor([width - len(prompt) for prompt in prompts], device=device)
    tokens = torch.tensor([[end] * (width - len(p)) + p for p in prompts], device=device)
    columns = torch.arange(width + new, device=device)
    real = columns >= padding[:, None]
    places = (columns - padding[:, None]).clamp(min=0)
    past = network.empty_past(len(prompts), width + new)
    causal = (columns[:width, None] >= columns[:width]) & real[:, None, :width]
    # A padding column may look at itself: a row of attention over nothing is not a number.
    causal |= torch.eye(width, dtype=torch.bool, device=device)
    noise = torch.Generator(device).manual_seed(seed)
    logits = network(tokens, places[:, :width], causal, past)
    said: list[Any] = []
    done = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    for step in range(new):
        said.append(_chosen(logits, temperature, noise))
        if watch is not None:
            watch(logits, said[-1])
        done |= said[-1] == end
        at = width + step
        if step + 1 == new or bool(done.all()):
            break
        logits = network(said[-1][:, None], places[:, at : at + 1], real[:, None, : at + 1], past)
    answers: list[list[int]] = torch.stack(said, 1).tolist()
    return answers


def _chosen(logits: Any, temperature: float, noise: Any) -> Any:
    if temperature == 0:
        return logits.argmax(-1)
    return (logits / temperature).softmax(-1).multinomial(1, generator=noise)[:, 0]


def answer_groups(
    network: Network,
    vocabulary: Vocabulary,
    groups: Sequence[dict[str, Any]],
    batches: Batches = ALL_AT_ONCE,
) -> Iterator[dict[str, Any]]:
    """Each group with its answers, as soon as it is done; a group that time cut short is left out.

    Greedy answers to one prompt are made once, however often the prompt stands in a group.
    """
    start = time.monotonic()
    for number, group in enumerate(groups):
        asked, temperature = group["prompts"], float(group["temperature"])
        different = list(asked) if temperature else list(dict.fromkeys(asked))
        left = batches._replace(
            seconds=batches.seconds - (time.monotonic() - start),
            seed=batches.seed + 1_000_003 * number,
        )
        answers = _answers(network, vocabulary, different, temperature, left)
        if answers is None:
            return
        if not temperature:
            known = dict(zip(different, answers, strict=True))
            answers = [known[prompt] for prompt in asked]
        said = {"answers": answers, "seconds": time.monotonic() - start}
        yield {key: value for key, value in group.items() if key != "prompts"} | said


def _answers(
    network: Network,
    vocabulary: Vocabulary,
    prompts: Sequence[str],
    temperature: float,
    batches: Batches,
) -> list[str] | None:
    """An answer a prompt, prompts of one length together; None when time runs out."""
    import torch

    start = time.monotonic()
    tokens = [vocabulary.question(prompt) for prompt in prompts]
    order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
    answers = [""] * len(tokens)
    for first in range(0, len(order), batches.rows):
        if time.monotonic() - start > batches.seconds:
            return None
        rows = order[first : first + batches.rows]
        asked = [tokens[at] for at in rows]
        with torch.inference_mode():
            seed = batches.seed + first
            made = generate(network, asked, vocabulary.end, temperature, seed=seed)
        for at, answer in zip(rows, made, strict=True):
            answers[at] = vocabulary.text(answer)
    return answers


def _main(prompts: Path, out: Path, model: Path, seconds: float = 170.0, rows: int = 2048) -> None:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    reader = opened(model)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network, vocabulary = read_network(reader, device), read_vocabulary(reader)
    groups = json.loads(gzip.decompress(prompts.read_bytes()))
    with out.open("wb") as file:
        for group in answer_groups(network, vocabulary, groups, Batches(rows, seconds)):
            print(f"{group['name']}: {len(group['answers'])} answers, {group['seconds']:.1f} s")
            # A line and a whole archive a group, so that a time limit loses one group at most.
            file.write(gzip.compress(json.dumps(group).encode() + b"\n"))
            file.flush()


if __name__ == "__main__":
    _given = sys.argv[4:]
    _main(
        *(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])),
        seconds=float(_given[0]) if _given else 170.0,
        rows=int(_given[1]) if len(_given) > 1 else 2048,
    )
