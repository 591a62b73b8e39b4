"""Send requests to a client and hand answers back in order: cache, budget, look-ahead."""

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
"""Look-ahead per concurrent call: so many requests may be sent or wait for an earlier one."""
BATCH = 32
"""Requests per call of a client without a queue of its own."""
GRACE = 5.0
"""Seconds to wait for cancelled calls."""
BYTES_PER_TOKEN = 3
SPENT = "the budget does not cover the next call: raise it and run again to go on"


class BudgetSpent(ModelError):
    """The budget does not cover the next call; all that was paid for has been handed on."""


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, of prompts and of answers.

    Parameters
    ----------
    prompt, answer
        Money per million tokens.
    """

    prompt: float
    answer: float

    def of(self, prompt_tokens: float, answer_tokens: float) -> float:
        return (self.prompt * prompt_tokens + self.answer * answer_tokens) / 1e6

    def most(self, request: Request) -> float:
        """What a request may cost at the most, about: text to tokens is a guess."""
        system = request.parameters.system or ""
        size = len((request.prompt + system).encode("utf-8", "replace"))
        tokens = size / BYTES_PER_TOKEN + 16
        return self.of(tokens, request.parameters.max_tokens)


@dataclass(frozen=True)
class Budget:
    """The most calls, the most money, or both; money needs a price."""

    calls: int | None = None
    money: float | None = None


@dataclass
class Usage:
    """What a run has cost so far, counted as answers arrive; safe among threads.

    `reserved` is the money and `under_way` the number of calls that have been sent and are not
    answered yet: a budget counts both as spent, so that it is never exceeded.
    """

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
            most_calls, most_money = self.budget.calls, self.budget.money
            if most_calls is not None and self.calls + self.under_way >= most_calls:
                return False
            if most_money is not None and self.cost + self.reserved + most > most_money:
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

    def count_answer(self, answer: Answer) -> Answer:
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

    Requests are taken from the iterator a few ahead of the answers. Raises `BudgetSpent` when the
    budget does not cover the next call, after all that was paid for.

    Parameters
    ----------
    client
        Who answers; a `ConcurrentClient` gets several calls at once, any other batches.
    requests
        What to ask; may be a generator.
    cache
        Where answers are looked up first and kept.
    usage
        Counts calls and tokens, and holds the budget.
    """
    usage = Usage() if usage is None else usage
    if isinstance(client, ConcurrentClient):
        return _concurrent(InFlight(client, client.name, cache, usage), requests)
    return _in_batches(client, requests, cache, usage)


class InFlight:
    """Calls to a concurrent client that are under way, and their answers in order of request.

    Two futures per request: the client's own call, and a promise that is fulfilled once the
    answer is in the cache. Equal requests that are under way share one promise.
    """

    def __init__(
        self, client: ConcurrentClient, name: str, cache: Cache | None, usage: Usage
    ) -> None:
        self.promises: deque[Future[Answer]] = deque()
        self.capacity = AHEAD * client.concurrency
        self._client, self._name, self._cache, self._usage = client, name, cache, usage
        self._calls: dict[str, tuple[Future[Answer], Future[Answer]]] = {}

    def add(self, request: Request) -> bool:
        """Send a request, or look it up; False where the budget does not cover it now."""
        key = identity(self._name, request)
        # The same request twice: the second waits for the first's answer and is not paid.
        under_way = self._calls.get(key)
        if under_way is not None:
            self.promises.append(under_way[0])
            return True
        promise: Future[Answer] = Future()
        cached = None if self._cache is None else self._cache.get(key)
        if cached is not None:
            promise.set_result(cached)
        elif self._usage.reserve(request):
            call = self._client.submit(request)
            self._calls[key] = promise, call
            call.add_done_callback(lambda done: self._keep(key, request, promise, done))
        else:
            return False
        self.promises.append(promise)
        return True

    def _keep(
        self, key: str, request: Request, promise: Future[Answer], call: Future[Answer]
    ) -> None:
        """Cache an answer the moment it is there, not when its turn comes: it is paid for."""
        problem = None if call.cancelled() else call.exception()
        answer = None if call.cancelled() or problem else call.result()
        try:
            if answer is not None and self._cache is not None:
                self._cache.put(key, answer)
        except Exception as cache_problem:
            problem = cache_problem
        self._usage.settle(request, answer)
        self._calls.pop(key, None)
        if problem is not None:
            promise.set_exception(problem)
        elif answer is not None:
            promise.set_result(answer)
        else:
            promise.cancel()
            promise.set_running_or_notify_cancel()  # wakes those who wait for it

    def next(self) -> Answer:
        return self._usage.count_answer(self.promises.popleft().result())

    def ready(self) -> bool:
        """Whether to hand an answer on now: the next is there, or the look-ahead is used up."""
        full = len(self.promises) >= self.capacity
        return full or bool(self.promises and self.promises[0].done())

    def drop(self) -> None:
        """Give up what is under way, and wait until it has let go of the cache."""
        calls = list(self._calls.values())
        for _, call in calls:
            call.cancel()
        wait([promise for promise, _ in calls], timeout=GRACE)
        self.promises.clear()


def _concurrent(window: InFlight, requests: Iterable[Request]) -> Iterator[Answer]:
    try:
        for request in requests:
            while not window.add(request):
                # An answer that costs less than was reserved may free what the next call needs.
                if not window.promises:
                    raise BudgetSpent(SPENT)
                yield window.next()
            while window.ready():
                yield window.next()
        while window.promises:
            yield window.next()
    finally:
        # Also where the caller stops early: a generator that is closed ends here.
        window.drop()


def _in_batches(
    client: Client, requests: Iterable[Request], cache: Cache | None, usage: Usage
) -> Iterator[Answer]:
    source = iter(requests)
    while batch := list(islice(source, BATCH)):
        keys = [identity(client.name, request) for request in batch]
        answers, new = _split_cached(dict(zip(keys, batch, strict=True)), cache, usage)
        new_answers = client.answers(list(new.values())) if new else []
        for (key, request), answer in zip(new.items(), new_answers, strict=True):
            answers[key] = answer
            usage.settle(request, answer)
            if cache is not None:
                cache.put(key, answer)
        for key in keys:
            if key not in answers:
                raise BudgetSpent(SPENT)
            yield usage.count_answer(answers[key])


def _split_cached(
    requests: dict[str, Request], cache: Cache | None, usage: Usage
) -> tuple[dict[str, Answer], dict[str, Request]]:
    """Answers that the cache holds, and the requests to send as far as the budget goes."""
    cached: dict[str, Answer] = {}
    new: dict[str, Request] = {}
    for key, request in requests.items():
        answer = None if cache is None else cache.get(key)
        if answer is not None:
            cached[key] = answer
        elif usage.reserve(request):
            new[key] = request
        else:
            break
    return cached, new
