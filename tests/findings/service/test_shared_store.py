"""Several models in one store, and one model that became another: nothing is mixed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from fastapi import FastAPI, Request, Response
from sqlalchemy import text

from anharmonic.errors import InputError
from anharmonic.serve.monitor import Retention, Service, Settings, Store, StoredMonitor, export
from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.records import Batch, Event
from anharmonic.serve.monitor.schema import migrate
from anharmonic.serve.monitor.server import uvicorn_config
from anharmonic.serve.monitor.store import _engine, _url
from tests.serve.conftest import free_port
from tests.serve.running import Running, served
from tests.serve.standin import StandIn


@contextmanager
def model(address: str, name: str, columns: int, version: str = "1", **settings: Any) -> Any:
    monitor, port = StandIn(), free_port()
    reference = np.random.default_rng(0).normal(size=(50, columns))
    watch = StoredMonitor(monitor, reference, Store(address), name, version)
    service = Service(watch, Settings(port=port, **settings))
    with served(uvicorn_config(service)) as url:
        here = Running(service, url, monitor)
        yield here
        here.http.close()


@pytest.mark.finding("security A6")
def test_two_models_share_a_store_and_see_their_own(address: str) -> None:
    with model(address, "a", 2) as a, model(address, "b", 3) as b:
        assert a.observe([[1.0, 0]], ids=["same"]).json()["scores"] == [1.0]
        told = b.observe([[2.0, 0, 0]], ids=["same"]).json()
        assert (told["accepted"], told["duplicates"], told["scores"]) == (1, 0, [2.0])
        b.observe([[200.0, 0, 0]], ids=["b-1"])
        for here, count in ((a, 1), (b, 2)):
            assert here.http.get("/").status_code == 200
            assert len(here.http.get("/v1/scores").json()["scores"]) == count
        assert a.http.get("/v1/points/b-1").status_code == 404
        assert a.http.get("/v1/alarms").json()["alarms"] == []
        assert b.http.get("/v1/alarms").json()["alarms"][0]["sequence"] == 2


@pytest.mark.finding("security A6")
def test_a_new_version_with_one_feature_more_starts_beside_the_old(address: str) -> None:
    with model(address, "m", 2) as old:
        old.observe([[1.0, 0]], ids=["x"])
    with model(address, "m", 3, version="2") as new:
        assert new.http.get("/").status_code == 200
        assert new.observe([[1.0, 0, 0]], ids=["x"]).json()["accepted"] == 1
        assert new.http.get("/").status_code == 200
        assert new.http.get("/v1/points/x").json()["point"] == {"0": 1.0, "1": 0.0, "2": 0.0}


@pytest.mark.finding("security A6")
def test_an_alarm_goes_to_its_own_models_receiver(tmp_path: Path) -> None:
    got: list[str] = []
    app = FastAPI()

    @app.post("/hook")
    async def take(request: Request) -> Response:
        got.append((await request.json())["data"]["monitor"])
        return Response(status_code=204)

    store, away = str(tmp_path / "m.db"), f"http://127.0.0.1:{free_port()}/hook"
    hooks = uvicorn.Config(app, port=free_port(), log_level="error")
    with (
        served(hooks) as url,
        model(store, "a", 2, webhook=f"{url}/hook") as a,
        model(store, "b", 2, webhook=away) as b,
    ):
        b.observe([[200.0, 0]])
        a.observe([[200.0, 0]])
        for _ in range(500):
            if got:
                break
            threading.Event().wait(0.02)
        threading.Event().wait(0.2)
        assert b.http.get("/v1/alarms").json()["alarms"][0]["delivered"] is None
    assert set(got) == {"a@1"}


def filled(store: Store, monitor: str, count: int, received: float) -> None:
    events = [Event(f"e{place}", [1.0, 2.0], 1.0) for place in range(count)]
    after = store.read_state(monitor).sequence
    renamed = [Event(f"{after}-{each.id}", each.values, each.time) for each in events]
    fields: dict[str, Any] = {"scores": [1.0] * count, "evidence": [0.0] * count}
    store.append(Batch(monitor, after, received, b"state", events=renamed, **fields))


@pytest.mark.finding("security A6", "security A15: retention")
def test_retention_forgets_its_own_models_events_in_all_versions(address: str) -> None:
    store = Store(address)
    for name in ("m@1", "m@2", "other@1"):
        filled(store, name, 20, received=100.0)
    keep = Retention(seconds=50)
    assert [keep.apply(store, "m@2", now=1000.0) for _ in range(3)] == [20, 20, 0]
    assert Queries(store, "other@1").bounds() == (1, 20)
    store.close()


@pytest.mark.finding("security A15: retention")
def test_events_of_a_clock_that_was_ahead_do_not_keep_the_others(address: str) -> None:
    store = Store(address)
    for _ in range(3):
        filled(store, "m@1", 3_000, received=1e9)
    filled(store, "m@1", 2_000, received=100.0)
    filled(store, "m@1", 10, received=990.0)
    keep, gone = Retention(seconds=50), 0
    while forgotten := keep.apply(store, "m@1", now=1000.0):
        gone += forgotten
    assert gone == 11_000
    store.close()


@pytest.mark.finding("security A15: retention")
def test_a_clock_that_jumps_forgets_nothing() -> None:
    from anharmonic.serve.monitor.retention import SteadyClock

    moment = {"wall": 1000.0, "steady": 5.0}
    clock = SteadyClock(lambda: moment["wall"], lambda: moment["steady"])
    moment.update(wall=1100.0, steady=105.0)
    assert clock.now() == 1100.0
    moment.update(wall=1200.0 + 60 * 86_400, steady=205.0)
    assert clock.now() == 1200.0
    moment.update(wall=900.0, steady=305.0)
    assert clock.now() == 900.0


@pytest.mark.finding("security A6")
def test_a_store_of_the_first_release_opens_with_all_it_held(address: str) -> None:
    engine = _engine(_url(address))
    migrate(engine, to=2)
    with engine.begin() as connection:
        for place, name in enumerate(["a@1", "b@1", "a@1"], start=1):
            connection.execute(
                text(
                    "INSERT INTO events (sequence, id, monitor, time, received, point, score) "
                    "VALUES (:s, :i, :m, 1, 1, '[1.0]', 1.0)"
                ),
                {"s": place, "i": f"e{place}", "m": name},
            )
        connection.execute(text("UPDATE head SET sequence = 3"))
        for name, last in (("a@1", 3), ("b@1", 2)):
            connection.execute(
                text("INSERT INTO monitors (name, sequence, state) VALUES (:n, :s, :b)"),
                {"n": name, "s": last, "b": b"state"},
            )
    engine.dispose()
    store = Store(address)
    assert [row["sequence"] for row in Queries(store, "a@1").scores(0, 10)] == [1, 3]
    assert (store.read_state("a@1").sequence, store.read_state("b@1").sequence) == (3, 2)
    filled(store, "b@1", 5, received=1.0)
    assert Queries(store, "b@1").bounds() == (2, 7)
    store.close()


@pytest.mark.finding("security A15: four starts at once")
def test_several_may_open_a_new_store_at_once(address: str) -> None:
    ready, problems = threading.Barrier(4), []

    def start() -> None:
        ready.wait()
        try:
            Store(address).close()
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert problems == []


@pytest.mark.finding("security A6", "newcomer 4: export forgets names")
def test_export_knows_the_columns_and_keeps_models_apart(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    address, out = str(tmp_path / "m.db"), tmp_path / "out.parquet"
    with model(address, "a", 2) as a:
        a.observe([[1.0, 5.0]])
        one = Store(address)
        assert export(one, out) == 1
        assert pq.read_table(out)["1"].to_pylist() == [5.0]
        with model(address, "b", 3) as b:
            b.observe([[1.0, 2.0, 3.0]])
        with pytest.raises(InputError, match="--monitor of a@1, b@1"):
            export(one, out)
        assert export(one, out, monitor="b@1") == 1
        one.close()
