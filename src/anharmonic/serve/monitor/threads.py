"""A thread that does one thing after another, and that nobody has to wait for at the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

__all__ = ["Worker"]


class Worker:
    """Runs calls in order on a daemon thread: a model that hangs cannot keep a process alive.

    The standard library's executors wait for their threads when the interpreter ends.
    """

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def do(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        """A result to wait for on the running event loop."""
        future: Future[Any] = Future()
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
                # A model that calls sys.exit ends its answer, not the service.
                future.set_exception(RuntimeError(f"{type(problem).__name__}: {problem}"))
            # Nothing may keep a batch alive until the next one comes.
            del item, future, call

    def stop(self, seconds: float) -> None:
        """Finish what was asked for, if that takes no longer."""
        self._calls.put(None)
        self._thread.join(seconds)
