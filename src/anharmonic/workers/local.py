"""Workers on this machine: threads and processes."""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

from anharmonic.errors import MeasurementStopped, SettingsError, first_line

__all__ = ["Unloadable", "check_count", "processes", "serial", "threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")

serial = map


@dataclass(frozen=True)
class threads:  # noqa: N801 - used like the builtin map
    """Workers in this process, sharing the model.

    Parameters
    ----------
    count
        How many threads.
    """

    count: int

    def __post_init__(self) -> None:
        check_count(self.count)

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item], /
    ) -> Iterator[Result]:
        with ThreadPoolExecutor(self.count) as pool:
            yield from _ordered(pool, function, items, 2 * self.count)


@dataclass(frozen=True)
class processes:  # noqa: N801 - used like the builtin map
    """Workers in processes of their own, each with a copy of the model, sent once.

    Parameters
    ----------
    count
        How many processes.
    """

    count: int

    def __post_init__(self) -> None:
        check_count(self.count)

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item], /
    ) -> Iterator[Result]:
        try:
            pickled = pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError) as problem:
            raise SettingsError(
                f"this model cannot be sent to another process ({problem}): define it at the "
                "top of a module, or use anharmonic.workers.threads"
            ) from problem
        # Forking a process that has run BLAS or OpenMP threads can hang; spawning cannot.
        with ProcessPoolExecutor(
            self.count, get_context("spawn"), initializer=_receive, initargs=(pickled,)
        ) as pool:
            try:
                yield from _ordered(pool, _apply, items, 2 * self.count)
            except BrokenExecutor as problem:
                raise MeasurementStopped(
                    "a worker process ended before its work was done",
                    "a script that starts processes does so under if __name__ == '__main__', as "
                    "each of them reads it first; else one may have run out of memory or been "
                    "killed, so use fewer, or anharmonic.workers.threads",
                ) from problem


def check_count(count: int | None) -> None:
    """Refuse a number of workers that could do no work."""
    if count is not None and count < 1:
        raise SettingsError(f"workers are counted from 1, got {count}")


class Unloadable:
    """In place of a function that cannot be unpickled here: says so for every item.

    Parameters
    ----------
    problem
        Why it cannot.
    """

    def __init__(self, problem: Exception) -> None:
        self.reason = first_line(problem)

    def __call__(self, item: object) -> Any:
        """Never an answer."""
        raise SettingsError(
            f"the model cannot be loaded in another process ({self.reason}): define it in a module "
            "that can be imported there, give it as a file, or use anharmonic.workers.threads"
        )


# In a worker process: the function that `_receive` unpickled, once for all its items.
_received: Callable[[Any], Any]


def _receive(pickled: bytes) -> None:
    global _received
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        _received = pickle.loads(pickled)
    except Exception as problem:  # modules fail in ways of their own
        _received = Unloadable(problem)


def _end_with_parent() -> None:
    """End where the process that hands out work was killed: siblings hold its queue open."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _apply(item: object) -> Any:
    return _received(item)


def _ordered(
    pool: Executor, function: Callable[[Item], Result], items: Iterable[Item], ahead: int
) -> Iterator[Result]:
    """Results in order with at most `ahead` items submitted and not yet given out."""
    waiting: deque[Future[Result]] = deque()
    source = iter(items)
    try:
        for item in islice(source, ahead):
            waiting.append(pool.submit(function, item))
        while waiting:
            yield waiting.popleft().result()
            for item in islice(source, 1):
                waiting.append(pool.submit(function, item))
    finally:
        for future in waiting:
            future.cancel()
