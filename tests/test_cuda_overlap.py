"""Points are made in worker threads, and the model is called by the caller alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.measures.setup.batching import ModelCaller
from anharmonic.models.cuda_overlap import StreamedModel, StreamPool


class Counting:
    """A model that cannot bear two callers: it keeps its answer in one place."""

    name, kind, classes, batch_size = "counting", "value", None, None

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.busy = threading.Lock()

    def place(self, points: Any) -> Any:
        return points

    def __call__(self, points: Any) -> Any:
        assert self.busy.acquire(blocking=False), "two calls at once"
        self.threads.add(threading.get_ident())
        answer = points.sum(axis=1)
        self.busy.release()
        return answer


def test_workers_call_the_model_through_the_thread_that_began() -> None:
    model, streams = Counting(), StreamPool()
    relay = StreamedModel(model, streams)
    worked: set[int] = set()
    both = threading.Barrier(streams.count, timeout=20)

    def task(number: int) -> float:
        worked.add(threading.get_ident())
        if number < streams.count:
            both.wait()
        return float(sum(relay(np.full((2, 3), float(number))).sum() for _ in range(5)))

    assert list(streams(task, range(20))) == [30.0 * number for number in range(20)]
    assert model.threads == {threading.get_ident()}
    assert len(worked) == streams.count
    assert threading.get_ident() not in worked


def test_a_failing_model_fails_its_task_and_frees_the_others() -> None:
    streams = StreamPool()

    def broken(points: Any) -> Any:
        raise ValueError("no")

    def task(number: int) -> int:
        if number == 1:
            streams.ask(broken, np.zeros(1))  # type: ignore[arg-type]
        return number

    results = streams(task, range(9))
    assert next(results) == 0
    with pytest.raises(ValueError, match="no"):
        next(results)
    # And they can be used again.
    assert list(streams(abs, [-2, -3])) == [2, 3]


def test_who_stops_listening_stops_the_work() -> None:
    model, streams = Counting(), StreamPool()
    stopped: list[int] = []
    begun = threading.Event()

    def task(number: int) -> int:
        try:
            while number:
                begun.set()
                streams.ask(model, np.zeros((1, 1)))
        except InterruptedError:
            stopped.append(number)
            raise
        return number

    results: Iterator[int] = iter(streams(task, range(9)))
    assert next(results) == 0
    assert begun.wait(20)
    results.close()  # type: ignore[attr-defined]
    assert stopped


def test_an_interrupt_in_the_model_reaches_the_caller() -> None:
    streams = StreamPool()

    def interrupted(points: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(streams(lambda _: streams.ask(interrupted, np.zeros(1)), range(3)))  # type: ignore[arg-type]


@pytest.mark.parametrize("climb", ["margin", "gamma", "random"])
def test_a_search_in_streams_is_the_same_search(monkeypatch: Any, climb: Any) -> None:
    points = np.random.default_rng(0).normal(size=(41, 30))
    weights = np.random.default_rng(1).normal(size=(30, 4))

    def model(x: Any) -> Any:
        return np.tanh(x @ weights)

    def searched() -> Any:
        return ah.adversarial_search(
            model, points, radius=0.5, steps=4, directions=6, scale=None, climb=climb
        )

    alone = searched()
    overlapped(monkeypatch)
    together = searched()
    assert np.array_equal(alone.choices, together.choices)
    assert np.array_equal(alone.margins, together.margins, equal_nan=True)
    assert np.array_equal(alone.queries, together.queries)


def test_gamma_in_streams_is_the_same_gamma(monkeypatch: Any) -> None:
    points = np.random.default_rng(0).normal(size=(300, 12))
    alone = ah.gamma(np.sin, points, radius=0.5, batch_size=64)
    overlapped(monkeypatch)
    together = ah.gamma(np.sin, points, radius=0.5, batch_size=64)
    assert np.array_equal(alone.values, together.values)
    assert alone.queries == together.queries


def overlapped(monkeypatch: Any) -> None:
    """As on a device, without one: threads, and calls made ahead of their answers."""

    def threaded(caller: ModelCaller) -> Any:
        streams = StreamPool()
        return caller._replace(model=StreamedModel(caller.model, streams)), streams

    monkeypatch.setattr(ModelCaller, "queued", property(lambda _: True))
    monkeypatch.setattr(ModelCaller, "overlapped", threaded)
