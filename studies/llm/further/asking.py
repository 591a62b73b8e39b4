"""The study's own network as a client that the package asks, many prompts at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anharmonic.llm.types import Answer, Request
from studies.llm.generation import generate
from studies.llm.network import Network, opened, read_network
from studies.llm.tokens import Vocabulary, read_vocabulary

__all__ = ["NetworkClient"]

BATCH = 64


class NetworkClient:
    """A GGUF file's network: same seed and requests, same answers."""

    def __init__(self, network: Network, vocabulary: Vocabulary, name: str) -> None:
        self._network, self._vocabulary, self._name = network, vocabulary, name

    @classmethod
    def opened(cls, model: Path) -> NetworkClient:
        """The network of a file, on a GPU if there is one."""
        import torch

        reader = opened(model)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return cls(read_network(reader, device), read_vocabulary(reader), model.stem)

    @property
    def name(self) -> str:
        return self._name

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """An answer for each request, in order; prompts of one length and temperature together."""
        texts = [""] * len(requests)
        order = sorted(
            range(len(requests)),
            key=lambda at: (requests[at].parameters.temperature, len(requests[at].prompt), at),
        )
        for first in range(0, len(order), BATCH):
            rows = order[first : first + BATCH]
            for temperature in dict.fromkeys(requests[at].parameters.temperature for at in rows):
                same = [at for at in rows if requests[at].parameters.temperature == temperature]
                for at, text in zip(same, self._said([requests[at] for at in same]), strict=True):
                    texts[at] = text
        # A model that says nothing has still answered.
        return [Answer(text or "(nothing)") for text in texts]

    def _said(self, requests: list[Request]) -> list[str]:
        import torch

        tokens = [self._vocabulary.question(request.prompt) for request in requests]
        settings = requests[0].parameters
        seed = sum((request.seed or 0) + 7919 * request.repeat for request in requests) % 2**31
        with torch.inference_mode():
            said = generate(
                self._network,
                tokens,
                self._vocabulary.end,
                settings.temperature,
                settings.max_tokens,
                seed,
            )
        return [self._vocabulary.text(each) for each in said]
