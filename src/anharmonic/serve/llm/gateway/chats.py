"""Chats as they pass by: what was asked, and the text that was answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from anharmonic.llm.clients.exchange import meaning
from anharmonic.llm.types import Answer
from anharmonic.serve.http.problems import BadRequest
from anharmonic.serve.llm.gateway.entrance import POSTED
from anharmonic.serve.llm.scorer import last_prompt

__all__ = ["DONE", "Exchange", "answer_of", "chat_of"]

DONE: Final = b"[DONE]"


@dataclass(frozen=True)
class Exchange:
    """One request on its way: where to, with what, and which score its client wishes for."""

    method: str
    path: str
    query: bytes
    headers: dict[bytes, bytes]
    body: bytes
    chat: dict[str, Any] | None
    wish: str

    @property
    def streamed(self) -> bool:
        return bool((self.chat or {}).get("stream"))


def chat_of(path: str, body: bytes) -> dict[str, Any] | None:
    """A chat that could be perturbed; anything else in JSON is passed on unread."""
    if path != POSTED[0]:
        return None
    try:
        chat = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("the body is no JSON, or too deep to read", 400) from None
    return chat if isinstance(chat, dict) and last_prompt(chat) is not None else None


def answer_of(response: Any, content: bytes, streamed: bool) -> str | None:
    """The text of a response, whole or from its stream of events; None where it has none."""
    if not streamed:
        found = meaning(response.status_code, response.headers, content, "")
        return found.text if isinstance(found, Answer) and found.usable else None
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
