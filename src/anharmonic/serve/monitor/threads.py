"""A thread that runs calls one after another, and does not keep the process alive."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """Runs calls in order on a daemon thread: a model that hangs cannot keep a process alive.

    The standard library's executors wait for their threads when the interpreter ends.
    """

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], object]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """The result of a call, to await on the running event loop."""
        future: Future[T] = Future()
        self._calls.put((future, call))
        return asyncio.wrap_future(future)

    def _run(self) -> None:
        while (item := self._calls.get()) is not None:
            future, call = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except Exception as problem:
                future.set_exception(problem)
            except BaseException as problem:
                # A model that calls sys.exit fails its own call, not the service.
                future.set_exception(RuntimeError(f"{type(problem).__name__}: {problem}"))
            # These names would keep a batch in memory until the next one comes.
            del item, future, call

    def stop(self, seconds: float) -> None:
        """Finish the calls that are queued, if that takes no longer than `seconds`."""
        self._calls.put(None)
        self._thread.join(seconds)
