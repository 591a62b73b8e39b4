"""Two lanes to one device: points are made in one while the model answers for the other.

A device works through what it is given while the host goes on; it stands idle only when nobody
has anything ready. So two threads prepare points and take in answers, each with a queue of its
own on the device. The model is still called by one thread alone, the caller's, a call at a time
and with whatever the caller had set (autocast, a stream): it need not know.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from array_api_compat import is_torch_array

from anharmonic._core.protocols import Array, Kind, Model

__all__ = ["STREAMS", "StreamPool", "StreamedModel"]

Item = TypeVar("Item")
Result = TypeVar("Result")

STREAMS = 2


class Request(NamedTuple):
    """Points, complete once the device has got as far as `ready`, and where the answer goes."""

    model: Model
    points: Array
    ready: Any
    reply: Future[tuple[Array, Any]]


@dataclass(frozen=True, eq=False)
class StreamPool:
    """An executor with the builtin `map`'s signature, for models on a CUDA device.

    Results come in order; one caller at a time. Without a device there are threads alone. Who
    has several calls to make holds the `turn` meanwhile: lanes whose calls alternated would end
    together, and the device would wait for both.
    """

    device: str | None = None
    count: int = STREAMS
    turn: threading.Lock = field(default_factory=threading.Lock)
    requests: SimpleQueue[Request | None] = field(default_factory=SimpleQueue)
    here: threading.local = field(default_factory=threading.local)

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item], /
    ) -> Iterator[Result]:
        self._synchronize()
        waiting: deque[Future[Result]] = deque()
        source = iter(items)
        with ThreadPoolExecutor(self.count, initializer=self._enter) as pool:
            try:
                while True:
                    for item in islice(source, self.count - len(waiting)):
                        waiting.append(pool.submit(self._finished, function, item))
                        # Wakes the caller, who may be waiting for requests.
                        waiting[-1].add_done_callback(lambda _: self.requests.put(None))
                    if not waiting:
                        return
                    while not waiting[0].done():
                        self._serve(self.requests.get())
                    yield waiting.popleft().result()
            finally:
                self._dismiss(waiting)

    def ask(self, model: Model, points: Array) -> Array:
        """The model's answer: from the caller's own thread at once, from a lane by request."""
        if not hasattr(self.here, "lane"):
            return model(points)
        reply: Future[tuple[Array, Any]] = Future()
        self.requests.put(Request(model, points, self._record_event(), reply))
        answer, done = reply.result()
        self._wait_for(done, answer)
        return answer

    def _finished(self, function: Callable[[Item], Result], item: Item) -> Result:
        """The result once the device has it too: others may go on from what was written there."""
        found = function(item)
        self._synchronize()
        return found

    def _serve(self, request: Request | None) -> None:
        if request is None:
            return
        try:
            self._wait_for(request.ready, request.points)
            answer = request.model(request.points)
            # A copy, because a model may give the same memory again at its next call.
            kept = answer.clone() if is_torch_array(answer) else answer
            request.reply.set_result((kept, self._record_event()))
        except BaseException as problem:
            request.reply.set_exception(problem)
            if not isinstance(problem, Exception):
                raise

    def _dismiss(self, waiting: deque[Future[Any]]) -> None:
        """Nobody waits any more: what is under way learns so at its next question."""
        for future in waiting:
            future.cancel()
        while not all(future.done() for future in waiting):
            request = self.requests.get()
            if request is not None:
                request.reply.set_exception(InterruptedError("the run was stopped"))

    def _enter(self) -> None:
        """A lane begins: from now on its thread has a queue of its own on the device."""
        self.here.stream = True
        if self.device is not None:
            import torch

            torch.cuda.set_device(self.device)
            torch.cuda.set_stream(torch.cuda.Stream(self.device))  # type: ignore[no-untyped-call]

    def _record_event(self) -> Any:
        """How far the device will have got when it has done what this thread gave it."""
        if self.device is None:
            return None
        import torch

        return torch.cuda.current_stream(self.device).record_event()

    def _wait_for(self, mark: Any, array: Array) -> None:
        """What this thread gives the device from now on, about an array, comes after the mark."""
        if mark is None or not is_torch_array(array) or not array.is_cuda:
            return
        import torch

        mine = torch.cuda.current_stream(self.device)
        mine.wait_event(mark)
        # Its memory is not given to others before this queue is done with it as well.
        array.record_stream(mine)

    def _synchronize(self) -> None:
        """Wait until the device has done what this thread gave it."""
        if self.device is not None:
            import torch

            torch.cuda.current_stream(self.device).synchronize()


@dataclass(frozen=True, eq=False)
class StreamedModel:
    """A model that can be asked from any lane."""

    model: Model
    streams: StreamPool

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def kind(self) -> Kind:
        return self.model.kind

    @property
    def classes(self) -> tuple[object, ...] | None:
        return self.model.classes

    @property
    def batch_size(self) -> int | None:
        return self.model.batch_size

    def place(self, points: Array) -> Array:
        return self.model.place(points)

    def __call__(self, points: Array) -> Array:
        return self.streams.ask(self.model, points)
