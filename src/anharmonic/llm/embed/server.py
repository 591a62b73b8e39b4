"""Any server that speaks OpenAI's embeddings."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Final

from anharmonic._core.protocols import Floats
from anharmonic.errors import MissingExtra, RemoteError, SettingsError, first_line
from anharmonic.llm.clients.endpoint import key_variable
from anharmonic.llm.clients.exchange import Fatal, Retry, meaning
from anharmonic.llm.embed.checks import texts_to_embed, unit_vectors
from anharmonic.llm.types import Answer

__all__ = ["Embeddings", "endpoint"]

BACKOFF: Final = 0.5
LONGEST_WAIT: Final = 60.0


def endpoint(
    url: str,
    model: str,
    *,
    key: str | None = None,
    together: int = 64,
    timeout: float = 60.0,
    retries: int = 5,
) -> Embeddings:
    """The embedder behind `{url}/embeddings` of an OpenAI-compatible server.

    Parameters
    ----------
    url, model
        The server's address, such as https://host/v1, and the model's name there.
    key
        The name of the environment variable that holds the server's key; the key itself is read
        when a call is made and kept nowhere.
    together
        Texts per call.
    timeout
        Seconds for one call.
    retries
        How often a failed call is tried again.
    """
    if not url.startswith(("http://", "https://")) or "@" in url:
        raise SettingsError("a server's address looks like https://api.openai.com/v1, no password")
    if together < 1 or not timeout > 0 or retries < 0:
        raise SettingsError("together from 1, timeout above 0 and retries from 0 on, please")
    address = url.rstrip("/").removesuffix("/embeddings")
    return Embeddings(address, model, key_variable(url, key), together, timeout, retries)


class Embeddings:
    """The server as an embedder: vectors of length 1, and of one size as long as it lives."""

    def __init__(
        self, url: str, model: str, variable: str, together: int, timeout: float, retries: int
    ) -> None:
        try:
            import httpx
        except ImportError as problem:
            raise MissingExtra("httpx", "llm") from problem
        self.name, self._model, self._variable = f"{model}@{url}", model, variable
        self._target, self._together, self._retries = f"{url}/embeddings", together, retries
        self._pool: Any = httpx.Client(timeout=timeout)
        self._lost = httpx.HTTPError
        self._size: int | None = None

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors (texts, D)."""
        checked = texts_to_embed(texts)
        rows: list[object] = []
        for first in range(0, len(checked), self._together):
            rows += self._vectors(checked[first : first + self._together])
        vectors = unit_vectors(rows, len(checked), self._size)
        self._size = vectors.shape[1]
        return vectors

    def close(self) -> None:
        """Drop the connections."""
        self._pool.close()

    def _vectors(self, texts: list[str]) -> list[object]:
        """One call's vectors, as the server sent them, tried again as often as allowed."""
        outcome: Answer | Retry | Fatal = Retry("never asked")
        for attempt in range(self._retries + 1):
            result = self._exchanged(texts)
            if isinstance(result, list):
                return result
            outcome = result
            if not isinstance(outcome, Retry):
                break
            if attempt < self._retries:
                pause = BACKOFF * 2.0**attempt if outcome.wait is None else outcome.wait
                time.sleep(min(pause, LONGEST_WAIT))
        why = outcome.error if isinstance(outcome, Answer) else outcome.why
        raise RemoteError(f"{self.name} embedded nothing ({why}): see to the server, run again")

    def _exchanged(self, texts: list[str]) -> list[object] | Answer | Retry | Fatal:
        key = os.environ.get(self._variable, "").strip()
        headers = {"authorization": f"Bearer {key}"} if key else {}
        body = {"model": self._model, "input": texts}
        try:
            response = self._pool.post(self._target, json=body, headers=headers)
        except self._lost as problem:
            words = f"{type(problem).__name__}: {first_line(problem)}"
            return Retry(words.replace(key, "***") if key else words)
        if response.is_success:
            return _read(response, len(texts))
        content = response.content.replace(key.encode(), b"***") if key else response.content
        return meaning(response.status_code, response.headers, content, self._variable)


def _read(response: Any, count: int) -> list[object] | Retry:
    """The vectors in the order of the texts: servers may send them in any."""
    try:
        rows = {entry["index"]: entry["embedding"] for entry in response.json()["data"]}
        return [rows[number] for number in range(count)]
    except (ValueError, KeyError, TypeError):
        return Retry(f"the answer is not a list of {count} embeddings in JSON")
