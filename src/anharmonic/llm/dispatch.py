"""Ask a client many things in order: from the cache where known, within a budget, a few ahead."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import islice

from anharmonic.errors import ModelError, SettingsError
from anharmonic.llm.cache import Cache, identity
from anharmonic.llm.types import Answer, Client, ConcurrentClient, Request

__all__ = ["Budget", "BudgetSpent", "Price", "Usage", "ask"]

AHEAD = 8
"""Requests under way or answered out of turn, for each that may be under way."""
BATCH = 32
GRACE = 5.0
BYTES_A_TOKEN = 3
SPENT = "the budget does not cover the next call: raise it and run again to go on"


class BudgetSpent(ModelError):
    """The budget does not cover the next call; all that was paid for has been handed on."""


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, of prompts and of answers."""

    prompt: float
    answer: float

    def of(self, prompt_tokens: float, answer_tokens: float) -> float:
        return (self.prompt * prompt_tokens + self.answer * answer_tokens) / 1e6

    def most(self, request: Request) -> float:
        """What a request may cost at the most, about: text to tokens is a guess."""
        system = request.parameters.system or ""
        size = len((request.prompt + system).encode("utf-8", "replace"))
        tokens = size / BYTES_A_TOKEN + 16
        return self.of(tokens, request.parameters.max_tokens)


@dataclass(frozen=True)
class Budget:
    """The most calls, the most money, or both; money needs a price."""

    calls: int | None = None
    money: float | None = None


@dataclass
class Usage:
    """What a run has cost so far, counted as answers arrive; safe among threads."""

    price: Price | None = None
    budget: Budget = Budget()
    calls: int = 0
    cached: int = 0
    refused: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    reserved: float = 0.0
    under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        if self.budget.money is not None and self.price is None:
            raise SettingsError("a budget in money needs a price for a million tokens")

    @property
    def cost(self) -> float:
        """Money spent on calls; what the cache answered costs nothing. 0 without a price."""
        return self.price.of(self.prompt_tokens, self.answer_tokens) if self.price else 0.0

    def reserve(self, request: Request) -> bool:
        """Set a call's largest cost aside; False where the budget does not cover it."""
        most = self.price.most(request) if self.price else 0.0
        with self._lock:
            calls, money = self.budget.calls, self.budget.money
            if calls is not None and self.calls + self.under_way >= calls:
                return False
            if money is not None and self.cost + self.reserved + most > money:
                return False
            self.under_way += 1
            self.reserved += most
            return True

    def settle(self, request: Request, answer: Answer | None) -> None:
        """Count what a reserved call came to; None where it raised."""
        with self._lock:
            self.under_way -= 1
            self.reserved -= self.price.most(request) if self.price else 0.0
            if answer is None:
                return
            self.calls += answer.attempts
            self.prompt_tokens += answer.prompt_tokens
            self.answer_tokens += answer.answer_tokens

    def seen(self, answer: Answer) -> Answer:
        """Count an answer as it is handed on, however it came."""
        with self._lock:
            self.cached += answer.cached
            self.refused += answer.refused
            self.failed += answer.error is not None and not answer.refused
        return answer


def ask(
    client: Client,
    requests: Iterable[Request],
    *,
    cache: Cache | None = None,
    usage: Usage | None = None,
) -> Iterator[Answer]:
    """An answer for each request, in order, however many there are: memory stays flat.

    Raises `BudgetSpent` when the budget does not cover the next call, after all that was paid for.
    """
    usage = Usage() if usage is None else usage
    if isinstance(client, ConcurrentClient):
        return _concurrent(InFlight(client, client.name, cache, usage), requests)
    return _in_batches(client, requests, cache, usage)


class InFlight:
    """Promises under way, the oldest first."""

    def __init__(
        self, client: ConcurrentClient, name: str, cache: Cache | None, usage: Usage
    ) -> None:
        self.promises: deque[Future[Answer]] = deque()
        self.room = AHEAD * client.concurrency
        self._client, self._name, self._cache, self._tally = client, name, cache, usage
        self._flying: dict[str, tuple[Future[Answer], Future[Answer]]] = {}

    def add(self, request: Request) -> bool:
        """Ask, or look it up; False where the budget does not cover it now."""
        about = identity(self._name, request)
        flying = self._flying.get(about)
        if flying is not None:
            self.promises.append(flying[0])
            return True
        promise: Future[Answer] = Future()
        known = None if self._cache is None else self._cache.get(about)
        if known is not None:
            promise.set_result(known)
        elif self._tally.reserve(request):
            call = self._client.submit(request)
            self._flying[about] = promise, call
            call.add_done_callback(lambda done: self._landed(about, request, promise, done))
        else:
            return False
        self.promises.append(promise)
        return True

    def _landed(
        self, about: str, request: Request, promise: Future[Answer], call: Future[Answer]
    ) -> None:
        """Keep an answer the moment it is there, not when its turn comes: it is paid for."""
        problem = None if call.cancelled() else call.exception()
        answer = None if call.cancelled() or problem else call.result()
        try:
            if answer is not None and self._cache is not None:
                self._cache.put(about, answer)
        except Exception as unkept:
            problem = unkept
        self._tally.settle(request, answer)
        self._flying.pop(about, None)
        if problem is not None:
            promise.set_exception(problem)
        elif answer is not None:
            promise.set_result(answer)
        else:
            promise.cancel()
            promise.set_running_or_notify_cancel()  # wakes those who wait for it

    def next(self) -> Answer:
        return self._tally.seen(self.promises.popleft().result())

    def ready(self) -> bool:
        """Whether an answer should be handed on now: it is there, or there is no more room."""
        return len(self.promises) >= self.room or bool(self.promises and self.promises[0].done())

    def drop(self) -> None:
        """Give up what is under way, and wait until it has let go of the cache."""
        flying = list(self._flying.values())
        for _, call in flying:
            call.cancel()
        wait([promise for promise, _ in flying], timeout=GRACE)
        self.promises.clear()


def _concurrent(window: InFlight, requests: Iterable[Request]) -> Iterator[Answer]:
    try:
        for request in requests:
            while not window.add(request):
                if not window.promises:
                    raise BudgetSpent(SPENT)
                yield window.next()
            while window.ready():
                yield window.next()
        while window.promises:
            yield window.next()
    finally:
        window.drop()


def _in_batches(
    client: Client, requests: Iterable[Request], cache: Cache | None, usage: Usage
) -> Iterator[Answer]:
    source = iter(requests)
    while batch := list(islice(source, BATCH)):
        names = [identity(client.name, request) for request in batch]
        known, new = _sorted_out(dict(zip(names, batch, strict=True)), cache, usage)
        answers = client.answers(list(new.values())) if new else []
        for (about, request), answer in zip(new.items(), answers, strict=True):
            known[about] = answer
            usage.settle(request, answer)
            if cache is not None:
                cache.put(about, answer)
        for about in names:
            if about not in known:
                raise BudgetSpent(SPENT)
            yield usage.seen(known[about])


def _sorted_out(
    requests: dict[str, Request], cache: Cache | None, usage: Usage
) -> tuple[dict[str, Answer], dict[str, Request]]:
    """What is known already, and what is to be asked as far as the budget goes."""
    known: dict[str, Answer] = {}
    new: dict[str, Request] = {}
    for about, request in requests.items():
        found = None if cache is None else cache.get(about)
        if found is not None:
            known[about] = found
        elif usage.reserve(request):
            new[about] = request
        else:
            break
    return known, new
