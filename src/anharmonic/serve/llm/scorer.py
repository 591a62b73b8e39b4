"""Score chats that pass by: the answer a user got, against answers to perturbed prompts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anharmonic._core.estimate import Estimate
from anharmonic._core.randomness import generator
from anharmonic._core.streams import LanguageStream
from anharmonic.errors import AnharmonicError, first_line
from anharmonic.llm.cache import Cache, identity
from anharmonic.llm.clients.exchange import USUAL_TEMPERATURE
from anharmonic.llm.dispatch import Usage
from anharmonic.llm.measuring import measure_prompts
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.records import NOTHING, Record
from anharmonic.llm.types import Answer, Client, Embed, Parameters

__all__ = ["ChatScore", "Scorer", "last_prompt"]


@dataclass(frozen=True)
class ChatScore:
    """The gamma of one chat's answer.

    `number` counts chats, so that a score finds its answer; `problem` says why there is no gamma.
    """

    number: int
    prompt: str
    answer: str
    gamma: Estimate
    gamma0: Estimate
    refused: int
    failed: int
    calls: int
    problem: str | None = None

    def plain(self) -> dict[str, object]:
        """As plain values, for a line of JSON."""
        return {
            "number": self.number,
            "prompt": self.prompt,
            "answer": self.answer,
            "gamma": list(self.gamma),
            "gamma0": list(self.gamma0),
            "refused": self.refused,
            "failed": self.failed,
            "calls": self.calls,
            "problem": self.problem,
        }


@dataclass
class Scorer:
    """Scores a share of the chats.

    Parameters
    ----------
    client, embed, recipe
        Who answers, what makes answers into vectors, and what is asked about each chat.
    share
        Of the chats that are scored.
    told
        Called with every score, from a thread; a watch fits there:
        `told=ChatWatch(gammas).update`.
    scored
        How many there were.
    """

    client: Client
    embed: Embed
    recipe: Recipe
    share: float = 0.1
    told: Callable[[ChatScore], object] | None = None
    scored: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def calls(self) -> int:
        """How many calls a chat's score takes: its answer is there already."""
        return self.recipe.calls - 1

    def chosen(self, number: int) -> bool:
        """Whether a chat is among the share: by its number and the seed, so always the same."""
        return bool(
            generator(self.recipe.seed, LanguageStream.CHAT_SHARE, number).random() < self.share
        )

    def score(self, number: int, chat: Mapping[str, object], answer: str) -> ChatScore:
        """Measure one chat; the answer is the one that the user got, not asked for again."""
        prompt = last_prompt(chat)
        assert prompt is not None
        whole = {name: value for name, value in chat.items() if not name.startswith("stream")}
        parameters = Parameters(_temperature(chat), chat=json.dumps(whole, sort_keys=True))
        recipe = replace(self.recipe, parameters=parameters)
        usage = Usage()
        with Cache(":memory:") as cache:
            # The original is answered from the cache, by what the user got.
            original = recipe.requests(prompt)[0][0]
            cache.put(identity(self.client.name, original), Answer(answer))
            try:
                (record,) = measure_prompts(
                    *(self.client, [prompt], recipe, self.embed), cache=cache, usage=usage
                )
                problem = None
            except AnharmonicError as stopped:
                record, problem = Record(prompt, Answer(answer)), str(stopped)
            except Exception as stopped:  # anything may come of a server's or an embedder's answer
                reason = f"{type(stopped).__name__}: {first_line(stopped)}"
                record, problem = Record(prompt, Answer(answer)), reason
        score = ChatScore(
            number,
            prompt,
            answer,
            NOTHING if record.gamma is None else record.gamma.estimate,
            NOTHING if record.gamma0 is None else record.gamma0.estimate,
            usage.refused,
            usage.failed,
            usage.calls,
            problem,
        )
        with self._lock:
            self.scored += 1
            if self.told is not None:
                self.told(score)
        return score


def last_prompt(chat: Mapping[str, Any]) -> str | None:
    """The last user message's text; None where there is none that could be perturbed."""
    try:
        texts = [message["content"] for message in chat["messages"] if message["role"] == "user"]
    except (KeyError, TypeError):
        return None
    return texts[-1] if texts and isinstance(texts[-1], str) else None


def _temperature(chat: Mapping[str, object]) -> float:
    """The temperature that a chat asks for; null is legal and leaves it to the server."""
    value = chat.get("temperature")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        return USUAL_TEMPERATURE
    return float(value)
