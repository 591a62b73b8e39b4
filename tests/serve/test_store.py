"""The store: all or nothing, none twice, and what is asked of it, in both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import duckdb
import pytest
from sqlalchemy import text

from anharmonic.errors import InputError
from anharmonic.serve.http.problems import StoreUnavailable, WriteConflict
from anharmonic.serve.monitor.export import export
from anharmonic.serve.monitor.history import read_curves
from anharmonic.serve.monitor.queries import Queries
from anharmonic.serve.monitor.records import Batch, Event, StoredAlarm
from anharmonic.serve.monitor.retention import Retention, stored_bytes
from anharmonic.serve.monitor.schema import VERSION, migrate
from anharmonic.serve.monitor.store import Store, _engine, _url

Opened = Callable[[str], Store]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens stores, and closes them when the test is over."""
    stores: list[Store] = []

    def open_store(address: str) -> Store:
        stores.append(Store(address))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


def batch(after: int, count: int, received: float = 100.0, **more: object) -> Batch:
    numbers = range(after + 1, after + count + 1)
    events = [Event(f"e{i}", [float(i), "red"], float(i), "ab"[i % 2]) for i in numbers]
    scores = [None if i % 5 == 0 else i / 10 for i in numbers]
    fields = {"state": b"%d" % after, "evidence": [1.5] * count, **more}
    return Batch("m", after, received, events=events, scores=scores, **fields)  # type: ignore[arg-type]


ALARM = StoredAlarm("a-1", 3, "m", 5.0, "gamma", None, "up", 1, 12.0, 11.0)


def test_what_is_appended_is_there_with_the_state_it_left(address: str, opened: Opened) -> None:
    store = opened(address)
    assert store.read_state("m").state is None
    store.append(batch(0, 4))
    store.append(batch(4, 3, alarms=[ALARM]))
    store.close()
    again = opened(address)
    assert again.read_state("m") == store.read_state("m")
    assert again.read_state("m").sequence == 7
    assert again.read_state("m").state == b"4"
    assert again.read_state("another").state is None
    told = again.find_results("m", ["e2", "e5", "nobody"])
    assert (told["e2"].sequence, told["e2"].score, told["e5"].score) == (2, 0.2, None)
    assert "nobody" not in told
    point = Queries(again, "m").point("e3")
    assert point is not None
    assert point["point"] == [3.0, "red"]
    assert Queries(again, "m").alarms(10)[0]["id"] == "a-1"


def test_a_batch_that_fails_leaves_nothing(address: str, opened: Opened) -> None:
    store = opened(address)
    store.append(batch(0, 4, alarms=[ALARM]))
    with pytest.raises(WriteConflict):
        store.append(batch(4, 3, alarms=[ALARM]))
    with pytest.raises(WriteConflict):
        store.append(batch(3, 3))
    assert store.read_state("m").sequence == 4
    assert store.read_state("m").state == b"0"
    assert Queries(store, "m").bounds() == (1, 4)


def test_questions_are_bounded_and_in_order(address: str, opened: Opened) -> None:
    store = opened(address)
    store.append(batch(0, 100))
    reading = Queries(store, "m")
    assert [row["sequence"] for row in reading.scores(10, 3)] == [11, 12, 13]
    assert {row["segment"] for row in reading.scores(0, 10, "a")} == {"a"}
    assert [row["id"] for row in reading.worst(2, 0)] == ["e99", "e98"]
    history = read_curves(reading, ["gamma"], ["gamma"], (1, 100), 10, alone=True)["steps"]
    assert len(history) <= 11
    assert sum(row["points"] for row in history) == 100
    assert sorted(row["sequence"] for row in history) == [row["sequence"] for row in history]
    segments = {row["segment"]: row for row in reading.segments(0)}
    assert segments["a"]["points"] == 50
    assert segments["a"]["scored"] == 40


def test_old_events_are_forgotten_by_age(address: str, opened: Opened) -> None:
    store = opened(address)
    store.append(batch(0, 50, received=100.0))
    store.append(batch(50, 50, received=200.0))
    assert Retention(seconds=30).apply(store, "m", now=220.0) == 50
    assert Retention(seconds=30).apply(store, "m", now=220.0) == 0
    assert Queries(store, "m").bounds() == (51, 100)
    assert store.read_state("m").sequence == 100


def test_the_oldest_go_when_there_is_too_much(address: str, opened: Opened) -> None:
    store = opened(address)
    for after in range(0, 2000, 200):
        store.append(batch(after, 200, state=b"s"))
    limit = stored_bytes(store, "m") / 2
    while Retention(megabytes=limit / 1e6).apply(store, "m", now=0.0):
        pass
    low, high = Queries(store, "m").bounds()
    assert high == 2000
    assert 900 <= high - low <= 1100
    assert stored_bytes(store, "m") <= limit * 1.01
    if store.engine.dialect.name == "sqlite":
        with store.reading() as connection:
            free = connection.execute(text("PRAGMA freelist_count")).scalar_one()
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        # The room is given back, and the estimate of it is near.
        assert free < 0.2 * pages
        assert 0.5 * limit < 4096 * pages < 1.5 * limit


def test_duckdb_reads_the_export(address: str, opened: Opened, tmp_path: object) -> None:
    store = opened(address)
    path = f"{tmp_path}/events.parquet"
    assert export(store, path, ["size", "colour"]) == 0
    store.append(batch(0, 100))
    assert export(store, path, ["size", "colour"]) == 100
    query = f"SELECT count(*), sum(size), min(colour), count(score) FROM '{path}'"
    assert duckdb.sql(query).fetchall()[0] == (100, 5050.0, "red", 80)


def test_an_older_store_is_brought_up_to_date(address: str, opened: Opened) -> None:
    engine = _engine(_url(address))
    migrate(engine, to=1)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO alarms (id, sequence, monitor, time, watched, direction, since, "
                "log_evidence, threshold) VALUES ('old', 1, 'm', 1, 'gamma', 'up', 1, 1, 1)"
            )
        )
    engine.dispose()
    store = opened(address)
    assert Queries(store, "m").undelivered(3)[0]["id"] == "old"
    store.append(batch(0, 4))
    assert Queries(store, "m").bounds() == (1, 4)


def test_a_store_from_the_future_is_refused(address: str, opened: Opened) -> None:
    store = opened(address)
    with store.writing() as connection:
        connection.execute(text("UPDATE schema_version SET version = :v"), {"v": VERSION + 1})
    store.close()
    with pytest.raises(InputError, match="upgrade"):
        opened(address)


def test_a_full_disk_is_said_and_passes(tmp_path: object, opened: Opened) -> None:
    store = opened(f"{tmp_path}/full.db")
    store.append(batch(0, 10))
    with store.reading() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
    with store.reading() as connection:
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))
    with pytest.raises(StoreUnavailable, match="full"):
        store.append(batch(10, 2000))
    assert store.read_state("m").sequence == 10
    with store.reading() as connection:
        connection.execute(text("PRAGMA max_page_count = 1000000"))
    store.append(batch(10, 2000))
    assert store.read_state("m").sequence == 2010


@pytest.mark.parametrize("bad", ["mysql://x/y", "://", "postgresql://a:b:c:d/e"])
def test_an_address_of_nothing_we_know_is_refused(bad: str) -> None:
    with pytest.raises(InputError):
        Store(bad)
