"""N-step chances that are known exactly, and whether predicted ones come true."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import binom, norm
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import anharmonic as ah
from anharmonic import stability
from anharmonic.errors import PointsError, SettingsError

WEIGHTS = np.array([0.8, -0.5, 0.3, 1.1])


def slope(x):
    """The margin is 2·WEIGHTS·x."""
    score = np.asarray(x) @ WEIGHTS
    return np.stack([score, -score], axis=1)


def bumps(x):
    x = np.asarray(x)
    return np.stack([np.sin(2 * x[:, 0]), np.cos(x[:, 1]), np.tanh(x).sum(axis=1)], axis=1)


POINTS = np.random.default_rng(0).normal(size=(40, 4))


@pytest.mark.parametrize("ball", ["cross", "antisimplex"])
@pytest.mark.parametrize("steps", [1, 25])
def test_a_flat_boundary_under_isotropic_steps(ball, steps):
    """A step changes the margin by 2r·w·u, of mean 0 and variance 4r²|w|²/n."""
    radius = 0.3
    found = ah.nstep_robustness(
        slope, POINTS, kind="drift", steps=steps, radius=radius, scale=None, ball=ball
    )
    margin = 2 * np.abs(POINTS @ WEIGHTS)
    z = -margin / (np.sqrt(steps) * 2 * radius * np.linalg.norm(WEIGHTS) / 2)
    np.testing.assert_allclose(found.signed, z, rtol=1e-9)
    np.testing.assert_allclose(found.values, norm.cdf(z), rtol=1e-9)
    # The ball is whole: no direction was left to chance, and the extrapolation's error is unknown.
    assert np.isnan(found.errors).all()
    np.testing.assert_allclose(found.outputs, margin)
    assert found.metric == "flip chance"
    assert found.queries == 40 * ((8 if ball == "cross" else 10) + 1)


def test_on_the_boundary_the_chance_is_one_half():
    for ball in ("cross", "random pairs"):
        found = ah.nstep_robustness(
            slope, np.zeros((3, 4)), kind="drift", radius=0.2, scale=None, ball=ball
        )
        np.testing.assert_allclose(found.values, 0.5, atol=1e-12)


def test_a_model_that_does_not_change_never_flips():
    def flat(x):
        return np.tile([2.0, 1.0], (len(x), 1))

    for event in ("end", "ever"):
        for ball in ("cross", "random"):
            found = ah.nstep_robustness(
                flat, POINTS, kind="drift", radius=0.2, scale=None, ball=ball, event=event
            )
            np.testing.assert_array_equal(found.values, 0)
            np.testing.assert_array_equal(np.nan_to_num(found.errors), 0)
    tie, z = stability.flip_chance(np.zeros(1), np.zeros(1), np.zeros(1), 9, "end")
    assert tie.tolist() == [0.5]
    assert z.tolist() == [0.0]
    walks = ah.nstep_robustness(flat, POINTS, radius=0.2, scale=None)
    assert walks.values.max() == walks.errors.max() == 0
    sure, _ = stability.flip_chance(np.ones(1), -np.ones(1), np.zeros(1), 9, "end")
    assert sure.tolist() == [1.0]


def test_ever_is_brownian_first_passage():
    """Without drift twice the chance at the end; with drift, as many fine steps show.

    The line is 0.583 of a step's spread further out, as walks in steps overshoot it.
    """
    margin, spread = np.array([1.0, 3.0]), np.array([0.5, 0.5])
    still = np.zeros(2)
    end, _ = stability.flip_chance(margin + 0.5826 * spread, still, spread, 16, "end")
    ever, _ = stability.flip_chance(margin, still, spread, 16, "ever")
    np.testing.assert_allclose(ever, 2 * end)
    random = np.random.default_rng(0)
    fine = 400
    walks = np.cumsum(random.normal(-0.02, 0.5 / 5, size=(4000, fine)), axis=1) + 2
    exact, _ = stability.flip_chance(
        np.array([2.0]), np.array([-0.02]), np.array([0.1]), fine, "ever"
    )
    assert exact[0] == pytest.approx((walks.min(axis=1) < 0).mean(), abs=0.03)
    extreme, _ = stability.flip_chance(
        np.array([1.0]), np.array([1.0]), np.array([1e-3]), 25, "ever"
    )
    assert extreme.tolist() == [0.0]


def test_the_error_covers_what_other_directions_say():
    points = POINTS[:30] * 0.4
    common = {"radius": 0.3, "scale": None, "ball": "random", "directions": 24, "steps": 9}
    repeats = np.stack(
        [ah.nstep_robustness(bumps, points, seed=seed, **common).values for seed in range(40)]
    )
    told = np.stack(
        [ah.nstep_robustness(bumps, points, seed=seed, **common).errors for seed in range(40)]
    )
    ratio = np.sqrt((told**2).mean(axis=0).mean() / repeats.var(axis=0, ddof=1).mean())
    assert 0.8 < ratio < 1.3


@pytest.mark.parametrize("ball", ["auto", "dense", "random pairs"])
def test_batches_change_nothing(ball):
    common = {"radius": 0.2, "scale": None, "ball": ball, "directions": 6}
    for kind in ("drift", "walks", "sway", "paper"):
        one = ah.nstep_robustness(bumps, POINTS, kind=kind, **common)
        other = ah.nstep_robustness(bumps, POINTS, kind=kind, batch_size=3, **common)
        np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
        np.testing.assert_allclose(one.errors, other.errors, rtol=1e-9)


def test_torch_says_the_same_as_numpy():
    def model(x):
        return torch.stack([torch.sin(2 * x[:, 0]), torch.cos(x[:, 1]), torch.tanh(x).sum(1)], 1)

    common = {"radius": 0.2, "scale": None, "ball": "dense"}
    one = ah.nstep_robustness(bumps, POINTS, **common)
    other = ah.nstep_robustness(model, torch.tensor(POINTS), **common)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-6)
    table = stability.class_table(model, torch.tensor(POINTS), **common)
    assert sum(row.points for row in table.rows) == 40


def test_walks_on_a_flat_boundary():
    """The change over N steps has mean 0 and variance N·4r²|w|²/n, however it is asked for."""
    common = {"steps": 9, "radius": 0.3, "scale": None, "directions": 2000, "ball": "random"}
    margin = 2 * np.abs(POINTS[:8] @ WEIGHTS)
    spread = 3 * 2 * 0.3 * np.linalg.norm(WEIGHTS) / 2
    sway = ah.nstep_robustness(slope, POINTS[:8], kind="sway", **common)
    assert sway.metric == "sway"
    assert sway.queries == 8 * 2001
    np.testing.assert_array_less(np.abs(sway.values - spread / margin), 5 * sway.errors)
    np.testing.assert_allclose(sway.values * margin, spread, rtol=0.08)
    np.testing.assert_array_less(np.abs(sway.signed * margin), 5 * spread / np.sqrt(2000))
    walks = ah.nstep_robustness(slope, POINTS[:8], kind="walks", **common)
    np.testing.assert_array_less(
        np.abs(walks.values - norm.cdf(-margin / spread)), 5 * walks.errors + 1e-6
    )
    drift = ah.nstep_robustness(slope, POINTS[:8], kind="drift", **common | {"ball": "cross"})
    np.testing.assert_allclose(walks.values, drift.values, atol=0.04)


def test_sway_squared_bounds_the_share_of_walks_that_flip():
    common = {"steps": 4, "radius": 0.1, "scale": None, "ball": "random"}
    sway = ah.nstep_robustness(bumps, POINTS, kind="sway", directions=400, **common)
    seen = stability.observed_flips(bumps, POINTS, walks=100, **common | {"seed": 5})
    slack = 5 * 2 * sway.values * sway.errors + 5 * 0.05
    assert (seen.rates <= sway.values**2 + slack).all()
    assert ((sway.values < 0.5) & (seen.rates == 0)).any()
    assert (seen.rates > 0.05).any()


def test_sway_is_no_chance():
    sway = ah.nstep_robustness(slope, POINTS, kind="sway", radius=0.1, scale=None)
    with pytest.raises(SettingsError, match="kind='walks'"):
        stability.calibration(sway, np.zeros(len(POINTS)))


def test_sway_where_there_is_nothing_to_divide_by():
    def flat(x):
        return np.zeros((len(x), 2)) + (np.asarray(x)[:, :1] > 0) * np.array([[1.0, 0.0]])

    at = np.array([[5.0, 0.0], [-5.0, 0.0]])
    found = ah.nstep_robustness(flat, at, kind="sway", radius=0.1, scale=None)
    assert found.values.tolist() == [0.0, 0.0]
    near = np.array([[-0.01, 0.0]])
    found = ah.nstep_robustness(flat, near, kind="sway", radius=0.5, scale=None)
    assert found.values.tolist() == [np.inf]


def test_the_papers_metric():
    """Of logits (x₀², 0) gamma is r²/n with the cross ball and P the softmax."""

    def model(x):
        return np.stack([x[:, 0] ** 2 + 1, x[:, 0] * 0], axis=1)

    found = ah.nstep_robustness(model, POINTS, kind="paper", steps=10, radius=0.3, scale=None)
    sure = 1 / (1 + np.exp(-(POINTS[:, 0] ** 2) - 1))
    np.testing.assert_allclose(found.outputs, sure)
    np.testing.assert_allclose(found.signed, -(0.3**2) / 4)
    np.testing.assert_allclose(found.values, sure * math.exp(-10 * 0.09 / 4))
    assert found.metric == "paper stability"


@pytest.mark.parametrize(("kind", "directions"), [("drift", 20), ("walks", 200)])
def test_predicted_chances_come_true_on_a_flat_boundary(kind, directions):
    random = np.random.default_rng(3)
    points = random.normal(size=(400, 4))
    common = {"radius": 0.25, "scale": None, "steps": 30}
    chances = ah.nstep_robustness(slope, points, kind=kind, directions=directions, **common)
    seen = stability.observed_flips(slope, points, walks=5, **common)
    assert seen.flips.shape == (400, 5)
    assert seen.queries == 400 * 5 * 31
    found = stability.calibration(chances, seen, bins=5)
    # Points of one bin share its interval; one of five may miss by chance, none by much.
    missed = (found.predicted < found.low) | (found.predicted > found.high)
    assert missed.sum() <= 1
    np.testing.assert_allclose(found.predicted, found.observed, atol=0.05)
    # A calibrated chance scores the mean of p(1−p).
    expected = (chances.values * (1 - chances.values)).mean()
    assert found.brier.value == pytest.approx(expected, abs=4 * found.brier.error)
    assert found.brier.value < found.constant
    assert len(found.to_frame("pandas")) == len(found.counts)
    assert "Brier" in repr(found)
    assert "Brier" in found._repr_html_()


def test_ever_comes_before_the_end():
    points = np.random.default_rng(3).normal(size=(200, 4))
    common = {"radius": 0.25, "scale": None, "steps": 30}
    end = stability.observed_flips(slope, points, event="end", **common)
    ever = stability.observed_flips(slope, points, event="ever", **common)
    assert (ever.flips >= end.flips).all()
    chances = ah.nstep_robustness(slope, points, kind="drift", event="ever", **common)
    assert chances.values.mean() == pytest.approx(ever.rates.mean(), abs=0.1)
    assert ever.queries < end.queries
    with pytest.raises(SettingsError, match="give both the same"):
        stability.calibration(chances, end)
    walked = ah.adversarial_search(slope, points, climb="random", **common)
    assert stability.calibration(chances, walked).counts.sum() == 200


def test_a_calibrated_predictor_is_found_to_be():
    random = np.random.default_rng(1)
    chance = random.uniform(size=20_000)
    flips = random.uniform(size=20_000) < chance
    empty = np.zeros(20_000)
    scores = ah.Scores(
        "flip chance", chance, empty, chance**2, chance, chance, np.ones(20_000, dtype=int), 1
    )
    found = stability.calibration(scores, flips)
    np.testing.assert_allclose(found.predicted, found.observed, atol=0.03)
    # The Brier score of a calibrated chance is the mean of p(1−p), 1/6 for uniform ones.
    assert found.brier.value == pytest.approx(1 / 6, abs=4 * found.brier.error)
    assert found.counts.sum() == 20_000
    assert found.low[0] == pytest.approx(
        binom.ppf(0.025, found.counts[0], found.observed[0]) / found.counts[0], abs=0.005
    )
    with pytest.raises(SettingsError, match="same points"):
        stability.calibration(scores, flips[:-1])


def test_a_table_a_class_by_hand():
    """Logits are (2, 0, 1) + a bend on the first; two points."""

    def model(x):
        bend = x[:, 0] ** 2
        return np.stack([bend + 2, bend * 0, bend * 0 + 1], axis=1)

    points = np.array([[0.0, 0.0], [1.0, 0.0]])
    common = {"radius": 0.4, "scale": None}
    search = ah.adversarial_search(model, points, output="logit", steps=3, **common)
    found = stability.class_table(model, points, labels=[0, 2], search=search, steps=5, **common)
    first, second = found.rows
    assert (first.name, second.name) == ("0", "2")
    assert first.logit.value == 2
    assert second.logit.value == 3
    assert first.mean_logit.value == pytest.approx(1.0)
    assert first.probability.value == pytest.approx(math.e**2 / (math.e**2 + 1 + math.e))
    approximate = math.e**2 / (math.e**2 + 2 * math.e)
    assert first.approximate.value == pytest.approx(approximate)
    assert first.gamma.value == pytest.approx(0.4**2 / 2)
    assert first.metric.value == pytest.approx(approximate * math.exp(-5 * 0.08))
    assert first.accuracy.value == 1
    assert second.accuracy.value == 0
    assert first.stability.value == 1
    assert found.queries == 2 * 5
    assert "metric" in repr(found)
    assert "<td>" in found._repr_html_()
    assert found.to_frame("pandas")["accuracy"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("logit", "mean", "published"),
    [(-0.12, -9.35, 0.911), (0.96, -9.55, 0.973), (8.91, -6.9e-5, 0.881), (11.07, 1.2e-4, 0.985)],
)
def test_the_supplements_probabilities_are_those_of_average_logits(logit, mean, published):
    found = stability.softmax_of_means(logit, mean, 1000)
    assert found == pytest.approx(published, abs=2e-3)


def test_a_real_classifier_with_names():
    data = load_iris(as_frame=True)
    model = LogisticRegression(max_iter=500).fit(data.data, data.target_names[data.target])
    truth = data.target_names[data.target]
    found = stability.class_table(model, data.data, labels=truth, steps=10, directions=6)
    assert [row.name for row in found.rows] == list(data.target_names)
    assert all(row.accuracy.value > 0.9 for row in found.rows)
    by_prediction = stability.class_table(model, data.data, directions=6)
    assert by_prediction.rows[0].accuracy is None
    with pytest.raises(PointsError, match="no class rose"):
        stability.class_table(model, data.data, labels=["rose"] * 150, directions=6)
    with pytest.raises(PointsError, match="one each"):
        stability.class_table(model, data.data, labels=truth[1:], directions=6)
    other = ah.adversarial_search(model, data.data[:9], steps=1, directions=6)
    with pytest.raises(SettingsError, match="other points"):
        stability.class_table(model, data.data, search=other, directions=6)


def test_a_map_says_where_new_points_lie(tmp_path):
    random = np.random.default_rng(0)
    gammas = np.abs(random.normal(0.03, 0.01, size=500))
    sure = random.uniform(0.5, 1, size=500)
    turns = np.full(500, 4)
    scores = ah.Scores("gamma", gammas, gammas, gammas, gammas, gammas, turns, 5)
    unstable = sure * np.exp(-25 * gammas) < 0.36
    found = ah.GammaMap.of(scores, sure, unstable)
    assert found.threshold == pytest.approx(0.36, abs=0.005)
    inside = found.place(sure, gammas).inside
    np.testing.assert_array_equal(inside, ~unstable)
    assert "unstable 0.0% inside and 100.0% outside" in repr(found)
    again = ah.GammaMap.load(found.save(tmp_path / "map.parquet"))
    np.testing.assert_array_equal(again.unstable, found.unstable)
    near, far = again.place([0.75, 0.75], [0.03, 0.5]).percentile
    assert near > 0.7
    assert far == 0
    # On the contour the metric is the threshold.
    edge = found.contour(np.array([0.9]))
    assert found.place([0.9], edge).metric[0] == pytest.approx(found.threshold)
    spread = found.place(sure, gammas).percentile
    np.testing.assert_allclose(np.sort(spread), np.arange(500) / 500, atol=1e-9)


def test_maps_refuse_what_does_not_fit():
    values = np.array([0.1, 0.2])
    scores = ah.Scores("gamma", values, values, values, values, values, np.ones(2, dtype=int), 5)
    with pytest.raises(PointsError, match="one each"):
        ah.GammaMap.of(scores, [0.5])
    with pytest.raises(SettingsError, match="not logits"):
        ah.GammaMap.of(scores, [0.5, 3.0])
    assert ah.GammaMap.of(scores, [0.5, 0.9]).threshold == 0.5
    assert ah.GammaMap.of(scores, [0.5, 0.9], [True, True]).threshold == 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"steps": 0}, "at least 1"),
        ({"kind": "best"}, "walks, sway, drift, paper"),
        ({"kind": "sway", "event": "ever"}, "at their ends alone"),
        ({"kind": "walks", "directions": 2}, "too little"),
        ({"ball": "random", "directions": 2}, "too little"),
    ],
)
def test_what_is_refused_kindly(arguments, words):
    with pytest.raises(SettingsError, match=words):
        ah.nstep_robustness(bumps, POINTS, **{"radius": 0.1} | arguments)
