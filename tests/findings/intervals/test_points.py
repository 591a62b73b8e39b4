"""A point's interval holds the truth on trees, kinks and smooth models, after few turns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import anharmonic as ah

CIRCLE = np.arange(4000) * np.pi / 2000
COMPASS = np.c_[np.cos(CIRCLE), np.sin(CIRCLE)]
WINE = load_wine()
DATA, LABELS = WINE.data[:, [6, 11]], WINE.target


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).uniform([0, 1], [5, 4], size=(200, 2))


def on_a_circle(answers, points, radius):
    """Gamma by 4,000 points of the circle: |f(x) − mean|, of vectors their length."""
    around = np.stack([answers(point + radius * COMPASS).mean(axis=0) for point in points])
    apart = answers(points) - around
    return np.linalg.norm(apart.reshape(len(points), -1), axis=1)


MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(10, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=30, random_state=0),
    "regressor": DecisionTreeRegressor(random_state=0),
}


@pytest.mark.finding("numbers A1")
@pytest.mark.parametrize("radius", [0.05, 0.3])
@pytest.mark.parametrize("name", MODELS)
def test_intervals_of_trees_cover_where_gamma_is_not_0(points, name, radius):
    model = MODELS[name].fit(DATA, LABELS if name != "regressor" else WINE.data[:, 12])
    answers = model.predict if name == "regressor" else model.predict_proba
    truth = on_a_circle(answers, points, radius)
    there = truth > 0
    rounding = 1e-3 * truth.max()  # of the 4,000 points themselves
    for turns in (4, 16):
        held = []
        for seed in range(3):
            scores = ah.gamma(
                model, points, radius=radius, scale=None, rotations=turns, seed=seed, noise="ignore"
            )
            low, high = scores.intervals()
            held.append((low <= truth + rounding) & (truth - rounding <= high))
            assert (high > low)[there].all(), "no interval is a point"
        # Student's interval alone holds 0.58 to 0.86 of them after four turns.
        assert np.mean([ends[there] for ends in held]) >= 0.93


@pytest.mark.finding("numbers A1")
@pytest.mark.parametrize("name", ["tree", "boosted"])
def test_a_tolerance_is_kept_on_trees(points, name):
    model = MODELS[name].fit(DATA, LABELS)
    truth = on_a_circle(model.predict_proba, points, 0.3)
    scores = ah.gamma(model, points, radius=0.3, scale=None, tolerance=0.05, noise="ignore")
    assert np.mean(np.abs(scores.values - truth) > 0.05 + 1e-3) <= 0.05
    settled = scores.turns < 256
    assert (scores.half_widths()[settled] <= 0.05).all()
    if name == "tree":
        assert (scores.turns > 4).all(), "four turns that agree prove nothing where steps are 1"


@pytest.mark.finding("numbers A1")
def test_a_budget_goes_to_trees_whose_turns_agree_too(points):
    model = MODELS["tree"].fit(DATA, LABELS)
    scores = ah.gamma(model, points, radius=0.3, scale=None, budget=40_000, noise="ignore")
    agree = scores.errors == 0
    assert agree.any()
    assert (scores.turns[agree] > 4).any()


@pytest.mark.finding("numbers A1")
def test_an_unseen_kink_is_allowed_for():
    random = np.random.default_rng(3)
    inner, shift = random.normal(size=(8, 32)), random.normal(size=32)
    outer = random.normal(size=32)

    def network(x):
        return np.maximum(x @ inner + shift, 0) @ outer

    points = random.normal(size=(150, 8))
    arguments = {"radius": 0.05, "scale": None, "noise": "ignore"}
    truth = ah.gamma(network, points, rotations=300, seed=99, **arguments).values
    held = []
    for seed in range(3):
        low, high = ah.gamma(network, points, seed=seed, **arguments).intervals()
        held.append((low <= truth) & (truth <= high))
    assert np.mean([ends[truth > 1e-9] for ends in held]) >= 0.93


@pytest.mark.finding("numbers A1")
def test_smooth_models_and_exact_ones_keep_narrow_intervals():
    points = np.random.default_rng(0).normal(size=(50, 5))
    bowl = ah.gamma(lambda x: (x**2).sum(axis=1), points, radius=0.1, scale=None)
    assert (bowl.half_widths() < 1e-12).all()
    slope = ah.gamma(lambda x: x @ np.arange(5.0), points, radius=0.1, scale=None)
    assert (slope.intervals()[1] < 1e-12).all()
    constant = ah.gamma(lambda x: np.ones(len(x)), points, radius=0.1, scale=None)
    assert (constant.intervals()[1] == 0).all()


@pytest.mark.finding("numbers A1")
def test_one_flat_point_of_a_classifier_is_not_sure_to_be_flat(points):
    model = MODELS["tree"].fit(DATA, LABELS)
    flat = ah.gamma(model, points, radius=0.05, scale=None).values == 0
    scores = ah.gamma(model, points[flat][:1], radius=0.05, scale=None)
    assert scores.values[0] == 0
    assert 0.05 < scores.intervals()[1][0] < 1


@pytest.mark.finding("numbers A1")
def test_files_keep_what_intervals_need_and_old_ones_open(tmp_path, points):
    model = MODELS["tree"].fit(DATA, LABELS)
    scores = ah.gamma(model, points, radius=0.3, scale=None)
    again = ah.Scores.load(scores.save(tmp_path / "scores.parquet"))
    assert np.array_equal(again.intervals(), scores.intervals())
    import pyarrow.parquet as pq

    table = scores.to_arrow().drop_columns(["largest", "flat", "same"])
    pq.write_table(table, tmp_path / "old.parquet")
    assert len(ah.Scores.load(tmp_path / "old.parquet").intervals()[0]) == len(points)


@pytest.mark.finding("numbers A15 floor")
@pytest.mark.parametrize("turns", [2, 3, 4, 8])
def test_the_floor_is_what_noise_alone_reads(turns):
    points = np.random.default_rng(0).normal(size=(4000, 10))
    scores = ah.gamma(
        lambda x: x.sum(axis=1), points, ball="random", radius=1.0, scale=None, rotations=turns
    )
    assert scores.floor == pytest.approx(scores.mean, rel=0.05)
