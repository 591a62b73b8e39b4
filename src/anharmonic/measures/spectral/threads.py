"""Threads for the work that BLAS does in pieces, and one thread where more would be slower."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Protocol, TypedDict, TypeVar

from anharmonic._core.protocols import Map
from anharmonic.errors import MissingExtra

__all__ = ["single_thread", "together"]

MOST = 8
"""Threads at most."""
Part = TypeVar("Part")


class _Library(TypedDict):
    """What is read of threadpoolctl's facts about a library."""

    user_api: str
    num_threads: int


class _Libraries(Protocol):
    """What is used of threadpoolctl's `ThreadpoolController`."""

    def info(self) -> list[_Library]: ...

    def limit(self, *, limits: int) -> AbstractContextManager[object]: ...


@contextmanager
def single_thread() -> Iterator[Map]:
    """Hold BLAS to one thread: on blocks this narrow more threads are several times slower.

    Gives a `map` that uses as many threads as BLAS had.
    """
    count = _thread_count()
    with _libraries().limit(limits=1), ThreadPoolExecutor(count) as pool:
        yield map if count == 1 else pool.map


@cache
def _libraries() -> _Libraries:
    """The libraries that have threads; looking for them takes milliseconds."""
    import scipy.linalg  # noqa: F401  Its BLAS is not numpy's, and is held only once it is loaded.

    try:
        from threadpoolctl import ThreadpoolController
    except ImportError as problem:
        raise MissingExtra("threadpoolctl", "spade") from problem
    controller: _Libraries = ThreadpoolController()
    return controller


def together(begin: Callable[[], Callable[[Part], None]], parts: Iterable[Part]) -> None:
    """Do all parts, in as many threads as BLAS may use; each thread begins with its own memory.

    Whole pieces side by side keep all threads busy, where BLAS's own threads rest between
    products. Without threadpoolctl it is one thread, and BLAS's own.

    >>> parts = []
    >>> together(lambda: parts.append, [1, 2, 3])
    >>> sorted(parts)
    [1, 2, 3]
    """
    # One iterator for all threads: whoever is free takes the next part.
    waiting = iter(list(parts))

    def work() -> None:
        do = begin()
        for part in waiting:
            do(part)

    count = _thread_count()
    if count == 1:
        work()
        return
    with single_thread() as parallel:
        # A list, so that an error of any thread is raised here.
        list(parallel(lambda _: work(), range(count)))


def _thread_count() -> int:
    """As many threads as BLAS may use."""
    try:
        libraries = _libraries().info()
    except MissingExtra:
        return 1
    threads = [library["num_threads"] for library in libraries if library["user_api"] == "blas"]
    return min(MOST, max(threads, default=1))
