"""Contributions: exact answers, and that they add up to gamma."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures.explain import worst_contributions
from tests.oracles import linear, squares

POINTS = np.random.default_rng(0).normal(size=(30, 4))


def crossed(model, points, **arguments):
    """Gamma with the ball the contributions belong to."""
    return ah.gamma(model, points, ball="cross", rotations=0, noise="ignore", **arguments)


def test_a_line_bends_along_nothing():
    found = ah.contributions(linear, POINTS, radius=0.3)
    np.testing.assert_allclose(found.values, 0, atol=1e-14)


def test_a_bowl_bends_alike_along_all():
    found = ah.contributions(squares, POINTS, radius=0.2, scale=None)
    np.testing.assert_allclose(found.values, -(0.2**2) / 4, atol=1e-13)
    assert found.queries == 30 * 9
    np.testing.assert_array_equal(found.rows, np.arange(30))


def test_each_feature_gets_its_own_bend():
    """Of sin(a·x₀) + x₁²: sin(a·x₀)·(1 − cos(a·r)) and −r², both divided by n."""
    a, r = 2.0, 0.3
    found = ah.contributions(
        lambda x: np.sin(a * x[:, 0]) + x[:, 1] ** 2, POINTS, radius=r, scale=None
    )
    wave = np.sin(a * POINTS[:, 0]) * (1 - np.cos(a * r))
    exact = np.stack([wave, np.full(30, -(r**2)), np.zeros(30), np.zeros(30)], axis=1) / 4
    np.testing.assert_allclose(found.values, exact, atol=1e-14)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    dimension=st.integers(1, 7),
    columns=st.integers(1, 4),
    radius=st.floats(0.05, 2),
    batch=st.sampled_from([None, 3, 17]),
)
def test_they_add_up_to_gamma(seed, dimension, columns, radius, batch):
    random = np.random.default_rng(seed)
    points = random.normal(size=(9, dimension))
    inner, outer = random.normal(size=(dimension, 6)), random.normal(size=(6, columns))

    def model(x):
        return np.tanh(x @ inner) @ outer

    found = ah.contributions(model, points, radius=radius, batch_size=batch)
    scores = crossed(model, points, radius=radius)
    expected = scores.signed if columns == 1 else scores.values
    np.testing.assert_allclose(found.totals, expected.reshape(-1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", ["predicted", 1, -1])
def test_one_column_keeps_its_sign(reduction):
    def model(x):
        return np.stack([np.sin(x[:, 0]), x[:, 1] ** 2, np.cos(x).sum(axis=1)], axis=1)

    found = ah.contributions(model, POINTS, radius=0.4, reduction=reduction)
    scores = crossed(model, POINTS, radius=0.4, reduction=reduction)
    np.testing.assert_allclose(found.totals, scores.signed.reshape(-1), atol=1e-12)


def test_a_real_model_on_a_table_with_text():
    data = load_iris(as_frame=True)
    forest = RandomForestClassifier(20, random_state=0).fit(data.data, data.target)

    def model(table):
        return forest.predict_proba(table[data.feature_names])

    table = data.data.assign(place=pd.Series(["here"] * 150))
    worst = crossed(model, table).worst(4)
    found = ah.contributions(model, table, rows=worst)
    scores = crossed(model, table)
    assert found.names == tuple(data.feature_names)
    np.testing.assert_allclose(found.totals, scores.values[worst], atol=1e-12)
    np.testing.assert_array_equal(found.of(int(worst[2])), found.values[2])
    assert found.queries == 4 * 9


def test_the_worst_points_are_explained_with_the_settings_of_their_scores():
    table = pd.DataFrame(POINTS, columns=list("abcd")).assign(flat=1.0)

    def model(x):
        return np.stack([np.sin(x["a"]), x["b"] ** 2 + x["flat"]], axis=1)

    scores = crossed(model, table, radius=0.4, reduction=1, bounds=(-9, 9))
    found = worst_contributions(model, table, scores, 3)
    assert found.names == tuple("abcd")
    np.testing.assert_array_equal(found.rows, scores.worst(3))
    np.testing.assert_allclose(found.totals, scores.signed[found.rows].reshape(-1), atol=1e-12)


def test_bounds_hold_and_still_add_up():
    points = np.random.default_rng(1).uniform(size=(20, 3))

    def model(x):
        assert x.min() >= 0
        assert x.max() <= 1
        return np.exp(x).sum(axis=1)

    common = {"radius": 0.4, "scale": None, "bounds": (0, 1)}
    found = ah.contributions(model, points, **common)
    scores = crossed(model, points, **common)
    np.testing.assert_allclose(found.totals, scores.signed.reshape(-1), atol=1e-12)


def test_vectors_whose_bends_cancel_share_nothing():
    def model(x):
        bend = x[:, 0] ** 2 - x[:, 1] ** 2
        return np.stack([bend, 2 * bend], axis=1)

    found = ah.contributions(model, np.zeros((2, 2)), radius=0.5, scale=None)
    np.testing.assert_array_equal(found.values, 0)


def test_many_features_stay_in_small_pieces():
    widest = 0

    def model(x):
        nonlocal widest
        widest = max(widest, len(x))
        return x[:, 0] ** 2

    points = np.zeros((2, 5000))
    found = ah.contributions(model, points, radius=1.0, scale=None)
    assert found.values[:, 0] == pytest.approx([-1 / 5000] * 2)
    assert widest <= 2 * 5000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"limit": 100}, "270 queries and the limit is 100"),
        ({"reduction": "angle"}, "an angle"),
        ({"reduction": lambda deviations: deviations[:, 0]}, "a function"),
        ({"rows": []}, "at least one"),
        ({"rows": [30]}, "from 0 to 29"),
    ],
)
def test_what_is_refused_kindly(arguments, words):
    with pytest.raises(SettingsError, match=words):
        ah.contributions(squares, POINTS, **{"radius": 0.1} | arguments)


def test_a_row_that_was_not_asked_for():
    found = ah.contributions(squares, POINTS, radius=0.1, rows=[3, 5])
    with pytest.raises(SettingsError, match="3, 5"):
        found.of(4)
    assert "4 features at 2 points" in repr(found)
