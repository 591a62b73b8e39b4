"""Arguments that cannot be meant are refused in words, before the model is asked."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.errors import NoisyModel, PointsError, SettingsError
from tests.gamma.spheres import Recorded

POINTS = np.random.default_rng(0).normal(size=(12, 3))


def bowl(x):
    return (x**2).sum(axis=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rotations": -1}, "rotations counts independent copies of the ball, got -1"),
        ({"directions": 0}, "directions must be at least 1, got 0"),
        ({"budget": 0}, "budget must be at least 1, got 0"),
        ({"tolerance": 0.0}, "tolerance must be positive, got 0.0"),
        ({"tolerance": float("nan")}, "tolerance must be positive, got nan"),
        ({"budget": 9999, "rotations": 1}, "budget and tolerance need errors: ask for at least 2"),
        ({"tolerance": 0.1, "rotations": 0}, "budget and tolerance need errors: ask for at least"),
        ({"noise": "maybe"}, "noise is 'include', 'refuse' or 'ignore', not 'maybe'"),
        ({"budget": 200}, "a budget of 200 queries cannot measure 12 points"),
        ({"ball": "circle"}, "circle"),
        ({"ball": ah.balls.simplex(4)}, "the ball has 4 dimensions and 3 columns move"),
    ],
)
def test_the_message_says_what_was_wrong(arguments, message):
    model = Recorded(bowl)
    with pytest.raises(SettingsError, match=re.escape(message)):
        ah.gamma(model, POINTS, **arguments)
    assert model.rows <= 2 * 12 + 8 * 8, "at most the pilot"


@pytest.mark.parametrize(
    "arguments",
    [
        {"rotations": 0},
        {"rotations": 1},
        {"rotations": 2, "budget": 1000},
        {"rotations": 2, "tolerance": 0.1},
        {"directions": 1, "ball": "random"},
        {"noise": "refuse"},
    ],
)
def test_the_least_that_can_be_meant_is_taken(arguments):
    assert ah.gamma(bowl, POINTS, radius=0.5, **arguments).complete


def test_a_noisy_model_is_refused_by_how_much_it_differs():
    level = iter(range(99))

    def drifting(x):
        return np.full(len(x), 0.2 * next(level))

    with pytest.raises(NoisyModel, match=r"differ by 0\.141 ") as refusal:
        ah.gamma(drifting, POINTS, noise="refuse")
    assert "noise='include'" in str(refusal.value)


def test_other_rows_in_place_of_a_ball_leave_no_room_for_turns():
    for name, value in {
        "rotations": 3,
        "directions": 4,
        "budget": 5000,
        "tolerance": 0.1,
        "resume": "scores.parquet",
        "checkpoint": "scores.parquet",
    }.items():
        with pytest.raises(SettingsError, match=f"{name}.*other rows take the place"):
            ah.gamma(bowl, POINTS, ball="data", **{name: value})
    assert ah.gamma(bowl, POINTS, ball="data", rotations=4).complete


def test_an_earlier_run_must_have_been_of_the_same():
    arguments = {"radius": 0.5, "scale": None}
    scores = ah.gamma(bowl, POINTS, **arguments)
    for more, named in [
        ({"radius": 0.6}, "another radius:"),
        ({"seed": 3}, "another seed:"),
        ({"ball": "simplex", "rotations": 3}, "another ball, directions, rotations:"),
        ({"reduction": "angle"}, "another reduction:"),
        ({"bounds": (-9, 9)}, "another bounds:"),
    ]:
        with pytest.raises(SettingsError, match=f"resume= was measured with {named} call with"):
            ah.gamma(bowl, POINTS, resume=scores, **{**arguments, **more})
    with pytest.raises(SettingsError, match="another set of points:"):
        ah.gamma(bowl, POINTS + 1, resume=scores, **arguments)
    with pytest.raises(SettingsError, match="another points:"):
        ah.gamma(bowl, POINTS[:5], resume=scores, **arguments)
    unmarked = replace(scores, settings=scores.settings.with_facts(fingerprint=None))
    assert ah.gamma(bowl, POINTS + 1, resume=unmarked, **arguments).complete


def test_a_point_in_a_corner_of_the_bounds_has_no_pair_and_is_named():
    corners = np.array([[0.5, 0.5], [0.0, 1.0], [0.0, 0.5], [1.0, 1.0]])
    arguments = {"radius": 0.1, "scale": None, "bounds": (0, 1)}
    with pytest.raises(PointsError, match=r'rows 1, 3 lie on the bounds.*ball="simplex"'):
        ah.gamma(bowl, corners, **arguments)
    assert ah.gamma(bowl, corners[[0, 2]], **arguments).complete
    assert ah.gamma(bowl, corners, ball="simplex", **arguments).complete


def test_within_bounds_pairs_are_taken_whatever_the_model():
    def kinks(x):
        nearest = POINTS[np.argmin(np.linalg.norm(x[:, None] - POINTS, axis=2), axis=1)]
        return np.abs(x - nearest).max(axis=1)

    assert not ah.gamma(kinks, POINTS, radius=0.1, scale=None).settings.paired
    within = ah.gamma(kinks, POINTS, radius=0.1, scale=None, bounds=(-9, 9))
    assert within.settings.paired
    assert within.settings.even_power == 0
    assert within.queries == 2 * 12 + 12 * (4 * 8 + 1)
