"""What a record of a stream says beside its rows: times, ids and segments, some of them missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import PointsError, SettingsError
from anharmonic.monitor import replay
from anharmonic.monitor.rows import segments_of
from anharmonic.monitor.windows import windows_of
from anharmonic.report.replayed import write_replay
from tests.monitor.test_labels import chances, drawn, watching

HOURS = np.datetime64("2026-01-01T00") + np.arange(96) * np.timedelta64(1, "h")
DAY = np.timedelta64(1, "D")


def test_windows_of_time_do_not_depend_on_the_rows_order() -> None:
    random = np.random.default_rng(0)
    scores, reference = random.normal(size=96), random.normal(size=200)
    risen = windows_of("s", np.arange(96), scores, reference, times=HOURS, every=DAY)
    # The first row stays: windows are counted from it.
    order = np.concatenate(([0], 1 + random.permutation(95)))
    mixed = windows_of("s", np.arange(96), scores[order], reference, times=HOURS[order], every=DAY)
    assert mixed.counts.tolist() == risen.counts.tolist() == [24] * 4
    assert np.allclose(mixed.means, risen.means)


def test_rows_without_a_time_are_in_no_window_of_time() -> None:
    times, scores = HOURS.copy(), np.ones(96)
    times[[3, 50]], scores[[3, 50]] = np.datetime64("NaT"), 1000.0
    found = windows_of("s", np.arange(96), scores, np.ones(50), times=times, every=DAY)
    assert found.counts.tolist() == [23, 24, 23, 24]
    assert found.means.tolist() == [1.0] * 4
    with pytest.raises(SettingsError, match="no row has a time"):
        windows_of("s", np.arange(2), scores[:2], np.ones(50), times=times[[3, 50]], every=DAY)


@pytest.mark.parametrize("library", ["pandas", "zone", "list"])
def test_times_are_read_by_their_place(library: str) -> None:
    points, labels = drawn(96, 3)
    column = pd.Series(HOURS, index=np.arange(96) + 50)
    times: Any = HOURS.tolist() if library == "list" else column
    times = column.dt.tz_localize("Europe/Berlin") if library == "zone" else times
    found = replay(watching(window=30), points, times=times, labels=labels)
    days = found.windows("confidence", every=pd.Timedelta("1D"))
    assert days.counts.tolist() == [24] * 4
    assert found.performance is not None
    assert [str(window.start)[:13].replace("T", " ") for window in found.performance] == [
        "2026-01-01 00", "2026-01-02 06", "2026-01-03 12"
    ]  # fmt: skip
    watch = watching(window=30)
    watch.update(points, times=times)
    assert [window.last for window in watch.performance_curve()] == [29, 59, 89]


def test_a_replay_that_goes_on_speaks_of_its_own_rows() -> None:
    watch = watching(watch=["gamma"])
    before, _ = drawn(150, 4)
    before[:5] = np.nan
    watch.update(before)
    # Where the model bends most.
    points = 0.3 * drawn(400, 5)[0]
    times = np.arange(400)
    found = replay(watch, points, times=times)
    assert found.alarms
    assert (found.first, found.scored, found.skipped) == (150, 400, {})
    (first, *_) = found.summary()["alarms"]  # type: ignore[misc]
    assert first["time"] == str(first["at"] - 150) == found.time_of(found.alarms[0])
    assert found.windows(count=100).first.tolist() == [150, 250, 350, 450]


def test_a_gap_in_a_list_of_segments_is_no_segment() -> None:
    points, labels = drawn(300, 6)
    watch = watching()
    replay(watch, points, segments=["north", float("nan"), None] * 100, labels=labels)
    assert set(watch.performance_by_segment()) == {"north"}
    ruled = segments_of(points, lambda rows: ["north", float("nan"), "south"] * 100)
    assert ruled is not None
    assert ruled[:3].tolist() == ["north", "", "south"]


def test_rows_without_an_id_wait_for_no_label() -> None:
    points, _ = drawn(90, 7)
    watch = watching(window=30)
    watch.update(points, ids=["order", None, float("nan")] * 30)
    watch.update(
        points[:30], ids=pd.Series([f"late {row}" for row in range(30)], index=range(9, 39))
    )
    assert set(watch.to_label(31)["id"]) == {"order", *(f"late {row}" for row in range(30))}
    found = watch.add_labels(["None", "nan", "order"], [0, 1, 1])
    assert (found.used, found.unknown) == (1, ("None", "nan"))


def test_groups_of_a_monitor_from_a_file_say_what_is_missing(tmp_path: Path) -> None:
    watch = watching()
    points, _ = drawn(200, 8)
    watch.update(points, segments=["north", "south"] * 100)
    again = ah.Monitor.load(watch.save(tmp_path / "m.npz"), chances)
    with pytest.raises(SettingsError, match="no row is in memory: update first"):
        again.groups()


def test_a_page_says_whether_labels_were_used_and_what_is_promised(tmp_path: Path) -> None:
    points, labels = drawn(300, 9)
    page = write_replay(tmp_path / "a.html", replay(watching(), points)).read_text()
    assert "No labels were used." in page
    assert "at most 1 false alarm per 100,000 scored points" in page
    shifted = replay(watching(), 3 * points, labels=1 - labels, restart=False)
    assert shifted.alarms
    page = write_replay(tmp_path / "b.html", shifted).read_text()
    assert "No labels were used." not in page
    assert "started anew after each alarm" not in page
    walk = np.cumsum(np.random.default_rng(0).normal(size=(400, 2)), axis=0)
    loose = ah.Monitor(chances, walk, output="probability", watch="confidence", promise=False)
    assert not loose.promised
    page = write_replay(tmp_path / "c.html", replay(loose, walk[:50])).read_text()
    assert "1 per 100,000" not in page


def test_windows_of_hours_are_a_table() -> None:
    found = windows_of("s", np.arange(96), np.ones(96), np.ones(50), times=HOURS, every=DAY)
    assert [str(start)[:10] for start in found.to_frame()["start"]] == [
        f"2026-01-0{day}" for day in range(1, 5)
    ]


def test_changes_of_dates_are_told_in_dates() -> None:
    random = np.random.default_rng(0)
    first = pd.Timestamp("2025-01-01")

    def made(count: int, later: int) -> pd.DataFrame:
        days = pd.to_timedelta(random.integers(0, 365, count) + later, "D")
        usual = random.uniform(size=count) < 0.6
        return pd.DataFrame({
            "a": random.normal(size=count),
            "day": first + days,
            "due": (first + days).where(~usual, pd.Timestamp("2025-06-01")),
            "took": days / 10,
        })  # fmt: skip

    watch = ah.Monitor(lambda rows: rows["a"].to_numpy(), made(900, 0), watch="inputs")
    watch.update(made(400, 400))
    changes = {drift.name: drift.change for drift in watch.columns()}
    assert re.fullmatch(
        r"day rose \(mean 2026-08-\d\d instead of 2025-0[67]-\d\d\)", changes["day"]
    )
    assert "where it is not 2025-06-01 (" in changes["due"]
    assert re.fullmatch(
        r"took rose \(mean 5\d\.?\d? days instead of 1\d\.?\d? days\)", changes["took"]
    )
    labels = next(drift.labels for drift in watch.columns() if drift.name == "day")
    assert re.fullmatch(r"below 2025-01-\d\d", labels[0])


def test_settings_that_mean_nothing_are_refused() -> None:
    for block in (0, -3, 1.5, "many"):
        with pytest.raises(SettingsError, match='give "auto", or a number of scores from 1 on'):
            watching(block=block)
    few = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(PointsError, match=r"no column can be watched: too few cells$"):
        ah.Monitor(chances, few, watch="inputs", promise=False)


def test_a_model_without_errors_has_an_interval_of_some_sense() -> None:
    points, _ = drawn(600, 2)
    watch = ah.Monitor(
        lambda rows: rows[:, 0], points, labels=points[:, 0], watch="prediction", window=50
    )
    watch.update(points[:60])
    watch.add_labels(range(20), points[:20, 0])
    assert watch.performance()["rmse"].high < 1e-3
