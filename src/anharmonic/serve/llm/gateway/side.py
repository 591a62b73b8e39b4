"""Scoring in the background: which chats, at what cost, and how long an answer may wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from anharmonic.errors import first_line
from anharmonic.serve.llm.gateway.allowance import Allowance
from anharmonic.serve.llm.gateway.chats import Exchange
from anharmonic.serve.llm.gateway.policy import Policy, Verdict
from anharmonic.serve.llm.scorer import ChatScore, Scorer

__all__ = ["Reservation", "Side"]

Result = TypeVar("Result")

WAITING: Final = 64
"""Chats that may wait to be scored; further ones are skipped, and counted."""
PATIENCE: Final = 60.0
"""Seconds for which an answer may wait for its gamma; then it goes without."""
GRACE: Final = 3.0
"""Seconds for which scoring may go on when the gateway is stopped."""


@dataclass(frozen=True)
class Reservation:
    """A chat that will be scored, its calls set aside."""

    number: int
    chat: Mapping[str, object]
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

    def status(self) -> dict[str, object]:
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

    def reserve(self, number: int, exchange: Exchange) -> Reservation | None:
        """Set calls aside for a chat that is to be scored; None where it is not, or may not be."""
        assert exchange.chat is not None
        wished = exchange.wish in ("inline", "yes")
        chosen = self._scorer.chosen(number) and (exchange.wish != "no" or bool(self.policy))
        if not (wished or chosen):
            return None
        calls = self._scorer.calls
        # What would be scored anyway is not spent by the client's wish.
        by_wish = wished and not chosen
        full = self._stopping or len(self._tasks) >= WAITING
        if full or not self._allowance.take(calls, by_wish):
            self.passed_over += 1
            return None
        inline = not exchange.streamed and (exchange.wish == "inline" or bool(self.policy))
        return Reservation(number, exchange.chat, by_wish, inline, calls)

    def begin(
        self, reservation: Reservation, answer: str | None
    ) -> asyncio.Task[ChatScore | None] | None:
        """Score in the background; without an answer, give the calls back."""
        if answer is None:
            self.passed_over += 1
            self._allowance.settle(-reservation.calls, reservation.asked)
            return None
        task = asyncio.create_task(self._score(reservation, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def scored(self, reservation: Reservation, answer: str | None) -> ChatScore | None:
        """The score of a chat in line, if it comes in time; None at once for any other."""
        task = self.begin(reservation, answer)
        if task is None or not reservation.inline:
            return None
        await asyncio.wait({task}, timeout=self._patience)
        return task.result() if task.done() and not task.cancelled() else None

    def verdict(self, score: ChatScore | None) -> Verdict:
        return self.policy.verdict(None if score is None else score.gamma)

    def marks(self, score: ChatScore | None) -> list[tuple[bytes, bytes]]:
        """The headers of a response that was scored in line."""
        marks: dict[str, str] = {}
        if score is None:
            marks["problem"] = "not scored"
        else:
            for name, estimate in (("gamma", score.gamma), ("gamma0", score.gamma0)):
                marks[name] = f"{estimate.value:.6g}"
                marks[f"{name}-error"] = f"{estimate.error:.6g}"
            if score.problem is not None:
                marks["problem"] = "not scored"
        if self.policy:
            verdict = marks["verdict"] = self.verdict(score)
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

    async def _score(self, reservation: Reservation, answer: str) -> ChatScore | None:
        calls = 0
        try:
            async with self._one_at_a_time:
                measure = self._scorer.score
                score = await _in_thread(
                    lambda: measure(reservation.number, reservation.chat, answer)
                )
            calls = score.calls
            return score
        except Exception as problem:  # the answer is forwarded whatever becomes of its score
            self.failed += 1
            self.problem = f"{type(problem).__name__}: {first_line(problem)}"
            calls = reservation.calls
            return None
        finally:
            self._allowance.settle(calls - reservation.calls, reservation.asked)


async def _in_thread(work: Callable[[], Result]) -> Result:
    """Work in a thread that nobody waits for when the program ends, unlike an executor's."""
    loop = asyncio.get_running_loop()
    promise: asyncio.Future[Result] = loop.create_future()

    def settle(fulfil: Callable[[], None]) -> None:
        if not promise.done():  # it may have been cancelled
            fulfil()

    def run() -> None:
        try:
            fulfil = partial(promise.set_result, work())
        except BaseException as problem:
            wrapped = problem if isinstance(problem, Exception) else RuntimeError(str(problem))
            fulfil = partial(promise.set_exception, wrapped)
        with suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(settle, fulfil)

    threading.Thread(target=run, name="anharmonic-score", daemon=True).start()
    return await promise
