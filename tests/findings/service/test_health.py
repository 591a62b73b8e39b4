"""Ready, alive and neither: what probes are told, and that it comes right by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anharmonic.serve.monitor.settings import Limits
from tests.serve.running import Running, running

OFTEN = Limits(probing_seconds=0.1)


def soon(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def status(here: Running, path: str) -> int:
    return here.http.get(path).status_code


@pytest.mark.finding("security A5")
def test_a_database_that_was_away_is_found_again_without_a_post(postgres: Any) -> None:
    with running(postgres.database("outage"), limits=OFTEN) as here:
        assert status(here, "/readyz") == 200
        postgres.stop()
        try:
            # Nobody sends anything, and it is known all the same.
            soon(lambda: status(here, "/readyz") == 503)
            assert here.http.get("/readyz").json()["store"] is False
            assert status(here, "/livez") == 200
            assert here.observe([[1.0, 0, 0]]).status_code == 503
        finally:
            postgres.start()
        soon(lambda: status(here, "/readyz") == status(here, "/healthz") == 200)
        assert here.observe([[1.0, 0, 0]]).status_code == 200


@pytest.mark.finding("security A5")
def test_a_model_that_raises_is_not_ready_and_is_asked_again(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), limits=OFTEN) as here:
        works = here.monitor.measure

        def broken(points: Any) -> Any:
            raise RuntimeError("no weights")

        here.monitor.measure = broken
        answer = here.observe([[1.0, 0, 0]])
        assert (answer.status_code, answer.json()["title"]) == (503, "model")
        assert status(here, "/readyz") == 503
        assert status(here, "/livez") == 200
        here.monitor.measure = works
        soon(lambda: status(here, "/readyz") == 200)


@pytest.mark.finding("security A12: corrupt store")
def test_a_page_destroyed_while_it_runs_is_seen(tmp_path: Path) -> None:
    from sqlalchemy import exc

    with running(str(tmp_path / "m.db"), limits=OFTEN) as here:
        reading = here.service.snapshots.queries

        def torn(query: Any) -> Any:
            with reading.store.translate_errors():
                raise exc.DatabaseError("select", {}, Exception("disk image is malformed"))

        reading._rows = torn  # type: ignore[method-assign]
        answer = here.http.get("/v1/scores")
        assert (answer.status_code, "malformed" in answer.text) == (503, False)
        assert here.http.get("/readyz").json()["store"] is False
