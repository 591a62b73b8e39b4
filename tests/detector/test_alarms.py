"""What alarms, keys and observations say, and how rates are told."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from anharmonic.errors import SettingsError
from anharmonic.monitor.alarms import Alarm, Key, Observation, direction_word, points_per_alarm

ALARM = Alarm("gamma", "north", "down", 12345, 1200, 12.5, 11.5, "a remark", ("by 2", "by 3"))


def observation(**changes):
    scores = {"gamma": np.array([1.0, np.nan, 3.0]), "level": np.array([5.0, 6.0, np.inf])}
    usual = Observation(np.arange(3), scores, {Key("gamma", None, "up"): 1.23456})
    return replace(usual, **changes)


@pytest.mark.parametrize(
    ("direction", "word"),
    [("up", "rose"), ("down", "fell"), ("spread", "spread otherwise"), ("either", "changed")],
)
def test_a_direction_has_a_word(direction, word):
    assert direction_word(direction) == word
    alarm = replace(ALARM, direction=direction)
    assert alarm.change == word
    assert str(alarm).startswith(f"gamma {word} in north: ")


def test_an_alarm_says_what_where_when_by_what_and_what_else():
    assert str(ALARM) == (
        "gamma fell in north: seen at row 12,345, since about 1,200: by 2; by 3 (a remark)"
    )
    plain = Alarm("level", None, "up", 7, 5, 1.0, 1.0)
    assert (plain.remark, plain.carriers) == ("", ())
    assert str(plain) == "level rose: seen at row 7, since about 5"


def test_a_key_says_what_evidence_is_about():
    assert ALARM.key == Key("gamma", "north", "down")
    assert str(ALARM.key) == "gamma down in north"
    assert str(Key("inputs", None, "either")) == "inputs either"


def test_an_alarm_as_plain_values_is_the_same_alarm_again():
    plain = json.loads(json.dumps(ALARM.plain()))
    assert plain["carriers"] == ["by 2", "by 3"]
    assert Alarm(**plain | {"carriers": tuple(plain["carriers"])}) == ALARM


def test_what_was_seen_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        ALARM.at = 1
    with pytest.raises(FrozenInstanceError):
        observation().alarms = ()
    # Alarms can be members of sets.
    assert len({ALARM, replace(ALARM), replace(ALARM, at=1)}) == 2


def test_an_observation_counts_rows_and_those_that_have_every_score():
    seen = observation()
    assert len(seen) == 3
    assert seen.scored == 1
    assert (seen.alarm, seen.alarms, seen.trace) == (False, (), {})
    assert observation(alarms=(ALARM,)).alarm


def test_an_observation_in_a_line():
    assert repr(observation()) == "<observation: quiet, 1 of 3 rows scored>"
    many = Observation(np.arange(12345), {"gamma": np.zeros(12345)}, {}, (ALARM, ALARM))
    assert repr(many) == "<observation: 2 alarms, 12,345 of 12,345 rows scored>"


def test_an_observation_as_a_table():
    shown = observation(alarms=(ALARM, replace(ALARM, segment=None)))._repr_html_()
    for words in ("rows", "scored", "mean gamma", "mean level", "log evidence, gamma up", "1.23"):
        assert words in shown
    # Means of what is finite: of 1 and 3, and of 5 and 6.
    assert ">2<" in shown
    assert ">5.5<" in shown
    assert "gamma fell in north: seen at row 12,345" in shown
    assert "; gamma fell: seen at row 12,345" in shown
    quiet = observation(scores={"gamma": np.full(3, np.nan)})._repr_html_()
    assert "none" in quiet
    assert ">–<" in quiet


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("1 per 100,000", 100_000),
        ("1 in 100_000", 100_000),
        (" 2  per 5000 ", 2500),
        ("0.5 per 100", 200),
        ("1per10", 10),
        (250, 250),
        (1, 1),
        ("3 per 3", 1),
    ],
)
def test_rates_are_points_for_one_alarm(text, points):
    found = points_per_alarm(text)
    assert found == points
    assert isinstance(found, float)


@pytest.mark.parametrize("text", ["seldom", "1 of 100", "per 100", "0 per 100", "2 per 1", "1 per"])
def test_rates_that_say_nothing_are_refused_with_an_example(text):
    with pytest.raises(SettingsError, match="false_alarms"):
        points_per_alarm(text)


@pytest.mark.parametrize("rate", [0, 0.99, -5, float("nan")])
def test_more_than_one_alarm_a_point_is_no_rate(rate):
    with pytest.raises(SettingsError, match="one alarm takes at least one point"):
        points_per_alarm(rate)
