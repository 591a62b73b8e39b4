"""Smoothed models: exact answers, equal rows alike, any batch, and usable wherever a model is."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import anharmonic as ah
from anharmonic.errors import PointsError, SettingsError

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(300, 3))


def table(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with a category, a whole number and gaps, and labels that hang on all of them."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "height": random.normal(size=rows),
            "visits": random.poisson(3, rows),
            "colour": random.choice(["red", "green", "blue"], rows),
        }
    )
    labels = ((frame["height"] + (frame["colour"] == "red") + frame["visits"] / 4) > 1).to_numpy()
    frame.loc[::9, "colour"] = None
    return frame, np.where(labels, "yes", "no")


def pipeline() -> object:
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"
    )
    return make_pipeline(encoder, DecisionTreeClassifier(random_state=0))


@pytest.fixture(scope="module")
def fitted() -> tuple[object, pd.DataFrame, np.ndarray]:
    frame, labels = table(120)
    return pipeline().fit(frame, labels), frame, labels


def test_a_straight_line_stays_as_it_is():
    line = POINTS @ [1.0, -2.0, 3.0]
    model = ah.smoothed(lambda x: x @ [1.0, -2.0, 3.0], reference=POINTS)
    assert model(POINTS)[:, 0] == pytest.approx(line, abs=1e-12)


def test_a_bowl_is_lifted_by_the_square_of_the_radius():
    model = ah.smoothed(lambda x: (x**2).sum(axis=1), reference=POINTS, radius=0.3, scale=None)
    assert model(POINTS)[:, 0] == pytest.approx((POINTS**2).sum(axis=1) + 0.09, abs=1e-12)


def test_gaussian_noise_lifts_a_bowl_by_its_variance():
    bowl = ah.smoothed(
        lambda x: (x**2).sum(axis=1), reference=POINTS, sigma=0.5, scale=None, queries=40_000
    )
    # 3 columns of variance 0.25, and the error of 40,000 draws: sd of the sum is about 0.0065.
    assert bowl(np.zeros((1, 3)))[0, 0] == pytest.approx(0.75, abs=0.03)


def test_a_step_becomes_the_share_of_the_sphere_beyond_it():
    step = ah.smoothed(
        lambda x: (x[:, 0] > 0) * 1.0, reference=POINTS, radius=1.0, scale=None, queries=20_000
    )
    # On a sphere in three dimensions a coordinate is uniform (Archimedes): P(u > -h) = (1 + h)/2.
    at = np.array([[-0.5, 0, 0], [0.0, 0, 0], [0.25, 0, 0]])
    assert step(at)[:, 0] == pytest.approx([0.25, 0.5, 0.625], abs=0.015)


@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_equal_rows_get_equal_answers_in_any_order_and_batch(fitted, combine):
    model, frame, _ = fitted
    made = ah.smoothed(model, reference=frame, combine=combine, queries=8)
    whole = made.predict_proba(frame)
    order = np.random.default_rng(3).permutation(len(frame))
    assert np.array_equal(made.predict_proba(frame.iloc[order]), whole[order])
    assert np.array_equal(made.predict_proba(frame.iloc[[5]]), whole[[5]])
    small = ah.smoothed(model, reference=frame, combine=combine, queries=8, batch_size=70)
    assert small.predict_proba(frame) == pytest.approx(whole, abs=1e-13)
    other = ah.smoothed(model, reference=frame, combine=combine, queries=8, seed=1)
    assert not np.array_equal(other.predict_proba(frame), whole)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), rows=st.integers(1, 40), batch=st.integers(1, 50))
def test_any_seed_and_batch_gives_the_same_numbers_again(seed, rows, batch):
    points = POINTS[:rows]
    model = ah.smoothed(np.sin, reference=POINTS, queries=6, seed=seed)
    again = ah.smoothed(np.sin, reference=POINTS, queries=6, seed=seed, batch_size=batch)
    assert again(points) == pytest.approx(model(points), abs=1e-13)


def test_rows_have_neighbours_of_their_own_that_their_content_decides():
    asked = []

    def remember(points):
        asked.append(np.array(points))
        return points[:, 0]

    made = ah.smoothed(remember, reference=POINTS, queries=4, radius=1.0, scale=None)
    rows = POINTS[[0, 1, 0]]
    made(rows)
    steps = np.concatenate(asked).reshape(3, 4, 3) - rows[:, None, :]
    assert np.linalg.norm(steps, axis=-1) == pytest.approx(np.ones((3, 4)))
    assert np.array_equal(steps[0], steps[2])
    assert np.abs(steps[0] - steps[1]).max() > 0.1
    assert steps[:, :2] == pytest.approx(-steps[:, 2:], abs=1e-12)


def test_a_table_as_it_is_with_levels_that_the_reference_lacks(fitted):
    model, frame, labels = fitted
    made = ah.smoothed(model, reference=frame, queries=16)
    assert made.queries == 16
    assert set(made.predict(frame)) <= {"yes", "no"}
    assert made.predict_proba(frame).sum(axis=1) == pytest.approx(1.0)
    assert (made.predict(frame) == labels).mean() > 0.7
    new = pd.DataFrame({"height": [0.1], "visits": [2], "colour": ["violet"]})
    assert made.predict(new)[0] in {"yes", "no"}


def test_it_is_a_model_for_every_measure(fitted):
    model, frame, _ = fitted
    made = ah.smoothed(model, reference=frame, combine="vote", radius=0.5)
    rows = frame.head(60)
    rough, smooth = (
        ah.gamma(each, rows, reference=frame, radius=0.5, noise="ignore", ball="auto pairs")
        for each in (model, made)
    )
    assert smooth.mean < 0.6 * rough.mean
    assert ah.as_model(made, output="onehot")(rows).shape == (60, 2)
    assert len(ah.gamma(made, rows, ball="data", reference=frame)) == 60
    assert ah.suspects(made, rows).columns["answer"][0] in {"yes", "no"}
    assert pickle.loads(pickle.dumps(made)).predict(rows).tolist() == made.predict(rows).tolist()


def test_its_classes_are_where_scikit_learn_has_them():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    named = LogisticRegression().fit(rows, np.where(rows[:, 0] > 0, "yes", "no"))
    steady = ah.smoothed(named, reference=rows)
    assert steady.classes_.tolist() == ["no", "yes"]
    largest = steady.classes_[steady.predict_proba(rows).argmax(axis=1)]
    assert (largest == steady.predict(rows)).all()
    assert not hasattr(ah.smoothed(lambda x: x[:, 0], reference=rows), "classes_")


def test_regressions_have_means_and_no_probabilities():
    tree = DecisionTreeRegressor(random_state=0).fit(POINTS, POINTS[:, 0])
    made = ah.smoothed(tree, reference=POINTS)
    assert made.kind == "value"
    assert made.predict(POINTS).shape == (300,)
    assert not hasattr(made, "predict_proba")


def test_logits_of_one_column_decide_by_their_sign():
    points, labels = make_moons(100, random_state=0)
    base = LogisticRegression().fit(points, labels)
    made = ah.smoothed(base, reference=points, output="logit")
    assert made.kind == "logit"
    assert (made.predict(points) == base.predict(points)).mean() > 0.95


def test_torch_and_images():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3))
    images = RANDOM.normal(size=(12, 1, 4, 4)).astype(np.float32)
    made = ah.smoothed(network, reference=images, output="probability", sigma=0.1, queries=10)
    assert made.predict_proba(images).shape == (12, 3)
    certified = made.certify(images, samples=50, guess=10)
    assert len(certified.to_frame()) == 12
    assert certified.queries == 12 * 60


def test_what_cannot_be_smoothed_is_refused_in_words(fitted):
    model, frame, _ = fitted
    with pytest.raises(SettingsError, match="reference="):
        ah.smoothed(model)
    with pytest.raises(SettingsError, match="at least 2"):
        ah.smoothed(model, reference=frame, queries=1)
    with pytest.raises(SettingsError, match="no mean"):
        ah.smoothed(model, reference=frame, output="label")
    with pytest.raises(PointsError, match="rows of numbers"):
        ah.smoothed(model, reference=frame, sigma=0.5)
    with pytest.raises(SettingsError, match="sigma"):
        ah.smoothed(np.sin, reference=POINTS, sigma=0.5, radius=1.0)
    with pytest.raises(SettingsError, match="sigma="):
        ah.smoothed(np.sin, reference=POINTS).certify(POINTS)
    with pytest.raises(TypeError, match="unexpected keyword"):
        ah.smoothed(np.sin, reference=POINTS, radios=1.0)


def test_its_price_is_what_it_says():
    asked = []

    def counting(points):
        asked.append(len(points))
        return points[:, 0]

    made = ah.smoothed(counting, reference=POINTS, queries=12)
    asked.clear()
    made(POINTS[:10])
    assert sum(asked) == 10 * made.queries


def test_it_steadies_a_forest_that_memorises():
    points, labels = make_moons(400, noise=0.35, random_state=0)
    forest = RandomForestClassifier(20, random_state=0).fit(points[:200], labels[:200])
    made = ah.smoothed(forest, reference=points[:200], radius=0.3)
    rough, smooth = (
        ah.gamma(model, points[200:260], reference=points[:200], radius=0.3)
        for model in (forest, made)
    )
    assert smooth.mean < 0.7 * rough.mean
