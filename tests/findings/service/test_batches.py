"""What one client sends is that client's trouble alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import exc

from anharmonic.serve.monitor.records import Event
from tests.serve.running import Running, running


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(str(tmp_path / "m.db")) as here:
        yield here


def together(here: Running, several: list[dict[str, Any]]) -> list[Any]:
    """Answers to requests that share a batch: they wait while the model has another in hand."""
    here.monitor.free.clear()
    here.monitor.asking = 0

    def until(true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not true():
            assert time.monotonic() < deadline
            time.sleep(0.005)

    with ThreadPoolExecutor(len(several) + 1) as pool:
        first = pool.submit(here.observe, [[0.0, 0, 0]], ids=["first"])
        until(lambda: here.monitor.asking == 1)
        sent = [pool.submit(here.http.post, "/v1/observe", json=each) for each in several]
        until(lambda: here.service.pipeline.points == len(several))
        here.monitor.free.set()
        assert first.result().status_code == 200
        return [each.result() for each in sent]


@pytest.mark.finding("security A4")
def test_a_value_the_store_cannot_keep_fails_its_own_request_only(address: str) -> None:
    with running(address) as here:
        store = here.service.stored_monitor.store
        append = store.append

        def picky(batch: Any) -> None:
            if any(event.id == "bad" for event in batch.events):
                raise exc.DataError("insert", {}, Exception("a NUL"))
            append(batch)

        def guarded(batch: Any) -> None:
            with store.translate_errors():
                picky(batch)

        store.append = guarded  # type: ignore[method-assign]
        names = [*(f"good{place}" for place in range(7)), "bad"]
        told = together(here, [{"points": [[1.0, 0, 0]], "ids": [name]} for name in names])
        assert [each.status_code for each in told] == [200] * 7 + [422]
        assert here.monitor.total == 7.0
        kept = {row["id"] for row in here.http.get("/v1/scores").json()["scores"]}
        assert kept == {"first", *names[:-1]}
        assert here.http.get("/readyz").status_code == 200


@pytest.mark.finding("security A4")
def test_postgres_itself_says_what_it_cannot_keep(postgres: Any) -> None:
    with running(postgres.database("picky")) as here:
        events = [Event("a", [1.0, 0.0, 0.0], 1.0, "x\x00y")]
        future = here.service.stored_monitor
        with pytest.raises(Exception, match="cannot keep a value"):
            future.commit(events, {"gamma": np.array([1.0])})
        assert here.observe([[1.0, 0, 0]]).status_code == 200


@pytest.mark.finding("security A15: identical ids")
def test_of_one_id_in_several_requests_one_is_accepted(service: Running) -> None:
    told = together(service, [{"points": [[1.0, 0, 0]], "ids": ["same"]} for _ in range(8)])
    assert sorted(each.json()["accepted"] for each in told) == [0] * 7 + [1]
    assert sum(each.json()["duplicates"] for each in told) == 7
    assert service.monitor.total == 1.0


@pytest.mark.finding("security A15: 1e308", "security A15: exception text")
def test_a_point_the_model_cannot_take_is_not_to_be_sent_again(tmp_path: Path) -> None:
    import anharmonic as ah

    def shy(points: Any) -> Any:
        if (np.abs(points) > 1e100).any():
            raise ValueError("secret=hunter2")
        return np.sin(points[:, 0])

    monitor = ah.Monitor(shy, np.random.default_rng(0).normal(size=(100, 2)))
    reference = np.random.default_rng(0).normal(size=(100, 2))
    with running(str(tmp_path / "m.db"), monitor=monitor, reference=reference) as here:
        answer = here.observe([[1e308, 0.0]])
        assert answer.status_code == 422
        assert "retry-after" not in answer.headers
        assert "hunter2" not in answer.text
        assert here.http.get("/readyz").status_code == 200


@pytest.mark.finding("security A15: sys.exit")
def test_a_model_that_calls_exit_does_not_end_the_service(service: Running) -> None:
    measured = service.monitor.measure

    def leaving(points: Any) -> Any:
        raise SystemExit("bye")

    service.monitor.measure = leaving
    answer = service.observe([[1.0, 0, 0]])
    assert (answer.status_code, "bye" in answer.text) == (503, False)
    assert service.http.get("/livez").status_code == 200
    assert service.http.get("/readyz").json() == {"ready": False, "model": False, "store": True}
    service.monitor.measure = measured
    assert service.observe([[1.0, 0, 0]]).status_code == 200
    assert service.http.get("/readyz").status_code == 200
