"""A monitor of a labelled reference: how accurate the model is, late labels, rows to label."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import PointsError, SettingsError


def run(*line):
    return CliRunner().invoke(app, list(line))


def rows(seed, count, shift=0.0):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        random.normal(size=(count, 3)) + np.array([shift, 0, 0]), columns=["a", "b", "c"]
    )
    table["town"] = random.choice(["north", "south"], count)
    noise = np.where(table["town"] == "north", 0.4, 2.0) * random.logistic(size=count)
    labels = np.where(2 * table["a"] - table["b"] + noise > 0, "yes", "no")
    return table, labels


class Linear:
    """A logistic regression of the numbers, which takes the whole table."""

    def __init__(self):
        table, labels = rows(0, 2000)
        self.fitted = LogisticRegression().fit(table[["a", "b", "c"]], labels)
        self.classes_ = self.fitted.classes_

    def predict(self, table):
        return self.fitted.predict(table[["a", "b", "c"]])

    def predict_proba(self, table):
        return self.fitted.predict_proba(table[["a", "b", "c"]])


MODEL = Linear()


@pytest.fixture(scope="module")
def watch():
    table, labels = rows(1, 1500)
    return ah.Monitor(
        MODEL, table, labels=labels, segment="town", window=300, watch=["inputs", "confidence"]
    )


def test_accuracy_is_estimated_without_labels_and_by_segment(watch):
    table, labels = rows(2, 1200)
    watch.update(table, ids=[f"order {number}" for number in range(1200)])
    right = MODEL.predict(table) == labels
    windows = list(watch.performance_curve())
    assert [window.first for window in windows] == [0, 300, 600, 900]
    for window in windows:
        interval = window["accuracy"]
        assert window.known
        assert interval.low - 0.03 < right[window.first : window.last + 1].mean()
        assert right[window.first : window.last + 1].mean() < interval.high + 0.03
    by_town = watch.performance_by_segment()
    assert by_town["north"]["accuracy"].value > by_town["south"]["accuracy"].value
    (difference,) = [one for one in watch.groups().differences if one.metric == "accuracy"]
    assert difference.clear


def test_late_labels_are_joined_by_id(watch):
    _, labels = rows(2, 1200)
    found = watch.add_labels(
        [f"order {number}" for number in (910, 920, 5000)], labels[[910, 920, 0]]
    )
    assert (found.used, found.unknown, found.alarms) == (2, ("order 5000",), ())
    assert watch.performance().labelled == 2


def test_rows_to_label_have_chances_and_reasons_and_a_file(watch, tmp_path):
    chosen = watch.to_label(50, tmp_path / "to_label.csv")
    assert len(chosen) == 50
    assert not set(chosen["id"]) & {"order 910", "order 920"}
    assert chosen["probability"].between(0, 1).all()
    assert chosen["reason"].str.len().min() > 0
    again = pd.read_csv(tmp_path / "to_label.csv")
    assert list(again["id"]) == list(chosen["id"])


def test_a_file_and_a_state_go_on_to_the_bit(watch, tmp_path):
    again = ah.Monitor.load(watch.save(tmp_path / "watch.npz"), MODEL)
    table, labels = rows(3, 400)
    for monitor in (watch, again):
        monitor.update(table, ids=[f"later {number}" for number in range(400)])
        monitor.add_labels(["later 5", "order 30"], [labels[5], "no"])
    assert watch.state() == again.state()
    assert repr(watch.performance_curve()[-1]) == repr(again.performance_curve()[-1])


def test_labels_raise_an_alarm_of_their_own(watch):
    table, labels = rows(4, 400)
    watch.update(table, ids=[f"wrong {number}" for number in range(400)])
    wrong = np.where(labels == "yes", "no", "yes")
    found = watch.add_labels([f"wrong {number}" for number in range(400)], wrong)
    (alarm,) = found.alarms
    assert (alarm.watched, alarm.direction) == ("performance", "down")
    assert "labels" in alarm.remark
    assert alarm in watch.alarms
    with pytest.raises(SettingsError, match="labels raised this alarm"):
        watch.culprits(alarm=alarm)


def test_what_cannot_be_known_is_said(watch):
    far, _ = rows(5, 600, shift=30.0)
    watch.update(far)
    performance = watch.performance()
    assert not performance.known
    assert "outside the reference" in performance.reason


def test_a_regressor_has_errors():
    random = np.random.default_rng(0)
    points = random.normal(size=(3000, 2))
    truth = points[:, 0] + (0.2 + np.abs(points[:, 1])) * random.normal(size=3000)
    watch = ah.Monitor(
        lambda x: np.asarray(x)[:, 0], points[:1500], labels=truth[:1500], watch="prediction"
    )
    watch.update(points[1500:])
    errors = np.abs(points[1500:, 0] - truth[1500:])
    for window in watch.performance_curve():
        true = errors[window.first : window.last + 1].mean()
        assert window["mae"].low - 0.05 < true < window["mae"].high + 0.05


def test_refusals():
    table, labels = rows(1, 300)
    with pytest.raises(PointsError, match="300 reference rows and labels of shape"):
        ah.Monitor(MODEL, table, labels=labels[:-1], watch="confidence")
    watch = ah.Monitor(MODEL, table, watch="confidence")
    with pytest.raises(SettingsError, match="labelled reference"):
        watch.performance()


def test_a_replay_with_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labelled_model.py").write_text(
        "from tests.monitor.test_performance import MODEL\npredict = MODEL\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name, seed, count in (("reference", 1, 1200), ("stream", 6, 1000)):
        table, labels = rows(seed, count)
        table.assign(answer=labels).to_csv(f"{name}.csv", index=False)
    line = ["monitor", "replay", "labelled_model:predict", "--data", "stream.csv"]
    line += ["--reference", "reference.csv", "--labels", "answer", "--watch", "inputs"]
    told = json.loads(run(*line, "--json", "--label-delay", "200").stdout)
    assert [window["labelled"] > 0 for window in told["performance"]] == [True, True]
    assert told["alarms"] == []
    table, labels = rows(7, 1000, shift=2.0)
    table.assign(answer=labels).to_csv("stream.csv", index=False)
    shifted = run(*line, "--fail-on-alarm")
    assert shifted.exit_code == 100
    assert "a rose" in shifted.output
    assert "performance" in shifted.output
