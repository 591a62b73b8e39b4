"""Score chats that pass by: the answer a user got, against answers to perturbed prompts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from anharmonic._core.estimate import Estimate
from anharmonic._core.randomness import generator
from anharmonic._core.streams import LanguageStream
from anharmonic.errors import AnharmonicError, first_line
from anharmonic.llm.cache import Cache, identity
from anharmonic.llm.clients.exchange import USUAL_TEMPERATURE
from anharmonic.llm.dispatch import Usage
from anharmonic.llm.measuring import measured
from anharmonic.llm.recipe import Recipe
from anharmonic.llm.records import NOTHING, Record
from anharmonic.llm.types import Answer, Client, Embed, Parameters

__all__ = ["ChatScore", "Scorer", "last_prompt"]


@dataclass(frozen=True)
class ChatScore:
    """What a chat's answer came to; `number` counts chats, so that a score finds its answer."""

    number: int
    prompt: str
    answer: str
    gamma: Estimate
    gamma0: Estimate
    refused: int
    failed: int
    calls: int
    problem: str | None = None

    def plain(self) -> dict[str, Any]:
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
    """Scores a share of the chats; `told` is called with every score, from a thread.

    A watch fits there: `told=ChatWatch(gammas).update`.
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

    def score(self, number: int, chat: dict[str, Any], answer: str) -> ChatScore:
        """Measure one chat; the answer is the one that was given, not asked for again."""
        prompt = last_prompt(chat)
        assert prompt is not None
        kept = {name: value for name, value in chat.items() if not name.startswith("stream")}
        parameters = Parameters(_temperature(chat), chat=json.dumps(kept, sort_keys=True))
        recipe = replace(self.recipe, parameters=parameters)
        usage = Usage()
        with Cache(":memory:") as cache:
            original = recipe.requests(prompt)[0][0]
            cache.put(identity(self.client.name, original), Answer(answer))
            try:
                (record,) = measured(
                    *(self.client, [prompt], recipe, self.embed), cache=cache, usage=usage
                )
                problem = None
            except AnharmonicError as stopped:
                record, problem = Record(prompt, Answer(answer)), str(stopped)
            except Exception as stopped:  # anything may come of a server's or an embedder's answer
                about = f"{type(stopped).__name__}: {first_line(stopped)}"
                record, problem = Record(prompt, Answer(answer)), about
        found = ChatScore(
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
                self.told(found)
        return found


def last_prompt(chat: dict[str, Any]) -> str | None:
    """The last user message's text; None where there is none that could be perturbed."""
    try:
        texts = [each["content"] for each in chat["messages"] if each["role"] == "user"]
    except (KeyError, TypeError):
        return None
    return texts[-1] if texts and isinstance(texts[-1], str) else None


def _temperature(chat: dict[str, Any]) -> float:
    """The temperature that a chat asks for; null is legal and leaves it to the server."""
    given = chat.get("temperature")
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < 1e6:
        return USUAL_TEMPERATURE
    return float(given)
