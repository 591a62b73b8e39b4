"""Bad input gets a typed error that says what to do next, and nothing half-written."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import (
    MeasurementStopped,
    NotAModel,
    OutputError,
    PointsError,
    SettingsError,
)

POINTS = np.random.default_rng(0).normal(size=(40, 3))


def total(x):
    return x.sum(axis=1)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.where(np.arange(120).reshape(40, 3) > 90, np.inf, POINTS), r"10 in all\)"),
        (np.empty((0, 3)), "at least one row"),
        (np.empty((4, 0)), "no column can move"),
        (np.zeros(3), r"x\[None, :\]"),
        (np.ones((5, 2)), "every column is constant"),
        (POINTS[:1], "one point"),
        ([["a", "b"]], "DataFrame"),
        (pd.DataFrame({"colour": ["red", "red"]}), "no column can move"),
        (np.repeat(POINTS[:2], 5, axis=0)[:5], "constant"),
    ],
)
def test_points_that_cannot_be_measured(points, message):
    with pytest.raises(PointsError, match=message):
        ah.gamma(total, points)


def test_a_missing_cell_that_the_model_cannot_take_is_named():
    holes = np.where(np.arange(120).reshape(40, 3) == 7, np.nan, POINTS)
    with pytest.raises(OutputError, match=r"near rows 2.*missing in 1.*fill them") as problem:
        ah.gamma(total, holes)
    assert 2 in problem.value.rows


def test_duplicates_leave_no_distance():
    with pytest.raises(PointsError, match="no two points differ"):
        ah.gamma(total, np.ones((5, 2)), scale=None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radius": 0}, "positive"),
        ({"radius": -1.0}, "positive"),
        ({"radius": float("nan")}, "positive"),
        ({"radius": "large"}, '"auto"'),
        ({"ball": "circle"}, "antisimplex"),
        ({"ball": ah.balls.simplex(4)}, "build it with 3"),
        ({"rotations": -1}, "independent copies"),
        ({"directions": 0}, "at least 1"),
        ({"budget": 10}, "Raise it"),
        ({"budget": 10**6, "rotations": 1}, "at least 2 rotations"),
        ({"tolerance": 0.0}, "positive"),
        ({"noise": "maybe"}, "include"),
        ({"scale": [1.0, 0.0, 1.0]}, "positive and finite"),
        ({"scale": "huge"}, '"auto"'),
        ({"bounds": (1, 0)}, "below its upper"),
        ({"bounds": (0, 1)}, "outside the bounds already"),
        ({"bounds": 3}, r"\(low, high\)"),
        ({"reduction": "biggest"}, "angle"),
        ({"reference": POINTS[:, :2]}, "same numeric columns"),
    ],
)
def test_settings_that_mean_nothing(arguments, message):
    with pytest.raises(ah.errors.InputError, match=message):
        ah.gamma(total, POINTS, **arguments)


def test_a_column_that_is_not_there():
    with pytest.raises(SettingsError, match="3 outputs"):
        ah.gamma(lambda x: x, POINTS, reduction=5)


def test_a_grid_needs_a_radius():
    with pytest.raises(SettingsError, match="give a radius"):
        ah.gamma(total, ah.regions.grid([(0, 1)] * 3, 4))


@pytest.mark.parametrize("thing", [3, None, {"a": 1}, object(), POINTS])
def test_things_that_are_no_model(thing):
    with pytest.raises(NotAModel):
        ah.gamma(thing, POINTS)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda x: x[:-1].sum(axis=1), "one row of outputs for each point"),
        (lambda x: 1.0, "one row of outputs for each point"),
        (lambda x: np.array(["red"] * len(x)), "numbers"),
        (lambda x: np.where(x[:, 0] > -9, np.nan, 1.0), "NaN or infinity"),
        (lambda x: np.full(len(x), np.inf), "NaN or infinity"),
    ],
)
def test_answers_that_cannot_be_used(model, message):
    with pytest.raises(OutputError, match=message):
        ah.gamma(model, POINTS)


def test_the_rows_with_bad_answers_are_named():
    points = np.arange(12.0).reshape(6, 2)

    def fails_far_out(x):
        return np.where(x[:, 0] > 7, np.nan, x[:, 0])

    with pytest.raises(OutputError, match="rows 4, 5:"):
        ah.gamma(fails_far_out, points, radius=0.1, scale=None, noise="ignore", ball="simplex")


class Fragile:
    """Works for some calls, then raises."""

    def __init__(self, calls, problem):
        self.calls, self.problem = calls, problem

    def __call__(self, x):
        self.calls -= 1
        if self.calls < 0:
            raise self.problem
        return np.tanh(x).sum(axis=1)


def test_what_was_finished_is_kept_and_resumed(tmp_path):
    whole = ah.gamma(lambda x: np.tanh(x).sum(axis=1), POINTS, batch_size=200)
    with pytest.raises(MeasurementStopped, match=r"resume=error\.partial") as stop:
        ah.gamma(Fragile(8, RuntimeError("out of memory")), POINTS, batch_size=200)
    partial = stop.value.partial
    assert 0 < np.isfinite(partial.values).sum() < len(POINTS)
    assert not partial.complete
    assert "out of memory" in str(stop.value)
    kept = ah.Scores.load(partial.save(tmp_path / "partial.parquet"))
    mended = lambda x: np.tanh(x).sum(axis=1)  # noqa: E731
    resumed = ah.gamma(mended, POINTS, batch_size=200, resume=kept)
    np.testing.assert_array_equal(resumed.values, whole.values)
    np.testing.assert_allclose(resumed.errors, whole.errors, rtol=1e-9)
    assert resumed.queries == whole.queries
    assert resumed.complete


def test_a_model_that_raises_at_once_is_named():
    with pytest.raises(MeasurementStopped, match="ZeroDivisionError") as stop:
        ah.gamma(Fragile(0, ZeroDivisionError("oh")), POINTS)
    assert np.isnan(stop.value.partial.values).all()
    assert isinstance(stop.value.__cause__, ZeroDivisionError)


def test_an_interrupt_keeps_what_was_finished():
    with pytest.raises(KeyboardInterrupt) as stop:
        ah.gamma(Fragile(8, KeyboardInterrupt()), POINTS, batch_size=200)
    assert np.isfinite(stop.value.partial.values).any()


def test_a_budget_is_resumed_where_it_stopped():
    model = lambda x: np.tanh(3 * x).sum(axis=1)  # noqa: E731
    with pytest.raises(MeasurementStopped) as stop:
        ah.gamma(Fragile(20, RuntimeError("gone")), POINTS, batch_size=200, budget=6000, radius=1.0)
    resumed = ah.gamma(
        model, POINTS, batch_size=200, budget=6000, radius=1.0, resume=stop.value.partial
    )
    assert resumed.complete
    assert stop.value.partial.queries < resumed.queries <= 6000


def test_resuming_another_measurement_is_refused():
    scores = ah.gamma(total, POINTS, radius=0.5)
    with pytest.raises(SettingsError, match="another radius"):
        ah.gamma(total, POINTS, radius=0.6, resume=scores)
    with pytest.raises(SettingsError, match="another points"):
        ah.gamma(total, POINTS[:5], radius=0.5, resume=scores)
    with pytest.raises(SettingsError, match="another ball"):
        ah.gamma(total, POINTS, radius=0.5, ball="simplex", resume=scores)


def test_every_error_is_ours_and_says_what_to_do():
    for name in ah.errors.__all__:
        assert issubclass(getattr(ah.errors, name), ah.AnharmonicError)


def test_errors_travel_between_processes():
    for error in (ah.errors.MissingExtra("torch", "torch"), OutputError("bad rows")):
        back = pickle.loads(pickle.dumps(error))
        assert str(back) == str(error)
        assert type(back) is type(error)
