"""What goes to an OpenAI-compatible server and what its response means."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final

from anharmonic._core.printable import visible
from anharmonic.llm.types import Answer, Request

__all__ = ["USUAL_TEMPERATURE", "Fatal", "Retry", "body_of", "meaning"]

REFUSED: Final = (400, 413, 415, 422)
CROWDED: Final = (429, 503, 529)
FATAL: Final = {
    401: "put a valid key in the environment variable {variable}",
    402: "the account is out of credit",
    403: "put a key with access to this model in the environment variable {variable}",
    404: "check the model's name, and that the address ends where /chat/completions begins",
    405: "check that the address ends where /chat/completions begins",
}
LONGEST: Final = 300
"""Characters of a server's words that are kept."""
USUAL_TEMPERATURE: Final = 1.0
"""What servers take where a request names none."""


@dataclass(frozen=True)
class Retry:
    """Ask again: why, whether the server has too much to do, and how long it asks to wait."""

    why: str
    crowded: bool = False
    wait: float | None = None


@dataclass(frozen=True)
class Fatal:
    """Every further request would end the same way."""

    why: str


def body_of(request: Request, model: str, length_field: str, seeded: bool) -> bytes:
    """The request as JSON in ASCII, so that any character whatever arrives as it is."""
    parameters = request.parameters
    if parameters.chat is not None:
        body = _replaced(json.loads(parameters.chat), request.prompt)
        if body.get("temperature", USUAL_TEMPERATURE) != parameters.temperature:
            body["temperature"] = parameters.temperature
    else:
        system = [] if parameters.system is None else [_message("system", parameters.system)]
        body = {
            "model": model,
            "messages": [*system, _message("user", request.prompt)],
            "temperature": parameters.temperature,
            length_field: parameters.max_tokens,
        }
        if parameters.top_p is not None:
            body["top_p"] = parameters.top_p
    if seeded and request.seed is not None and "seed" not in body:
        body["seed"] = request.seed
    return json.dumps(body).encode("ascii")


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _replaced(chat: Mapping[str, Any], prompt: str) -> dict[str, object]:
    """The chat with another last user message."""
    messages = [dict(message) for message in chat["messages"]]
    last = max(number for number, message in enumerate(messages) if message.get("role") == "user")
    messages[last]["content"] = prompt
    return {**chat, "messages": messages}


def meaning(
    status: int, headers: Mapping[str, str], content: bytes, variable: str
) -> Answer | Retry | Fatal:
    """An answer, a reason to ask again, or a reason to stop."""
    if 200 <= status < 300:
        return _answer(content)
    words = _words(content)
    if status in REFUSED:
        return Answer(refused=True, error=f"{status}: {words}")
    if status in FATAL:
        advice = FATAL[status].replace("{variable}", variable)
        return Fatal(f"the server answered {status} ({words}): {advice}")
    if 300 <= status < 400:
        return Fatal(f"the server redirects ({status}): use the address it redirects to")
    if status in CROWDED or "retry-after" in headers:
        return Retry(f"{status}: {words}", True, _asked_wait(headers.get("retry-after")))
    return Retry(f"{status}: {words}")


def _answer(content: bytes) -> Answer | Retry:
    try:
        completion = json.loads(content)
        choice = completion["choices"][0]
        message = choice["message"]
        text, refusal = _text(message.get("content")), message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return Retry("the answer is not a chat completion in JSON")
    tokens = _tokens(completion, "prompt_tokens"), _tokens(completion, "completion_tokens")
    ended = choice.get("finish_reason")
    if refusal or ended == "content_filter":
        return Answer("", *tokens, refused=True, error=str(refusal or "content filter"))
    if not text.strip():
        why = "empty answer" + (", cut off: raise max_tokens" if ended == "length" else "")
        return Answer("", *tokens, error=why)
    return Answer(text, *tokens)


def _tokens(completion: Mapping[str, object], name: str) -> int:
    """Tokens as the server counted them; 0 where it says nothing that is a count."""
    usage = completion.get("usage")
    count = usage.get(name) if isinstance(usage, dict) else None
    return int(count) if isinstance(count, int | float) and 0 <= count < 2**53 else 0


def _text(content: object) -> str:
    """The text of a message: a string, nothing, or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    if content is None or isinstance(content, str):
        return content or ""
    raise TypeError("no text")


def _words(content: bytes) -> str:
    """The server's own words, on one line and not too many."""
    raw = content.decode("utf-8", "replace")
    try:
        error = json.loads(raw)["error"]
        message = error["message"] if isinstance(error, dict) else error
    except (ValueError, KeyError, TypeError, RecursionError):
        message = raw
    words = visible(" ".join(str(message).split()))
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"


def _asked_wait(header: str | None) -> float | None:
    """Seconds from a Retry-After header: a number or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
