"""Chats as they pass by: what was asked, and the text that was answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from anharmonic.llm.clients.exchange import meaning
from anharmonic.llm.types import Answer
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.llm.gateway.entrance import POSTED
from anharmonic.serve.llm.scorer import last_prompt

__all__ = ["DONE", "Exchange", "Head", "answer_of", "chat_of"]

DONE: Final = b"[DONE]"
"""The last event of a stream."""


class Head(Protocol):
    """Status and headers of a server's response."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class Exchange:
    """A client's request to forward: where to, with what, and which score the client wants."""

    method: str
    path: str
    query: bytes
    headers: dict[bytes, bytes]
    body: bytes
    chat: Mapping[str, Any] | None
    wish: str

    @property
    def streamed(self) -> bool:
        return bool((self.chat or {}).get("stream"))


def chat_of(path: str, body: bytes) -> Mapping[str, object] | None:
    """A chat that could be perturbed; anything else in JSON is forwarded unread."""
    if path != POSTED[0]:
        return None
    try:
        chat = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("the body is no JSON, or too deep to read", 400) from None
    return chat if isinstance(chat, dict) and last_prompt(chat) is not None else None


def answer_of(response: Head, content: bytes, streamed: bool) -> str | None:
    """The text of a response, whole or from its stream of events; None where it has none."""
    if not streamed:
        outcome = meaning(response.status_code, response.headers, content, "")
        return outcome.text if isinstance(outcome, Answer) and outcome.usable else None
    # Server-sent events: one "data:" line each, with a piece of the answer.
    parts = []
    for line in content.split(b"\n"):
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or data == DONE:
            continue
        try:
            part = json.loads(data)["choices"][0]["delta"].get("content")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            continue
        parts.append(part if isinstance(part, str) else "")
    text = "".join(parts)
    return text if text.strip() else None
