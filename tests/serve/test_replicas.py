"""Several services on one PostgreSQL are one monitor.

Killed twice here; `python -m benchmarks.service replicas` does it twenty times.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, text

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.serve.http.problems import StoreUnavailable
from anharmonic.serve.monitor.locks import Duty, lock_key
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.schema import alarms, events
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import StoredMonitor
from benchmarks.service.postgres import Postgres
from benchmarks.service.replicas import replicas_survive
from tests.serve.running import running
from tests.serve.standin import StandIn

REFERENCE = np.random.default_rng(0).normal(size=(400, 3))
Replicas = Callable[[], StoredMonitor]


def wave(rows: Any) -> Any:
    x = np.asarray(rows, dtype=float)
    return np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2]


def monitor(**settings: Any) -> ah.Monitor:
    arguments = {"radius": 0.3, "watch": ["inputs", "gamma"], **settings}
    return ah.Monitor(wave, REFERENCE, **arguments)


def rows(name: str, count: int, scale: float = 1.0) -> list[Event]:
    values = scale * np.random.default_rng(list(name.encode())).normal(size=(count, 3))
    return [Event(f"{name}-{row}", point, 1.0) for row, point in enumerate(values.tolist())]


@pytest.fixture
def address(postgres: Postgres) -> str:
    return postgres.database(f"replicas_{os.urandom(6).hex()}")


@pytest.fixture
def replica(address: str) -> Iterator[Replicas]:
    opened: list[Store] = []

    def start() -> StoredMonitor:
        opened.append(Store(address))
        return StoredMonitor(monitor(), REFERENCE, opened[-1], "m", "1")

    yield start
    for store in opened:
        store.close()


def test_replicas_at_once_are_one_monitor(replica: Replicas) -> None:
    replicas = [replica() for _ in range(3)]
    problems: list[BaseException] = []

    def work(name: str, mine: StoredMonitor) -> None:
        try:
            for number in range(12):
                batch = rows(f"{name}{number}", 15, scale=1.0 if number < 6 else 2.0)
                outcome = mine.commit(batch, mine.measure(batch))
                assert len(outcome.new_events) == 15
        except BaseException as problem:
            problems.append(problem)

    named = zip("abc", replicas, strict=True)
    threads = [threading.Thread(target=work, args=item) for item in named]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems
    with replicas[0].store.reading() as connection:
        kept = connection.execute(select(events).order_by(events.c.sequence)).all()
        raised = connection.execute(select(alarms)).all()
    assert [row.sequence for row in kept] == list(range(1, 3 * 12 * 15 + 1))
    # One monitor that sees the batches in the order of the store comes to the same bits.
    alone = monitor()
    expected = []
    for start in range(0, len(kept), 15):
        batch = kept[start : start + 15]
        assert len({row.id.partition("-")[0] for row in batch}) == 1
        points = [[float(cell) for cell in row.point.strip("[]").split(",")] for row in batch]
        scores = replicas[0].measure([Event("", values, 1.0) for values in points])
        expected += [
            (alarm.watched, alarm.direction, alarm.at + 1)
            for alarm in alone.observed(np.array(points), scores).alarms
        ]
    assert sorted((row.watched, row.direction, row.sequence) for row in raised) == sorted(expected)
    assert expected
    for one in replicas:
        one.catch_up()
        assert one.state == alone.state()
        assert one.monitor.alarm


def test_a_replica_that_follows_keeps_its_rows_and_forgets_them_at_a_reset(
    replica: Replicas,
) -> None:
    first, second = replica(), replica()
    for number in range(4):
        batch = rows(f"x{number}", 40, scale=3.0)
        first.commit(batch[:20], first.measure(batch[:20]))
        second.commit(batch[20:], second.measure(batch[20:]))
    assert first.catch_up()
    assert not first.catch_up()
    assert first.sequence == second.sequence == 160
    assert first.monitor.alarm
    # Its own share of the rows, not the last batch alone, by their numbers in the stream.
    remembered = first.monitor._memory.since(0, None)
    assert remembered is not None
    own = [row for start in range(0, 160, 40) for row in range(start, start + 20)]
    assert remembered.rows.tolist() == own
    assert first.monitor.culprits().points
    second.reset()
    assert first.catch_up()
    assert not first.monitor.alarm
    assert first.monitor._memory.since(0, None) is None
    with first.store.reading() as connection:
        standing = select(alarms).where(alarms.c.cleared.is_(None))
        assert not connection.execute(standing).all()


def test_a_replica_that_starts_clears_no_alarm_of_another(replica: Replicas) -> None:
    first = replica()
    batch = rows("drift", 200, scale=3.0)
    raised = first.commit(batch, first.measure(batch)).alarms
    assert raised
    second = replica()
    assert second.monitor.alarm
    with first.store.reading() as connection:
        standing = select(alarms).where(alarms.c.cleared.is_(None))
        assert len(connection.execute(standing).all()) == len(raised)


def test_another_model_is_no_replica(address: str, replica: Replicas) -> None:
    first = replica()
    store = Store(address)
    other = StoredMonitor(monitor(radius=0.4), REFERENCE, store, "m", "1", fresh=True)
    batch = rows("a", 5)
    with pytest.raises(SettingsError, match="knows m@1 otherwise"):
        first.commit(batch, first.measure(batch))
    assert other.store.find_results("m@1", ["a-0"]) == {}
    store.close()


def test_whoever_dies_in_its_turn_keeps_nobody_waiting(
    address: str, replica: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = replica()
    dead = Store(address)
    connection = dead.engine.connect()
    take = text("SELECT pg_advisory_xact_lock(:key), pg_backend_pid()")
    _, process = connection.execute(take, {"key": lock_key("m@1")}).one()
    batch = rows("a", 5)
    # While somebody else is at it, the client is told to try again.
    monkeypatch.setattr("anharmonic.serve.monitor.store.BUSY_MILLISECONDS", 300)
    impatient = Store(address)
    waiting = StoredMonitor.__new__(StoredMonitor)
    waiting.store, waiting.name = impatient, "m@1"
    with pytest.raises(StoreUnavailable, match="timeout"):
        waiting.commit(batch, {})
    with impatient.reading() as other:
        other.execute(text("SELECT pg_terminate_backend(:process)"), {"process": process})
    assert len(first.commit(batch, first.measure(batch)).new_events) == 5
    connection.invalidate()
    connection.close()
    for store in (dead, impatient):
        store.close()


def test_a_machine_that_vanishes_in_its_turn_loses_it(
    address: str, replica: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anharmonic.serve.monitor.locks.HELD_MILLISECONDS", 500)
    first, silent = replica(), Store(address)
    batch = rows("a", 5)
    with silent.turn("m@1"):
        # Nothing is heard of the other, whose connection stands: the wait is bounded all the same.
        assert len(first.commit(batch, first.measure(batch)).new_events) == 5
    silent.close()


def test_one_replica_has_the_duty_and_another_takes_it_over(address: str) -> None:
    stores = [Store(address) for _ in range(2)]
    first, second = (Duty(store.engine, "webhook") for store in stores)
    assert first.held()
    assert not second.held()
    assert first.held()
    first.release()
    assert second.held()
    assert not first.held()
    second.release()
    for store in stores:
        store.close()


def test_a_quiet_replica_shows_what_the_others_raise(address: str) -> None:
    with running(address, StandIn()) as one, running(address, StandIn()) as two:
        two.observe([[150.0, 0, 0]])
        shown: dict[str, Any] = {}
        for _ in range(80):
            shown = one.http.get("/v1/status").json()
            if shown["alarm"]:
                break
            threading.Event().wait(0.1)
        assert shown["alarm"]
        assert shown["events"] == 1
        assert 'gamma_alarm{model="toy",version="1"} 1.0' in one.http.get("/metrics").text


@pytest.mark.slow
def test_three_replicas_survive_kills(address: str, tmp_path: Path) -> None:
    assert replicas_survive(tmp_path, address, kills=1, seconds=2.0)
