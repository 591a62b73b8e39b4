"""Training rows given as a monitor's reference."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic.cli import app
from anharmonic.errors import SettingsError

POINTS, LABELS = make_classification(4000, 8, n_informative=6, random_state=0)
TRAINED, HELD, TRAFFIC = POINTS[:2000], POINTS[2000:3000], POINTS[3000:]


def fitted(model):
    return model.fit(TRAINED, LABELS[:2000])


@pytest.fixture(scope="module")
def forest():
    return fitted(RandomForestClassifier(50, random_state=0))


@pytest.mark.finding("newcomer B1")
def test_training_rows_are_told_at_once_and_with_each_alarm(forest, tmp_path):
    with pytest.warns(UserWarning, match="looks like training data"):
        watch = ah.Monitor(forest, TRAINED, watch="gamma")
    again = ah.Monitor.load(watch.save(tmp_path / "watch.npz"), forest)
    for each in (watch, again):
        (alarm,) = each.update(TRAFFIC).alarms
        assert alarm.direction == "down"
        assert "held-out rows" in str(alarm)


@pytest.mark.finding("newcomer B1")
def test_held_out_rows_stay_silent(forest):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (forest, fitted(LogisticRegression())):
            assert not ah.Monitor(model, HELD, watch=["gamma", "confidence"]).update(TRAFFIC).alarms
        # A linear model has no spikes at what it was trained on.
        assert not ah.Monitor(fitted(LogisticRegression()), TRAINED).update(TRAFFIC).alarms


@pytest.mark.finding("newcomer B1")
def test_an_alarm_from_the_first_rows_on_names_the_cause():
    boosted = fitted(HistGradientBoostingClassifier(random_state=0))
    found = ah.Monitor(boosted, TRAINED, watch="confidence").update(TRAFFIC)
    assert "training data" in found.alarms[0].remark
    # What begins later has another cause.
    calm = ah.Monitor(boosted, HELD, watch="confidence")
    calm.update(TRAFFIC[:600])
    later = calm.update(np.repeat(POINTS[:1], 300, axis=0))
    assert [alarm.remark for alarm in later.alarms] == [""]


@pytest.mark.finding("newcomer B1")
def test_the_quiet_time_has_a_name_of_its_own(forest):
    by_name, by_place = ah.Monitor(forest, quiet=HELD), ah.Monitor(forest, HELD)
    assert by_name.state() == by_place.state()
    assert by_name.settings == by_place.settings
    for words in ({}, {"quiet": HELD, "reference": HELD}):
        with pytest.raises(SettingsError, match="once"):
            ah.Monitor(forest, **words)


@pytest.mark.finding("newcomer B1")
@pytest.mark.parametrize("command", [("monitor", "replay"), ("serve",)])
def test_help_says_which_rows(command):
    told = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).output
    assert "not the training rows" in " ".join(told.split())
