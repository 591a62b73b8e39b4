"""The shapes of this room: a question to a language model, its answer, who answers, who embeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from anharmonic._core.protocols import Array

__all__ = ["DEFAULTS", "Answer", "Client", "ConcurrentClient", "Embed", "Parameters", "Request"]

Embed = Callable[[Sequence[str]], Array]
"""Any function from texts to one vector each, (texts, D); a text classifier is one too."""


@dataclass(frozen=True)
class Parameters:
    """How a model is to answer; part of what a cached answer is known by.

    `chat` is a whole chat completion request in JSON, whose last user message the prompt
    replaces; then it alone says how to answer, but for the temperature of what is resampled.
    """

    temperature: float = 0.0
    max_tokens: int = 256
    top_p: float | None = None
    system: str | None = None
    chat: str | None = None

    def plain(self) -> dict[str, Any]:
        """What was set, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


DEFAULTS = Parameters()


@dataclass(frozen=True)
class Request:
    """One question. `repeat` counts identical ones, so that a cache keeps them apart.

    `seed` is for servers that sample by a seed; it is set only where there is something to sample.
    """

    prompt: str
    parameters: Parameters = DEFAULTS
    repeat: int = 0
    seed: int | None = None


@dataclass(frozen=True)
class Answer:
    """What came back: text, or why there is none.

    `refused`: the server understood and would not (a prompt it does not accept, a filter).
    `error`: everything else that left no text, after all retries, or the refusal's words.
    `attempts`: how often it was asked for, retries included.
    """

    text: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    refused: bool = False
    error: str | None = None
    cached: bool = False
    attempts: int = 1

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens

    @property
    def usable(self) -> bool:
        """Whether there is a text to embed."""
        return not self.refused and self.error is None


class Client(Protocol):
    """Anything that answers. The one method takes requests and gives an answer for each, in order.

    A failure is an `Answer` with `refused` or `error`; what would fail for every request (a wrong
    key, no such model) is raised.
    """

    @property
    def name(self) -> str: ...

    def answers(self, requests: Sequence[Request]) -> list[Answer]: ...


@runtime_checkable
class ConcurrentClient(Protocol):
    """A client with a queue of its own: a request in, a promise out, so many at once."""

    @property
    def concurrency(self) -> int: ...

    def submit(self, request: Request) -> Future[Answer]: ...
