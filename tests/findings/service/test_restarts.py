"""Restarts: evidence goes on with what it belongs to, and with nothing else."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import AnharmonicError, InputError, SettingsError
from anharmonic.serve.monitor import Store, StoredMonitor
from anharmonic.serve.monitor.identity import mark
from anharmonic.serve.monitor.records import Batch, Event

REFERENCE = np.random.default_rng(0).normal(size=(200, 2))


def wave(points: Any) -> Any:
    return np.sin(3 * points[:, 0])


def other(points: Any) -> Any:
    return 1.3 * np.sin(3.4 * points[:, 0])


def column(points: Any) -> Any:
    return np.stack([wave(points), other(points)], axis=1)


def started(path: Path, model: Any = wave, fresh: bool = False, **more: Any) -> StoredMonitor:
    settings: dict[str, Any] = {"radius": 0.3, **more}
    monitor = ah.Monitor(model, REFERENCE, **settings)
    store = Store(str(path))
    try:
        return StoredMonitor(monitor, REFERENCE, store, "m", "1", fresh)
    except BaseException:
        store.close()
        raise


def observed(watch: StoredMonitor, name: str) -> None:
    events = [Event(name, [0.1, 0.2], 1.0)]
    watch.commit(events, watch.measure(events))
    watch.store.close()


@pytest.mark.finding("security A12")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"radius": 0.9}, "--radius"),
        ({"directions": 4}, "--directions"),
        ({"score": 0.5}, "--score"),
        ({"model": other}, "the model"),
        ({"watch": ("gamma", "margin")}, "--watch"),
        ({"seed": 5}, "--seed"),
    ],
)
def test_evidence_does_not_go_on_with_something_else(
    tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    path = tmp_path / "m.db"
    first = {"model": column} if "watch" in more else {}
    observed(started(path, **first), "a")
    observed(started(path, **first), "b")
    with pytest.raises(SettingsError, match=f"{words}.*new --version .*--fresh"):
        started(path, **{**first, **more})
    again = started(path, fresh=True, **{**first, **more})
    assert (again.sequence, again.monitor.seen) == (2, 0)
    observed(again, "c")
    observed(started(path, **{**first, **more}), "d")


@pytest.mark.finding("security A12")
def test_another_output_is_another_monitor(tmp_path: Path) -> None:
    observed(started(tmp_path / "m.db", model=column, output=0), "a")
    with pytest.raises(SettingsError, match="--output"):
        started(tmp_path / "m.db", model=column, output=1)


@pytest.mark.finding("security A12")
def test_a_model_that_is_not_the_same_twice_may_be_restarted(tmp_path: Path) -> None:
    random = np.random.default_rng(1)

    def noisy(points: Any) -> Any:
        return wave(points) + 1e-3 * random.normal(size=len(points))

    observed(started(tmp_path / "m.db", model=noisy), "a")
    observed(started(tmp_path / "m.db", model=noisy), "b")
    with pytest.raises(SettingsError, match="the model"):
        started(tmp_path / "m.db", model=other)


@pytest.mark.finding("security A12")
def test_a_store_of_the_first_release_goes_on_and_learns_what_it_is_of(tmp_path: Path) -> None:
    monitor = ah.Monitor(wave, REFERENCE, radius=0.3)
    store = Store(str(tmp_path / "m.db"))
    state = mark(monitor, REFERENCE) + monitor.state()
    store.append(Batch("m@1", 0, 1.0, state, (), (), ()))
    store.close()
    observed(started(tmp_path / "m.db"), "a")
    with pytest.raises(SettingsError, match="the model"):
        started(tmp_path / "m.db", model=other)


def filled(path: Path) -> None:
    store = Store(str(path))
    events = [Event(f"e{place}", [1.0] * 40, 1.0) for place in range(2_000)]
    scores = [1.0] * len(events)
    store.append(Batch("m@1", 0, 1.0, b"x" * 16, events, scores, scores))
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def noise(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(20 * 4096)
        file.write(os.urandom(4096 * 5))


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(10_000))


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 10 * 4096 + 7])


def emptied(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM schema_version")
    connection.close()


def gone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE alarms")
    connection.close()


@pytest.mark.finding("security A12: corrupt store")
@pytest.mark.parametrize("harm", [noise, garbage, torn, emptied, gone])
def test_a_damaged_store_is_one_line_before_anything_is_acknowledged(
    tmp_path: Path, harm: Any
) -> None:
    filled(tmp_path / "m.db")
    harm(tmp_path / "m.db")
    with pytest.raises(InputError, match=r"damaged .*restore a copy, or") as e:
        Store(str(tmp_path / "m.db"))
    assert "\n" not in str(e.value)


@pytest.mark.finding("security A12: corrupt store")
def test_a_monitor_behind_its_own_events_is_said_at_the_start(tmp_path: Path) -> None:
    filled(tmp_path / "m.db")
    with sqlite3.connect(tmp_path / "m.db") as connection:
        connection.execute("UPDATE monitors SET sequence = 5")
    connection.close()
    store = Store(str(tmp_path / "m.db"))
    with pytest.raises(AnharmonicError, match="stands at event 5 and has event 2000"):
        store.read_state("m@1")
    store.close()


@pytest.mark.finding("security A9: modes")
def test_only_its_owner_reads_a_store(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "m.db"))
    store.append(Batch("m@1", 0, 1.0, b"x", (), (), ()))
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    store.close()
