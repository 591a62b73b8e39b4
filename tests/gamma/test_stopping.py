"""A run that is stopped says how far it came, keeps that, and goes on from it to the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import MeasurementStopped, OutputError, SettingsError

POINTS = np.random.default_rng(0).normal(size=(12, 3))
# Two rows in each task: 4 turns of 4 directions and a centre, beside a pilot of one call each.
ARGUMENTS = {"radius": 0.5, "scale": None, "ball": "simplex", "batch_size": 34}


def wavy(x):
    return np.stack([np.sin(3 * x[:, 0]), np.cos(x[:, 1] * x[:, 2])], axis=1)


class Stopping:
    """Raises at one of its calls."""

    def __init__(self, at, problem=None):
        self.at, self.calls = at, 0
        self.problem = problem or RuntimeError("gone")

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.at:
            raise self.problem
        return wavy(x)


def stopped(at, kind=MeasurementStopped, problem=None, **more):
    with pytest.raises(kind) as stop:
        ah.gamma(Stopping(at, problem), POINTS, **{**ARGUMENTS, **more})
    return stop.value


def test_midway_the_error_tells_how_many_points_are_finished_and_what_to_do():
    error = stopped(5)
    assert str(error).endswith(
        "RuntimeError: gone (in a call about rows 4, 5). 4 of 12 points are finished and kept in "
        ".partial: mend the model and call again with resume=error.partial"
    )
    partial = error.partial
    np.testing.assert_array_equal(np.isfinite(partial.values), np.arange(12) < 4)
    assert partial.turns.tolist() == [4] * 4 + [0] * 8
    assert partial.queries == 2 * 12 + 4 * 17
    assert partial.settings.unfinished
    assert not partial.complete


@pytest.mark.parametrize("at", [1, 2, 3])
def test_before_the_first_point_there_is_nothing_to_go_on_from(at):
    error = stopped(at)
    assert "gone" in str(error)
    assert "finished" not in str(error)
    assert str(error).endswith("mend it, or give it other points")
    assert not error.partial.started
    assert error.partial.queries == (24 if at == 3 else 0)
    whole = ah.gamma(wavy, POINTS, **ARGUMENTS)
    again = ah.gamma(wavy, POINTS, resume=error.partial, **ARGUMENTS)
    np.testing.assert_array_equal(again.values, whole.values)


@pytest.mark.parametrize("at", [4, 6, 8])
def test_going_on_asks_for_the_rest_and_ends_as_if_nothing_had_been(at):
    whole = ah.gamma(wavy, POINTS, **ARGUMENTS)
    partial = stopped(at).partial
    going = Stopping(0)
    found = ah.gamma(going, POINTS, resume=partial, **ARGUMENTS)
    for name in ("values", "errors", "squared", "signed", "outputs", "turns"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    assert found.queries == whole.queries == 24 + 12 * 17
    assert going.calls == 6 - partial.turns.astype(bool).sum() // 2
    assert not found.settings.unfinished


def test_a_run_that_was_stopped_at_once_still_tells_what_was_asked():
    asked = {"tolerance": 0.1, "rotations": 5}
    settings = stopped(1, **asked).partial.settings
    assert settings.output is None
    assert (settings.tolerance, settings.rotations, settings.unfinished) == (0.1, 5, True)
    assert stopped(1, output=1).partial.settings.output == 1


def test_finished_scores_are_given_back_as_they_are():
    whole = ah.gamma(wavy, POINTS, **ARGUMENTS)
    going = Stopping(1)
    again = ah.gamma(going, POINTS, resume=whole, **ARGUMENTS)
    assert going.calls == 0
    np.testing.assert_array_equal(again.values, whole.values)
    np.testing.assert_allclose(again.errors, whole.errors, rtol=1e-12)
    assert again.queries == whole.queries


def test_other_stops_keep_what_was_finished_without_a_word():
    error = stopped(5, KeyboardInterrupt, KeyboardInterrupt("mine"))
    assert error.args == ("mine",)
    assert error.partial.turns.tolist() == [4] * 4 + [0] * 8


def test_rows_without_an_answer_are_named_when_all_others_are_finished():
    def gaps(x):
        return np.where((x[:, :1] > 1) & (x[:, :1] < 40), np.nan, wavy(x))

    points = np.where(np.arange(12)[:, None] % 5 == 3, 2.0, POINTS.clip(-0.4, 0.4))
    with pytest.raises(OutputError, match="rows 3, 8: leave them out") as stop:
        ah.gamma(gaps, points, **{**ARGUMENTS, "noise": "ignore"})
    assert list(stop.value.rows) == [3, 8]
    left = np.isnan(stop.value.partial.values)
    assert np.flatnonzero(left).tolist() == [3, 8]


def test_a_model_that_answers_nothing_is_asked_no_more_than_once():
    calls = []

    def nothing(x):
        calls.append(len(x))
        return np.full(len(x), np.nan)

    with pytest.raises(OutputError, match="rows 0, 1: "):
        ah.gamma(nothing, POINTS, **ARGUMENTS, noise="ignore")
    assert calls == [34]


def test_a_refusal_is_no_run_and_has_no_part():
    with pytest.raises(SettingsError) as refusal:
        ah.gamma(wavy, POINTS, **{**ARGUMENTS, "budget": 100})
    assert not hasattr(refusal.value, "partial")


def test_a_round_that_was_begun_is_finished_as_it_was_before_shares_are_made_anew():
    arguments = {"budget": 900}
    whole = ah.gamma(wavy, POINTS, **ARGUMENTS, **arguments)
    for at in (10, 14, 18):
        partial = stopped(at, **arguments).partial
        found = ah.gamma(wavy, POINTS, resume=partial, **ARGUMENTS, **arguments)
        np.testing.assert_array_equal(found.values, whole.values)
        np.testing.assert_array_equal(found.turns, whole.turns)


def test_what_was_found_before_the_run_stays_known():
    whole = ah.gamma(wavy, POINTS, radius=0.5, scale=None, batch_size=50)
    with pytest.raises(MeasurementStopped) as stop:
        ah.gamma(Stopping(9), POINTS, radius=0.5, scale=None, batch_size=50)
    assert stop.value.partial.started
    found = ah.gamma(wavy, POINTS, radius=0.5, scale=None, batch_size=50, resume=stop.value.partial)
    for fact in ("odd_power", "even_power", "noise", "ball", "rotation"):
        assert getattr(found.settings, fact) == getattr(whole.settings, fact)
    assert found.settings.odd_power > 0
    assert found.settings.rotation is not None
    assert found.queries == whole.queries
