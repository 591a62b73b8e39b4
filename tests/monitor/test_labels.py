"""Labels of a monitored stream: chosen, late, reset; what is kept in memory and in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import PointsError
from anharmonic.monitor import replay

FILES = Path(__file__).parent / "files"
RANDOM = np.random.default_rng(0)


def chances(points: Any) -> Any:
    up = 1 / (1 + np.exp(-2 * np.asarray(points)[:, 0]))
    return np.stack([1 - up, up], axis=1)


def drawn(count: int, seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    points = random.normal(size=(count, 2))
    return points, (random.uniform(size=count) < chances(points)[:, 1]) * 1


def watching(**more: Any) -> ah.Monitor:
    points, labels = drawn(1000, 0)
    made: dict[str, Any] = {"watch": ["confidence"], "labels": labels, **more}
    return ah.Monitor(chances, points, output="probability", **made)


def test_a_reset_clears_the_evidence_of_labels() -> None:
    watch = watching()
    points, _ = drawn(400, 1)
    watch.update(points)
    right = chances(points).argmax(axis=1)
    (alarm,) = watch.add_labels(range(300), 1 - right[:300]).alarms
    watch.reset()
    assert watch.add_labels([300], right[[300]]).alarms == ()
    # What is wrong all the same is raised again.
    (again,) = watch.add_labels(range(301, 400), 1 - right[301:]).alarms
    assert again.key == alarm.key


def test_an_alarm_of_labels_says_how_large_and_since_when() -> None:
    watch = watching()
    points, labels = drawn(900, 2)
    watch.update(points)
    # Right as usual for 600 rows, every third label; then half of them are turned.
    turned = np.where(np.arange(900) % 2 == 0, 1 - labels, labels)
    late = np.where(np.arange(900) < 600, labels, turned)
    rows = range(0, 900, 3)
    (alarm,) = watch.add_labels(rows, late[::3]).alarms
    assert 500 < alarm.since < 700 < alarm.at
    (words,) = alarm.carriers
    assert words.startswith("error ")
    assert "in the reference, since about label " in words
    now, usual = (
        float(part.split("%")[0]) for part in words.removeprefix("error ").split(", ")[:2]
    )
    assert usual == pytest.approx(100 * (1 - watch.judge.tracker.estimator.reference.observed[
        np.arange(1000), watch.judge.tracker.estimator.reference.outputs.argmax(axis=1)
    ].mean()), abs=0.6)  # fmt: skip
    assert now > usual + 5


def test_rows_to_label_are_those_whose_labels_are_joined() -> None:
    watch = watching(memory=500)
    points, labels = drawn(3000, 3)
    watch.update(points)
    chosen = watch.to_label(100)
    assert chosen["row"].min() >= 2500
    assert set(chosen["share"]) == {100 / 500}
    rows = chosen["row"].to_numpy()
    found = watch.add_labels(
        chosen["id"], labels[rows], chosen["probability"], share=chosen["share"][0]
    )
    assert (found.used, found.unknown) == (100, ())
    assert not set(watch.to_label(400)["id"]) & set(chosen["id"])


def test_chosen_labels_reach_the_alarm_with_their_share() -> None:
    raised = {}
    for share in (None, 0.1):
        watch = watching()
        points, labels = drawn(2000, 4)
        watch.update(points)
        chosen = watch.to_label(200)
        rows = chosen["row"].to_numpy()
        found = watch.add_labels(chosen["id"], 1 - labels[rows], chosen["probability"], share=share)
        raised[share] = len(found.alarms)
    assert raised == {None: 0, 0.1: 1}


def test_memory_is_of_rows_however_they_come() -> None:
    points, _ = drawn(900, 5)
    whole, pieces = watching(memory=300), watching(memory=300)
    whole.update(points)
    for start in range(0, 900, 70):
        pieces.update(points[start : start + 70])
    assert list(whole.to_label(50)["id"]) == list(pieces.to_label(50)["id"])


def test_groups_use_the_labels_of_rows_in_memory() -> None:
    watch = watching()
    points, labels = drawn(1200, 6)
    towns = np.where(np.arange(1200) % 3 == 0, "south", "north")
    watch.update(points, segments=towns)
    before = {one.metric: one for one in watch.groups().differences}
    assert not before["accuracy"].clear
    wrong = np.where(towns == "south", 1 - labels, labels)
    watch.add_labels([0, 1, 2], wrong[:3])
    # Too few labels to say anything: as estimated.
    assert {one.metric: one for one in watch.groups().differences} == before
    watch.add_labels(range(3, 1200, 2), wrong[3::2])
    after = {one.metric: one for one in watch.groups().differences}
    assert after["accuracy"].clear
    assert (after["accuracy"].group, after["accuracy"].base) == ("south", "north")


def test_groups_weigh_chosen_labels_by_their_chances() -> None:
    watch = watching()
    points, labels = drawn(1500, 14)
    towns = np.where(np.arange(1500) % 3 == 0, "south", "north")
    watch.update(points, segments=towns)
    chosen = watch.to_label(400)
    rows = chosen["row"].to_numpy()
    watch.add_labels(chosen["id"], labels[rows], chosen["probability"], share=chosen["share"][0])
    found = watch.groups().metrics
    right = chances(points).argmax(axis=1) == labels
    for town in ("north", "south"):
        accuracy = found[town]["accuracy"]
        assert accuracy.low < right[towns == town].mean() < accuracy.high
        # Unsure rows are chosen more often: unweighted, their accuracy would stand for all.
        mine = rows[towns[rows] == town]
        assert accuracy.value > right[mine].mean() + 0.02
    # Random ones beside them count by their own share.
    others = np.setdiff1d(np.arange(1500), rows)[:200]
    watch.add_labels(others, labels[others])
    assert set(watch.groups().metrics) == {"north", "south"}


def test_rows_without_a_segment_are_of_none() -> None:
    watch = watching()
    points, labels = drawn(300, 7)
    watch.update(points, segments=[None, "north", "south"] * 100)
    assert set(watch.performance_by_segment()) == {"north", "south"}
    assert set(watch.groups().metrics) == {"north", "south"}
    table = pd.DataFrame(points, columns=["a", "b"])
    table["town"] = ["north", None, "south"] * 100
    by_rule = ah.Monitor(
        lambda rows: chances(rows[["a", "b"]]), table, output="probability",
        watch=["confidence"], segment="town", promise=False,
    )  # fmt: skip
    assert by_rule.segments == ("north", "south")
    assert len(labels) == 300


@pytest.mark.parametrize("kind", ["int64", "Int64", "float64"])
def test_whole_numbers_name_the_same_segment_in_any_type(kind: str) -> None:
    table = pd.DataFrame({"a": np.arange(4.0), "shop": [3, 4, 3, 4]})
    names = ah.monitor.rows.segments_of(table.astype({"shop": kind}), "shop")
    assert names is not None
    assert names.tolist() == ["3", "4", "3", "4"]
    half = ah.monitor.rows.segments_of(pd.DataFrame({"shop": [0.5, 2.0, None]}), "shop")
    assert half is not None
    assert half.tolist() == ["0.5", "2", ""]


def test_going_back_keeps_what_came_before() -> None:
    watch, other = watching(memory=300), watching(memory=300)
    points, labels = drawn(400, 8)
    for one in (watch, other):
        one.update(points[:200])
        one.add_labels(range(0, 100), labels[:100])
    state = watch.state()
    watch.update(points[200:])
    watch.add_labels(range(100, 300), 1 - labels[100:300])
    watch.go_back(state)
    assert watch.state() == state
    assert list(watch.to_label(50)["id"]) == list(other.to_label(50)["id"])
    recent = watch._memory.since(0, None)
    assert recent is not None
    assert recent.rows.tolist() == list(range(200))


def test_classes_without_names_are_numbers() -> None:
    points, labels = drawn(300, 9)
    with pytest.raises(PointsError, match=r"label '(no|yes)' is no class number.*classes="):
        ah.Monitor(chances, points, labels=np.where(labels, "yes", "no"), output="probability",
                   watch=["confidence"])  # fmt: skip
    with pytest.raises(PointsError, match=r"label 0\.7 is no class number"):
        ah.Monitor(chances, points, labels=labels * 0.7, output="probability",
                   watch=["confidence"])  # fmt: skip
    named = ah.models.as_model(chances, output="probability", classes=["no", "yes"])
    watch = ah.Monitor(named, points, labels=np.where(labels, "yes", "no"), watch=["confidence"])
    watch.update(points)
    assert watch.add_labels([0], ["yes"]).used == 1


def test_evidence_is_shown_on_the_scale_that_it_was_fitted_on() -> None:
    def falling(points: Any) -> Any:
        # Its confidence depends on a row's own number: nothing can be promised of it.
        return np.stack([1 - np.asarray(points)[:, 2], np.asarray(points)[:, 2]], axis=1)

    points = np.random.default_rng(0).normal(size=(400, 3))
    points[:, 2] = np.linspace(0.55, 0.95, 400)
    with pytest.warns(UserWarning, match="(is|are) not watched"):
        watch = ah.Monitor(falling, points, output="probability")
    assert "confidence" not in watch.watched
    shift = {round(channel.rate / watch.rate) for channel in watch.channels.values()}
    assert shift == {round(np.exp(watch._shift))}
    assert shift != {len(watch.channels)}


def test_culprits_stand_beside_their_own_alarm() -> None:
    watch = watching(watch=["inputs", "confidence"])
    points, labels = drawn(1500, 10)
    right = chances(points).argmax(axis=1)
    # Labels turn wrong first, inputs move later.
    labels = np.where(np.arange(1500) < 600, 1 - right, right)
    points[1000:] += 2
    found = replay(watch, points, labels=labels)
    told = found.summary()["alarms"]
    watched = [alarm["watched"] for alarm in told]
    assert watched[0] == "performance"
    assert "inputs" in watched
    assert all("culprits" not in alarm for alarm in told if alarm["watched"] == "performance")
    explained = [alarm for alarm in told if alarm["watched"] != "performance"][:8]
    for alarm in explained:
        assert min(one["row"] for one in alarm["culprits"]) >= alarm["since"]


def test_a_replay_counts_labels_that_came_too_late() -> None:
    points, labels = drawn(1000, 11)
    found = replay(watching(memory=200), points, labels=labels, delay=300)
    assert found.labels_used < 300
    assert found.labels_used + found.labels_unused == 700
    in_time = replay(watching(memory=500), points, labels=labels, delay=300)
    assert (in_time.labels_used, in_time.labels_unused) == (700, 0)
    assert in_time.summary()["labels"] == {"used": 700, "unused": 0}


def test_a_short_replay_has_performance_too(tmp_path: Path, monkeypatch: Any) -> None:
    points, labels = drawn(300, 12)
    found = replay(watching(), points, labels=labels)
    assert found.performance is not None
    (window,) = found.performance
    assert (window.rows, window.labelled) == (300, 300)
    monkeypatch.chdir(tmp_path)
    for name, (points, labels) in {"quiet": drawn(600, 0), "stream": drawn(400, 1)}.items():
        pd.DataFrame(points, columns=["a", "b"]).assign(y=labels).to_csv(f"{name}.csv", index=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "chance_model.py").write_text("from tests.monitor.test_labels import chances\n")
    line = "monitor replay chance_model:chances --data stream.csv --reference quiet.csv "
    line += "--output probability --labels y --watch confidence --label-delay 100 --memory 50"
    done = CliRunner().invoke(app, [*line.split(), "--window", "200"])
    assert done.exit_code == 0, done.output
    assert "0–199" in done.output
    assert "labels were not used" in " ".join(done.output.split())


def shop_rows(seed: int, count: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"a": random.normal(size=count), "shop": random.choice([3.0, 4.0], count)})
    chance = 1 / (1 + np.exp(-2 * table["a"].to_numpy()))
    return table, (random.uniform(size=count) < chance) * 1


def shop_model(table: Any) -> Any:
    up = 1 / (1 + np.exp(-2 * np.asarray(table["a"], dtype=float)))
    return np.stack([1 - up, up], axis=1)


def load_earlier() -> ah.Monitor:
    """A monitor of a file of format 3, from before the law of tables changed."""
    with pytest.warns(UserWarning, match="neighbours in tables were drawn otherwise"):
        return ah.Monitor.load(FILES / "labelled_3.npz", shop_model)


def test_a_file_of_an_earlier_format_goes_on() -> None:
    """Of format 3: segments "3.0" and "4.0", seven labels that wait in an open window."""
    watch = load_earlier()
    assert watch.segments == ("3", "4")
    keys = {str(key): value for key, value in watch.evidence.items()}
    assert keys["confidence up in 3"] == pytest.approx(1.242317628392989)
    second = watch.performance_curve()[1]
    assert second.labelled == 8
    assert second["accuracy"] == pytest.approx((0.7823, 0.6939, 0.8707), abs=5e-5)
    more, labels = shop_rows(2, 70)
    watch.update(more, ids=[str(number) for number in range(130, 200)])
    assert [window.labelled for window in watch.performance_curve()] == [0, 8, 7, 0]
    assert watch.judge is not None
    assert watch.judge.tracker.mean_loss().value == pytest.approx(2 / 15)
    assert watch.evidence[ah.monitor.Key("confidence", "3", "up")] != keys["confidence up in 3"]
    # Labels of rows that had none then are joined.
    assert watch.add_labels(["131"], labels[[1]]).used == 1
    again = load_earlier()
    again.update(more[:30], ids=[str(number) for number in range(130, 160)])
    state = again.state()
    third = load_earlier()
    third.restore(state)
    assert third.state() == state


def test_dates_do_not_make_all_traffic_unknown(tmp_path: Path) -> None:
    points, labels = drawn(1500, 13)
    table = pd.DataFrame(points, columns=["a", "b"])
    # Days come in any order within a month, and go on after the reference's end.
    days = np.arange(1500) // 10 + np.random.default_rng(0).integers(0, 30, 1500)
    table["day"] = pd.to_datetime("2026-01-01") + pd.to_timedelta(days, "D")

    def model(rows: Any) -> Any:
        return chances(rows[["a", "b"]])

    known = {}
    for kinds in (None, {"day": "date"}):
        watch = ah.Monitor(
            model, table[:900], labels=labels[:900], output="probability", watch=["confidence"],
            window=300, kinds=kinds,
        )  # fmt: skip
        again = ah.Monitor.load(watch.save(tmp_path / "watch.npz"), model)
        for one in (watch, again):
            one.update(table[1200:])
            assert one.performance().known == (kinds is None)
        known[kinds is None] = repr(watch.performance())
        assert repr(again.performance()) == known[kinds is None]
    assert "outside the reference: day" in known[False]


def test_labels_that_do_not_fit_are_refused_whole() -> None:
    """An error says what to do, and nothing has changed: windows can still be read."""
    points, _ = drawn(200, 3)
    watch = watching(window=50)
    watch.update(points)
    before = watch.state()
    refused: list[tuple[Any, Any, str]] = [
        ([1, 2], [1], "2 ids and 1 labels"),
        ([1], [[1]], "several"),
        ([1, 2], np.array([[0], [1]]), "shape"),
        ([1, 2], [1, None], "missing in rows 1"),
        ([1, 2], [float("nan"), 1], "missing in rows 0"),
        ([1, 2], [1, "maybe"], "none of the classes"),
    ]
    for ids, labels, words in refused:
        with pytest.raises(PointsError, match=words):
            watch.add_labels(ids, labels)
    with pytest.raises(PointsError, match="give one per row"):
        watch.add_labels([1, 2], [0, 1], np.array([0.5, 0.5, 0.5]))
    with pytest.raises(PointsError, match="share"):
        watch.add_labels([1, 2], [0, 1], 0.5, share=1.5)
    assert watch.state() == before
    assert watch.add_labels([1, 2, 2], [1, 0, 0]).unknown == ("2",)
    assert watch.performance().rows == 50


def test_numbers_that_are_none_or_too_large_are_refused() -> None:
    points, _ = drawn(400, 4)
    watch = ah.Monitor(
        lambda rows: rows.sum(axis=1),
        points,
        labels=[*(points[:300].sum(axis=1) + RANDOM.normal(size=300)), *[None] * 100],
        watch=["prediction"],
        window=50,
    )
    watch.update(points)
    for label, words in (("many", "is no number"), (1e300, "beyond 1e"), (np.inf, "not finite")):
        with pytest.raises(PointsError, match=words):
            watch.add_labels([380], [label])
    assert watch.add_labels([380, 381], ["1.5", 1]).used == 2
    said = watch.performance()
    assert np.isfinite([said["mae"], said["rmse"]]).all()
    assert said["mae"].value > 0
    with pytest.raises(PointsError, match="no row of the reference has a label"):
        ah.Monitor(lambda rows: rows.sum(axis=1), points, labels=[None] * 400, watch=["prediction"])


def test_labels_are_read_alike_from_any_source(tmp_path: Path) -> None:
    """As numbers, text, truth values or with gaps: the same estimator, which can be stored."""
    points, labels = drawn(600, 5)
    named = ah.models.as_model(chances, output="probability", classes=[0, 1])
    gaps = [None if row % 9 == 0 else label for row, label in enumerate(labels.tolist())]
    forms: list[Any] = [
        gaps,
        [None if label is None else str(label) for label in gaps],
        [float("nan") if label is None else bool(label) for label in gaps],
        pd.Series(gaps, dtype="Int64"),
        pd.Series(gaps, dtype="float64"),
    ]
    said = set()
    for number, form in enumerate(forms):
        watch = ah.Monitor(named, points, labels=form, watch=["confidence"], window=50)
        watch.update(points[:200])
        assert watch.add_labels([1, 2, 3], ["1", 0, True]).used == 3
        watch.save(tmp_path / f"{number}.monitor")
        again = ah.Monitor.load(tmp_path / f"{number}.monitor", named)
        assert repr(again.performance()) == repr(watch.performance())
        said.add(repr(watch.performance()))
        late = replay(watch, points, labels=form, delay=10)
        assert late.labels_used == sum(label is not None for label in gaps[:590])
    assert len(said) == 1
