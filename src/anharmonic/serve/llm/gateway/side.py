"""Scoring beside the traffic: which chats, at what cost, how long one may wait, and what then."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from anharmonic.errors import first_line
from anharmonic.serve.llm.gateway.allowance import Allowance
from anharmonic.serve.llm.gateway.chats import Exchange
from anharmonic.serve.llm.gateway.policy import Policy, Verdict
from anharmonic.serve.llm.scorer import ChatScore, Scorer

__all__ = ["Place", "Side"]

Found = TypeVar("Found")

WAITING: Final = 64
"""Chats that may wait to be scored; more are passed over, and counted."""
PATIENCE: Final = 60.0
"""Seconds for which an answer may wait for its gamma; then it goes without."""
GRACE: Final = 3.0
"""Seconds for which scoring may go on when the gateway is told to stop."""


@dataclass(frozen=True)
class Place:
    """A chat that will be scored, its calls set aside."""

    number: int
    chat: dict[str, Any]
    asked: bool
    inline: bool
    calls: int


class Side:
    """Scores one chat at a time, within an allowance; a policy judges what is scored in line."""

    def __init__(
        self,
        scorer: Scorer,
        allowance: Allowance | None = None,
        policy: Policy | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.policy = Policy() if policy is None else policy
        self._scorer, self._patience = scorer, patience
        self._allowance = Allowance() if allowance is None else allowance
        self._one_at_a_time = asyncio.Semaphore(1)
        self._tasks: set[asyncio.Task[ChatScore | None]] = set()
        self._stopping = False
        self._verdicts: dict[str, int] = {}
        self.passed_over = self.failed = 0
        self.problem: str | None = None

    def status(self) -> dict[str, Any]:
        """Counts, as plain values."""
        return {
            "scored": self._scorer.scored,
            "waiting": len(self._tasks),
            "passed_over": self.passed_over,
            "failed": self.failed,
            "problem": self.problem,
            "budget": self._allowance.plain(),
            "verdicts": dict(self._verdicts),
        }

    def place(self, number: int, asked: Exchange) -> Place | None:
        """A place for a chat that is to be scored; None where it is not, or may not be."""
        assert asked.chat is not None
        wished = asked.wish in ("inline", "yes")
        chosen = self._scorer.chosen(number) and (asked.wish != "no" or bool(self.policy))
        if not (wished or chosen):
            return None
        calls = self._scorer.calls
        # What would be scored anyway is not spent by the client's wish.
        by_wish = wished and not chosen
        full = self._stopping or len(self._tasks) >= WAITING
        if full or not self._allowance.take(calls, by_wish):
            self.passed_over += 1
            return None
        inline = not asked.streamed and (asked.wish == "inline" or bool(self.policy))
        return Place(number, asked.chat, by_wish, inline, calls)

    def begin(self, place: Place, answer: str | None) -> asyncio.Task[ChatScore | None] | None:
        """Score in the background; without an answer, give the place back."""
        if answer is None:
            self.passed_over += 1
            self._allowance.settle(-place.calls, place.asked)
            return None
        task = asyncio.create_task(self._score(place, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def scored(self, place: Place, answer: str | None) -> ChatScore | None:
        """The score of a chat in line, if it comes in time; None at once for any other."""
        task = self.begin(place, answer)
        if task is None or not place.inline:
            return None
        await asyncio.wait({task}, timeout=self._patience)
        return task.result() if task.done() and not task.cancelled() else None

    def verdict(self, found: ChatScore | None) -> Verdict:
        return self.policy.verdict(None if found is None else found.gamma)

    def marks(self, found: ChatScore | None) -> list[tuple[bytes, bytes]]:
        """The headers of a response that was scored in line."""
        marks: dict[str, str] = {}
        if found is None:
            marks["problem"] = "not scored"
        else:
            for name, estimate in (("gamma", found.gamma), ("gamma0", found.gamma0)):
                marks[name] = f"{estimate.value:.6g}"
                marks[f"{name}-error"] = f"{estimate.error:.6g}"
            if found.problem is not None:
                marks["problem"] = "not scored"
        if self.policy:
            verdict = marks["verdict"] = self.verdict(found)
            self._verdicts[verdict] = self._verdicts.get(verdict, 0) + 1
        return [(f"x-anharmonic-{name}".encode(), text.encode()) for name, text in marks.items()]

    async def finish(self) -> None:
        """Let what is being scored come to its end, within reason."""
        self._stopping = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _score(self, place: Place, answer: str) -> ChatScore | None:
        made = 0
        try:
            async with self._one_at_a_time:
                score = self._scorer.score
                found = await _in_thread(lambda: score(place.number, place.chat, answer))
            made = found.calls
            return found
        except Exception as problem:  # the answer is passed on whatever becomes of its score
            self.failed += 1
            self.problem = f"{type(problem).__name__}: {first_line(problem)}"
            made = place.calls
            return None
        finally:
            self._allowance.settle(made - place.calls, place.asked)


async def _in_thread(work: Callable[[], Found]) -> Found:
    """Work in a thread that nobody waits for when the program ends, unlike an executor's."""
    loop = asyncio.get_running_loop()
    promise: asyncio.Future[Found] = loop.create_future()

    def settle(found: Any, problem: BaseException | None) -> None:
        if promise.done():
            return
        if problem is None:
            promise.set_result(found)
        else:
            promise.set_exception(problem)

    def run() -> None:
        found, trouble = None, None
        try:
            found = work()
        except BaseException as problem:
            trouble = problem if isinstance(problem, Exception) else RuntimeError(str(problem))
        with suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(settle, found, trouble)

    threading.Thread(target=run, name="anharmonic-score", daemon=True).start()
    return await promise
