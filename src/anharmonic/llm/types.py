"""The types of this package: a request to a language model, its answer, who answers, who embeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

from anharmonic._core.protocols import Array

__all__ = ["DEFAULTS", "Answer", "Client", "ConcurrentClient", "Embed", "Parameters", "Request"]

Embed = Callable[[Sequence[str]], Array]
"""Any function from texts to one vector each, (texts, D); a text classifier is one too."""


@dataclass(frozen=True)
class Parameters:
    """How a model is to answer; part of a cached answer's key.

    Parameters
    ----------
    temperature, max_tokens, top_p
        As servers know them; None leaves it to the server.
    system
        A system prompt.
    chat
        A whole chat completion request in JSON, whose last user message the prompt replaces;
        then it alone says how to answer, but for the temperature of what is resampled.
    """

    temperature: float = 0.0
    max_tokens: int = 256
    top_p: float | None = None
    system: str | None = None
    chat: str | None = None

    def plain(self) -> dict[str, object]:
        """What was set, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


DEFAULTS = Parameters()


@dataclass(frozen=True)
class Request:
    """One request for an answer.

    Parameters
    ----------
    prompt, parameters
        What is asked, and how to answer.
    repeat
        Counts identical requests, so that a cache keeps them apart.
    seed
        For servers that sample by a seed; set only where there is something to sample.
    """

    prompt: str
    parameters: Parameters = DEFAULTS
    repeat: int = 0
    seed: int | None = None


@dataclass(frozen=True)
class Answer:
    """What came back: text, or why there is none.

    Parameters
    ----------
    text
        The answer; empty where there is none.
    prompt_tokens, answer_tokens
        As the server counted them; 0 where it does not.
    refused
        The server understood and would not (a prompt it does not accept, a filter).
    error
        Everything else that left no text, after all retries, or the refusal's words.
    cached
        Whether it came from the cache.
    attempts
        How many calls it took, retries included.
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
