"""Two CUDA streams on one device: points are made in one while the model computes in the other.

A device works through what was queued while the host goes on; it stands idle only when nothing
is queued. So two threads prepare points and take in outputs, each with a stream of its own. The
model is still called by one thread alone, the caller's, one call at a time and with whatever the
caller had set (autocast, a stream): it need not know.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from array_api_compat import is_torch_array

from anharmonic._core.protocols import Array, Kind, Model

if TYPE_CHECKING:
    import torch

__all__ = ["STREAMS", "StreamPool", "StreamedModel"]

Item = TypeVar("Item")
Result = TypeVar("Result")

STREAMS = 2


class Request(NamedTuple):
    """Points, complete once the device has reached the event `ready`, and where outputs go."""

    model: Model
    points: Array
    ready: torch.cuda.Event | None
    reply: Future[tuple[Array, torch.cuda.Event | None]]


@dataclass(frozen=True, eq=False)
class StreamPool:
    """An executor with the builtin `map`'s signature, for models on a CUDA device.

    Results come in order; one caller at a time. Without a device there are threads alone. Who
    has several calls to make holds the `turn` meanwhile: threads whose calls alternated would end
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
        with ThreadPoolExecutor(self.count, initializer=self._start_worker) as pool:
            try:
                while True:
                    for item in islice(source, self.count - len(waiting)):
                        waiting.append(pool.submit(self._run_and_synchronize, function, item))
                        # Wakes the caller, who may be waiting for requests.
                        waiting[-1].add_done_callback(lambda _: self.requests.put(None))
                    if not waiting:
                        return
                    while not waiting[0].done():
                        self._serve(self.requests.get())
                    yield waiting.popleft().result()
            finally:
                self._cancel(waiting)

    def ask(self, model: Model, points: Array) -> Array:
        """The model's outputs: at once in the caller's thread, by request in a worker thread."""
        if not getattr(self.here, "is_worker", False):
            return model(points)
        reply: Future[tuple[Array, torch.cuda.Event | None]] = Future()
        self.requests.put(Request(model, points, self._record_event(), reply))
        outputs, done = reply.result()
        self._wait_for(done, outputs)
        return outputs

    def _run_and_synchronize(self, function: Callable[[Item], Result], item: Item) -> Result:
        """The result once the device has it too: others may go on from what was written there."""
        result = function(item)
        self._synchronize()
        return result

    def _serve(self, request: Request | None) -> None:
        """Call the model for a worker thread; None is a worker that has finished its task."""
        if request is None:
            return
        try:
            self._wait_for(request.ready, request.points)
            outputs = request.model(request.points)
            # A copy, because a model may reuse its output buffer at its next call.
            copied = outputs.clone() if is_torch_array(outputs) else outputs
            request.reply.set_result((copied, self._record_event()))
        except BaseException as problem:
            request.reply.set_exception(problem)
            if not isinstance(problem, Exception):
                raise

    def _cancel(self, waiting: deque[Future[Result]]) -> None:
        """Pending tasks never begin; running ones get InterruptedError at their next model call."""
        for future in waiting:
            future.cancel()
        while not all(future.done() for future in waiting):
            request = self.requests.get()
            if request is not None:
                request.reply.set_exception(InterruptedError("the run was stopped"))

    def _start_worker(self) -> None:
        """Mark this thread as a worker, and give it a CUDA stream of its own."""
        self.here.is_worker = True
        if self.device is not None:
            import torch

            torch.cuda.set_device(self.device)
            torch.cuda.set_stream(torch.cuda.Stream(self.device))  # type: ignore[no-untyped-call]

    def _record_event(self) -> torch.cuda.Event | None:
        """A CUDA event after everything queued so far by this thread."""
        if self.device is None:
            return None
        import torch

        event: torch.cuda.Event = torch.cuda.current_stream(self.device).record_event()
        return event

    def _wait_for(self, event: torch.cuda.Event | None, array: Array) -> None:
        """Make this thread's stream wait for the event before it reads the array."""
        if event is None or not is_torch_array(array) or not array.is_cuda:
            return
        import torch

        stream = torch.cuda.current_stream(self.device)
        stream.wait_event(event)
        # The caching allocator must not reuse the memory before this stream is done with it.
        array.record_stream(stream)

    def _synchronize(self) -> None:
        """Wait until the device has done everything queued by this thread."""
        if self.device is not None:
            import torch

            torch.cuda.current_stream(self.device).synchronize()


@dataclass(frozen=True, eq=False)
class StreamedModel:
    """A model that can be called from any thread of a `StreamPool`."""

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
