"""What a served monitor keeps as labels come: late, wrong, after a reset, and without a use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.serve.monitor import Store, StoredMonitor
from anharmonic.serve.monitor.records import Event, Label
from tests.monitor.test_labels import chances, drawn
from tests.serve.running import REFERENCE, Running, running

POINTS, LABELS = drawn(1000, 0)


def watching(**more: Any) -> ah.Monitor:
    made: dict[str, Any] = {"watch": ["confidence"], "labels": LABELS, **more}
    return ah.Monitor(chances, POINTS, output="probability", **made)


def send(here: Running, rows: Any, labels: Any) -> dict[str, Any]:
    body = {"labels": [int(label) for label in labels], "ids": [f"e{row}" for row in rows]}
    answer = here.http.post("/v1/labels", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def observe(here: Running, points: Any, first: int = 0) -> None:
    ids = [f"e{row}" for row in range(first, first + len(points))]
    assert here.observe(points.tolist(), ids=ids).status_code == 200


def test_labels_that_come_too_late_are_counted(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), watching(memory=100), POINTS) as here:
        points, labels = drawn(300, 1)
        observe(here, points)
        told = send(here, range(150, 250), labels[150:250])
        assert (told["accepted"], told["unknown"], told["unused"]) == (100, 0, 50)
        # Another in its place is no label that was lost.
        told = send(here, range(240, 250), 1 - labels[240:250])
        assert (told["replaced"], told["unused"]) == (10, 0)
        assert "gamma_labels_unused_total{" in here.http.get("/metrics").text
        assert "} 50.0" in next(
            line
            for line in here.http.get("/metrics").text.splitlines()
            if line.startswith("gamma_labels_unused_total{")
        )


def test_a_reset_and_the_same_fall_again(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), watching(), POINTS) as here:
        points, _ = drawn(400, 2)
        wrong = 1 - chances(points).argmax(axis=1)
        observe(here, points)
        send(here, range(100), wrong[:100])
        alarms = here.http.get("/v1/alarms").json()["alarms"]
        assert [alarm["watched"] for alarm in alarms] == ["performance"]
        assert here.http.post("/v1/reset", json={}).status_code == 200
        # No event in between: the alarm is raised at the same row, and is another one.
        right = chances(points).argmax(axis=1)
        send(here, [100], right[[100]])
        assert len(here.http.get("/v1/alarms").json()["alarms"]) == 1
        send(here, range(101, 200), wrong[101:200])
        again = here.http.get("/v1/alarms").json()["alarms"]
        assert len({alarm["id"] for alarm in again}) == 2
        assert "error 100%" in here.http.get(f"/alarms/{again[0]['id']}").text


def test_a_bad_label_forgets_no_rows(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), watching(watch=["inputs", "confidence"]), POINTS) as here:
        points, labels = drawn(200, 3)
        observe(here, points)

        def rows_to_label() -> list[str]:
            return list(here.monitor.to_label(20)["id"])

        before, columns = rows_to_label(), here.monitor.columns()
        assert columns[0].recent is not None
        refused = here.http.post("/v1/labels", json={"labels": [{"id": "e1", "label": "what"}]})
        assert refused.status_code == 422
        assert rows_to_label() == before
        assert here.monitor.columns() == columns
        # Of labels that waited for their events the good ones are used.
        early = [{"id": "e200", "label": "what"}, {"id": "e201", "label": int(labels[0])}]
        assert here.http.post("/v1/labels", json={"labels": early}).status_code == 200
        observe(here, points[:2], first=200)
        assert here.monitor.judge.tracker.sequence.count == 1
        assert len(here.monitor.to_label(300)) == 201


def test_what_is_not_written_leaves_memory_as_it_was(tmp_path: Path) -> None:
    watch = StoredMonitor(watching(), POINTS, Store(str(tmp_path / "m.db")), "m", "1")
    points, _ = drawn(60, 4)
    events = [Event(str(row), values, 1.0) for row, values in enumerate(points.tolist())]
    watch.commit(events[:40], watch.measure(events[:40]))

    def full(batch: object) -> None:
        raise OSError("the disk is full")

    whole, watch.store.append = watch.store.append, full  # type: ignore[method-assign]
    with pytest.raises(OSError, match="full"):
        watch.commit(events[40:], watch.measure(events[40:]))
    watch.store.append = whole  # type: ignore[method-assign]
    recent = watch.monitor._memory.since(0, None)
    assert recent is not None
    assert recent.rows.tolist() == list(range(40))
    watch.commit(events[40:], watch.measure(events[40:]))
    assert watch.monitor._memory.since(0, None).rows.tolist() == list(range(60))  # type: ignore[union-attr]
    watch.store.close()


def test_a_monitor_of_a_reference_without_labels_keeps_them(tmp_path: Path) -> None:
    monitor = ah.Monitor(lambda x: np.asarray(x)[:, 0], REFERENCE, watch="prediction")
    with running(str(tmp_path / "m.db"), monitor) as here:
        here.observe([[1.0, 0, 0]], ids=["e0"])
        told = send(here, [0], [1])
        assert (told["accepted"], told["unused"]) == (1, 0)
        assert here.http.get("/v1/points/e0").json()["label"]["value"] == 1


def test_rows_without_a_segment_are_no_group(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), watching(), POINTS) as here:
        points, _ = drawn(300, 5)
        names = [None, "north", "south"] * 100
        ids = [f"e{row}" for row in range(300)]
        assert here.observe(points.tolist(), ids=ids, segments=names).status_code == 200
        assert set(here.monitor.groups().metrics) == {"north", "south"}
        assert set(here.monitor.performance_by_segment()) == {"north", "south"}


def test_another_memory_is_another_monitor(tmp_path: Path) -> None:
    def opened(**more: Any) -> StoredMonitor:
        return StoredMonitor(watching(**more), POINTS, Store(str(tmp_path / "m.db")), "m", "1")

    first = opened()
    points, labels = drawn(50, 6)
    events = [Event(str(row), values, 1.0) for row, values in enumerate(points.tolist())]
    first.commit(events, first.measure(events))
    first.commit_labels([Label("3", int(labels[3]))])
    first.store.close()
    opened().store.close()
    with pytest.raises(SettingsError, match=r"--memory differ.*--version"):
        opened(memory=300)
    with pytest.raises(SettingsError, match="--window differ"):
        opened(window=100)


def test_integer_segments_are_followed_in_the_service(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    reference = pd.DataFrame({"a": random.normal(size=600), "shop": random.choice([3, 4], 600)})
    watched = ah.Monitor(
        lambda rows: np.asarray(rows["a"], dtype=float), reference, watch="prediction",
        segment="shop",
    )  # fmt: skip
    with running(str(tmp_path / "m.db"), watched, reference) as here:
        rows = [{"a": 0.1, "shop": 3}, {"a": 9.0, "shop": 4}] * 30
        assert here.observe(rows).status_code == 200
        moved = {key: value for key, value in here.monitor.evidence.items() if key.segment}
        assert {key.segment for key in moved} == {"3", "4"}
        assert max(value for key, value in moved.items() if key.segment == "4") > 3


def test_pages_of_a_fall_show_what_there_is(tmp_path: Path) -> None:
    with running(str(tmp_path / "m.db"), watching(), POINTS) as here:
        points, _ = drawn(120, 7)
        observe(here, points)
        send(here, range(100), 1 - chances(points).argmax(axis=1)[:100])
        page = here.http.get("/").text
        # Labels have no scores: there is no chart for them, and performance says that it fell.
        assert 'data-watched="performance"' not in page
        assert 'id="performance-alarm" class="chip">alarm, since about event' in page
        (alarm,) = here.http.get("/v1/alarms").json()["alarms"]
        told = here.http.get(f"/v1/alarms/{alarm['id']}").json()
        assert told["by_labels"]
        assert told["rows"] == []
        alarmed = here.http.get(f"/alarms/{alarm['id']}").text
        assert "Labels raised it" in alarmed
        assert "Rows that carry it" not in alarmed
        assert alarmed.count("at most 1 false alarm per 10,000 labels") == 1
        assert "Promised: at most 1 false alarm" in alarmed


def test_a_page_without_labels_or_inputs_has_no_place_for_them(tmp_path: Path) -> None:
    monitor = ah.Monitor(lambda x: np.asarray(x)[:, 0], REFERENCE, watch="prediction")
    with running(str(tmp_path / "m.db"), monitor) as here:
        here.observe([[1.0, 0, 0]])
        page = here.http.get("/").text
        assert 'id="performance-title"' not in page
        assert 'id="columns-title"' not in page
        assert here.http.get("/v1/performance").json()["available"] is False
        assert here.http.get("/v1/columns").json()["available"] is False


def test_segments_that_are_missing_are_stored_as_none(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    reference = pd.DataFrame(
        {"a": random.normal(size=400), "town": random.choice(["north", "south"], 400)}
    )
    watched = ah.Monitor(
        lambda rows: np.asarray(rows["a"], dtype=float), reference, watch="prediction",
        segment="town",
    )  # fmt: skip
    with running(str(tmp_path / "m.db"), watched, reference) as here:
        rows = [{"a": 0.1, "town": "north"}, {"a": 0.2, "town": None}]
        assert here.observe(rows, ids=["x", "y"]).status_code == 200
        assert here.http.get("/v1/points/y").json()["segment"] is None
        page = here.http.get("/").text
        assert '<td data-label="segment">no segment</td>' in page
        assert '<td data-label="segment"></td>' not in page
