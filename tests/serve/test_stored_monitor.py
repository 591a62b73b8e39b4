"""A monitor over a store, with a real monitor: what the two ask of each other is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.serve.monitor.records import Event
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.stored_monitor import StoredMonitor

pd = pytest.importorskip("pandas")


def wave(table: Any) -> Any:
    return np.sin(3 * np.asarray(table["moves"], dtype=np.float64))


def stored(path: Path, **settings: Any) -> StoredMonitor:
    values = np.random.default_rng(0).normal(size=(200, 2))
    reference = pd.DataFrame(values, columns=["moves", "stays"])
    arguments: dict[str, Any] = {"radius": 0.3, "moving": ["moves"], **settings}
    monitor = ah.Monitor(wave, reference, **arguments)
    return StoredMonitor(monitor, reference, Store(str(path)), "m", "1")


def test_only_a_number_that_the_model_is_moved_along_must_be_there(tmp_path: Path) -> None:
    monitor = stored(tmp_path / "m.db")
    rows = [[0.1, 0.2], [0.1, None], [None, 0.2]]
    events = [Event(str(row), values, 1.0) for row, values in enumerate(rows)]
    outcome = monitor.commit(events, monitor.measure(events))
    assert np.isfinite(outcome.scores).tolist() == [True, True, False]
    assert outcome.missing == 1
    monitor.store.close()


def test_the_store_remembers_bounds_and_costs(tmp_path: Path) -> None:
    monitor = stored(tmp_path / "m.db", bounds=(-9.0, 9.0))
    events = [Event("a", [0.1, 0.2], 1.0)]
    monitor.commit(events, monitor.measure(events))
    about = json.loads(str(monitor.store.read_state("m@1").about))
    assert about["bounds"] == "(-9.0, 9.0)"
    assert about["queries_a_row"] == monitor.monitor.queries_per_row
    monitor.store.close()


def price(table: Any) -> Any:
    return np.where(table["town"] == "north", table["age"].fillna(-1.0), 0.5)


def test_a_table_of_categories_is_watched_and_gone_on_with(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    reference = pd.DataFrame(
        {
            "town": random.choice(["north", "south"], 400),
            "age": np.where(random.random(400) < 0.2, np.nan, random.normal(size=400)),
        }
    )

    def opened(town: str = "north") -> StoredMonitor:
        def model(table: Any) -> Any:
            return price(table.assign(town=table["town"].replace(town, "north")))

        monitor = ah.Monitor(model, reference, watch="gamma data")
        return StoredMonitor(monitor, reference, Store(str(tmp_path / "m.db")), "m", "1")

    first = opened()
    rows = [["north", 0.1], ["east", None], [None, 0.2]]
    events = [Event(str(row), values, 1.0) for row, values in enumerate(rows)]
    outcome = first.commit(events, first.measure(events))
    # Ages are missing in the reference too, towns never are.
    assert np.isfinite(outcome.scores).tolist() == [True, True, False]
    assert outcome.missing == 1
    first.store.close()
    again = opened()
    assert again.sequence == 3
    assert again.state == first.state
    again.store.close()
    with pytest.raises(SettingsError, match="the model differ"):
        opened("south")
