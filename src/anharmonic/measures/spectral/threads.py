"""Threads for the work that BLAS does in pieces, and one thread where more would be slower."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from anharmonic._core.protocols import Map
from anharmonic.errors import MissingExtra

__all__ = ["single_thread", "together"]

MOST = 8
Part = TypeVar("Part")


@contextmanager
def single_thread() -> Iterator[Map]:
    """Hold BLAS to one thread: on blocks this narrow more threads are several times slower.

    Gives a `map` that uses as many threads as BLAS had.
    """
    count = _allowed()
    with _libraries().limit(limits=1), ThreadPoolExecutor(count) as pool:
        yield map if count == 1 else pool.map


@cache
def _libraries() -> Any:
    """The libraries that have threads; looking for them takes milliseconds."""
    import scipy.linalg  # noqa: F401  Its BLAS is not numpy's, and is held only once it is loaded.

    try:
        from threadpoolctl import ThreadpoolController
    except ImportError as problem:
        raise MissingExtra("threadpoolctl", "spade") from problem
    return ThreadpoolController()


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
    with single_thread() as each:
        list(each(lambda _: work(), range(count)))


def _allowed() -> int:
    try:
        found = _libraries().info()
    except MissingExtra:
        return 1
    threads = [each["num_threads"] for each in found if each["user_api"] == "blas"]
    return min(MOST, max(threads, default=1))
