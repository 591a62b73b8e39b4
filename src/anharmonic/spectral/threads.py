"""Threads for the work that BLAS does in pieces, and one thread where more would be slower."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from anharmonic.errors import MissingExtra

__all__ = ["single_thread", "together"]

MOST = 8
Part = TypeVar("Part")


@contextmanager
def single_thread() -> Iterator[None]:
    """Hold BLAS to one thread: on blocks this narrow more threads are several times slower."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as problem:
        raise MissingExtra("threadpoolctl", "spade") from problem
    with threadpool_limits(1):
        yield


def together(begin: Callable[[], Callable[[Part], None]], parts: Iterable[Part]) -> None:
    """Do all parts, in as many threads as BLAS may use; each thread begins with its own memory.

    Whole pieces side by side keep all threads busy, where BLAS's own threads rest between
    products. Without threadpoolctl it is one thread, and BLAS's own.

    >>> found = []
    >>> together(lambda: found.append, [1, 2, 3])
    >>> sorted(found)
    [1, 2, 3]
    """
    waiting = iter(list(parts))

    def work() -> None:
        do = begin()
        for part in waiting:
            do(part)

    count = _allowed()
    if count == 1:
        work()
        return
    with single_thread(), ThreadPoolExecutor(count) as pool:
        for each in [pool.submit(work) for _ in range(count)]:
            each.result()


def _allowed() -> int:
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return 1
    found = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    return min(MOST, max(found, default=1))
