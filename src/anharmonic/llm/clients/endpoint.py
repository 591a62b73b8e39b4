"""Any server that speaks OpenAI's chat completions: one connection pool, many calls at once."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from anharmonic._core.printable import visible
from anharmonic.errors import MissingExtra, RemoteError, SettingsError, first_line
from anharmonic.llm.clients.exchange import Fatal, Retry, body_of, meaning
from anharmonic.llm.clients.throttle import Throttle
from anharmonic.llm.dispatch import ask
from anharmonic.llm.types import Answer, Request

__all__ = ["Endpoint", "key_variable"]

OPENAI: Final = "api.openai.com"
HOPELESS: Final = 32
"""So many calls in a row without an answer, and the server is taken for gone."""
LONGEST_WAIT: Final = 300.0
"""Seconds; a server that asks for more ends the run."""


def key_variable(url: str, given: str | None = None) -> str:
    """The environment variable that holds a server's key; OpenAI's key goes to OpenAI alone."""
    if given:
        return given
    return "OPENAI_API_KEY" if urlsplit(url).hostname == OPENAI else "ANHARMONIC_LLM_KEY"


class Endpoint:
    """A model behind `{url}/chat/completions`, many calls at once.

    The key is read from the environment when a call is made and kept nowhere. Close it, or use it
    in a `with` block, when done.

    Parameters
    ----------
    url, model
        The server's address, such as https://host/v1, and the model's name there.
    key
        The name of an environment variable, never a key itself.
    concurrency
        The most calls at once.
    timeout
        Seconds for one answer.
    retries, backoff
        How often a failed call is tried again, and the seconds before the first time; they
        double each time.
    seeded
        Whether to send seeds along.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        concurrency: int = 8,
        timeout: float = 60.0,
        retries: int = 5,
        backoff: float = 0.5,
        seeded: bool = True,
    ) -> None:
        if concurrency < 1 or not timeout > 0 or retries < 0:
            raise SettingsError("concurrency from 1, timeout above 0 and retries from 0 on, please")
        self.shown, self._target = _address(url)
        self.model, self.concurrency, self.seeded = model, concurrency, seeded
        self._variable = key_variable(url, key)
        self._timeout, self._retries, self._backoff = timeout, retries, backoff
        # Newer models know it as max_completion_tokens; see `_exchanged`.
        self._length_field = "max_tokens"
        self._lost = 0
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def name(self) -> str:
        return f"{self.model}@{self.shown}"

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """An answer for each request, as many under way at once as allowed."""
        return list(ask(self, requests))

    def submit(self, request: Request) -> Future[Answer]:
        """Ask in the background; the promise raises `RemoteError` where all would fail alike."""
        return asyncio.run_coroutine_threadsafe(self._answer(request), self._running())

    def close(self) -> None:
        """Drop the connections and what is under way."""
        with self._starting:
            loop, self._loop = self._loop, None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(self._stop(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        """The loop, in a thread of its own, so that calls go on while answers are embedded."""
        with self._starting:
            if self._loop is None:
                httpx, ready = _httpx(), threading.Event()
                limits = httpx.Limits(max_connections=self.concurrency)
                self._throttle = Throttle(self.concurrency)
                self._pool = httpx.AsyncClient(timeout=None, limits=limits)
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run_loop, args=(self._loop, ready), name="anharmonic-llm", daemon=True
                )
                self._thread.start()
                ready.wait()
            return self._loop

    async def _stop(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._pool.aclose()

    async def _answer(self, request: Request) -> Answer:
        outcome: Answer | Retry | Fatal = Retry("never asked")
        for attempt in range(self._retries + 1):
            async with self._throttle.turn(again=attempt > 0) as began:
                outcome = await self._exchanged(request)
                if isinstance(outcome, Answer):
                    self._lost = 0
                    self._throttle.went_well()
                    return _with_attempts(outcome, attempt + 1)
                if isinstance(outcome, Fatal):
                    raise RemoteError(f"{self.shown}: {outcome.why}")
                pause = self._pause(outcome, attempt)
                if outcome.crowded:
                    self._throttle.too_much(pause, began)
            if not outcome.crowded and attempt < self._retries:
                await asyncio.sleep(pause)
        assert isinstance(outcome, Retry)
        self._lost += 1
        if self._lost >= HOPELESS:
            raise RemoteError(
                f"{self.shown}: {self._lost} calls in a row got no answer ({outcome.why}): "
                "see to the server, then run again; what was answered is not lost with a cache"
            )
        return Answer(error=outcome.why, attempts=self._retries + 1)

    async def _exchanged(self, request: Request) -> Answer | Retry | Fatal:
        """Make one call, and say what its response means."""
        httpx = _httpx()
        key = os.environ.get(self._variable, "").strip()
        headers = {"content-type": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        field = self._length_field
        body = body_of(request, self.model, field, self.seeded)
        try:
            # httpx times the gaps between bytes: a server that drips would hold a connection.
            async with asyncio.timeout(self._timeout):
                response = await self._pool.post(self._target, content=body, headers=headers)
        except TimeoutError:
            return Retry(f"no answer within {self._timeout:g} s")
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as problem:
            return Fatal(f"{_clean(first_line(problem), key)}: check the address")
        except httpx.HTTPError as problem:
            return Retry(_clean(f"{type(problem).__name__}: {first_line(problem)}", key))
        content = response.content.replace(key.encode(), b"***") if key else response.content
        outcome = meaning(response.status_code, response.headers, content, self._variable)
        if field == "max_tokens" and _wants_new_name(outcome):
            self._length_field = "max_completion_tokens"
            return await self._exchanged(request)
        return outcome

    def _pause(self, outcome: Retry, attempt: int) -> float:
        """Seconds until the next attempt: as the server asks, or doubled each time."""
        pause = outcome.wait
        if pause is None:
            return min(self._backoff * 2.0**attempt, 30.0)
        if pause > LONGEST_WAIT:
            raise RemoteError(
                f"{self.shown}: the server asks to wait {pause:.0f} s: run again then; "
                "what was answered is not lost with a cache"
            )
        return pause


def _run_loop(loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
    asyncio.set_event_loop(loop)
    loop.call_soon(ready.set)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _with_attempts(answer: Answer, attempts: int) -> Answer:
    return answer if attempts == 1 else replace(answer, attempts=attempts)


def _wants_new_name(outcome: Answer | Retry | Fatal) -> bool:
    """Whether a server refused the old name of a parameter and wants the new one."""
    refused = isinstance(outcome, Answer) and outcome.refused
    return refused and "max_completion_tokens" in (getattr(outcome, "error", None) or "")


def _clean(text: str, key: str) -> str:
    """A server's words, without the key it may have echoed and without control characters."""
    return visible(text.replace(key, "***") if key else text)


def _address(url: str) -> tuple[str, str]:
    """What may be shown of an address, and where to post."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError("a server's address looks like https://api.openai.com/v1")
    if parts.username or parts.password:
        raise SettingsError(
            "the address holds a password: put the key in an environment variable instead"
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    shown = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
    return shown, f"{shown}/chat/completions" + (f"?{parts.query}" if parts.query else "")


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as problem:
        raise MissingExtra("httpx", "llm") from problem
    return httpx
