"""Errors that mean what they say, squares without bias, budgets and tolerances that are kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core.statistics import half_widths
from tests import oracles

REPETITIONS = 400


def covered(function, truth, dimension, radius, many):
    """How often the region's 95% interval holds the true mean, over fresh points and balls."""
    hits = 0
    for seed in range(REPETITIONS):
        points = np.random.default_rng((7, seed)).uniform(-1, 1, (many, dimension))
        scores = ah.gamma(function, points, radius=radius, scale=None, seed=seed, noise="ignore")
        low, high = scores.interval()
        hits += low <= truth <= high
    return hits / REPETITIONS


def test_intervals_cover_on_a_smooth_function():
    dimension, radius = 5, 0.5
    at_zero = oracles.exponential_deviation(np.zeros((1, dimension)), radius)[0]
    slope = 1 / math.sqrt(dimension)
    truth = abs(at_zero) * (math.sinh(slope) / slope) ** dimension
    assert 0.93 <= covered(oracles.exponential, truth, dimension, radius, 200) <= 0.97


def test_intervals_cover_on_a_step_function():
    dimension, radius = 5, 0.2
    truth = radius * oracles.mean_first_coordinate(dimension) / 2
    assert 0.93 <= covered(oracles.step, truth, dimension, radius, 500) <= 0.97


def ridges(dimension, count=8):
    directions = np.random.default_rng(7).normal(size=(count, dimension))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize(("dimension", "repetitions"), [(2, 400), (10, 800), (30, 400)])
def test_a_points_interval_covers_on_a_smooth_function(dimension, repetitions):
    directions = ridges(dimension)
    point = np.random.default_rng(1).normal(size=(1, dimension))
    origin = np.zeros((1, dimension))
    truth = np.exp(point @ directions.T).sum() * oracles.exponential_deviation(origin, 1.0)[0]
    hits = 0
    for seed in range(repetitions):
        scores = ah.gamma(
            lambda x: np.exp(x @ directions.T).sum(axis=-1),
            point,
            radius=1.0,
            scale=None,
            seed=seed,
            noise="ignore",
        )
        hits += abs(scores.signed[0] - truth) <= half_widths(scores.errors, scores.turns)[0]
    assert 0.92 <= hits / repetitions <= 0.97


def test_bending_along_one_direction_costs_some_coverage():
    """What docs/statistics.md warns of; far below 90% would mean the errors are wrong."""
    point = np.random.default_rng(1).normal(size=(1, 3))
    truth = oracles.exponential_deviation(point, 1.0)[0]
    hits = 0
    for seed in range(REPETITIONS):
        scores = ah.gamma(
            oracles.exponential, point, radius=1.0, scale=None, seed=seed, noise="ignore"
        )
        hits += abs(scores.signed[0] - truth) <= half_widths(scores.errors, scores.turns)[0]
    assert 0.87 <= hits / REPETITIONS <= 0.97


@pytest.mark.parametrize("dimension", [8, 30])
def test_rows_that_share_a_rotation_err_independently(dimension):
    random = np.random.default_rng(2)
    inner, outer = random.normal(size=(dimension, 32)), random.normal(size=32)
    points = random.normal(size=(200, dimension))
    signed = np.array(
        [
            ah.gamma(
                lambda x: np.tanh(x @ inner / math.sqrt(dimension)) @ outer,
                points,
                radius=1.0,
                scale=None,
                ball="auto pairs",
                directions=12,
                rotations=1,
                seed=seed,
                noise="ignore",
            ).signed
            for seed in range(300)
        ]
    )
    inflation = len(points) * signed.mean(axis=1).var() / signed.var(axis=0).mean()
    # 300 seeds know a variance to 8%; rows turned alike would make it 10 to 30.
    assert 0.7 < inflation < 1.35


@pytest.mark.parametrize("height", [0.05, 0.2, 0.4])
def test_a_labels_interval_is_never_too_narrow(height):
    dimension = 10
    model = ah.as_model(oracles.step, output="onehot", classes=[0, 1])
    point = np.zeros((1, dimension))
    point[0, 0] = -height
    truth = oracles.share_beyond(height, dimension)
    hits = 0
    for seed in range(REPETITIONS):
        scores = ah.gamma(model, point, radius=1.0, scale=None, seed=seed, noise="ignore")
        low, high = scores.intervals()
        hits += low[0] <= truth <= high[0]
    assert hits / REPETITIONS >= 0.93


def test_gamma_squared_has_no_bias_where_gamma_has():
    points = np.random.default_rng(0).normal(size=(2000, 10))
    scores = ah.gamma(oracles.linear, points, ball="random", radius=1.0, scale=None)
    assert scores.mean > 10 * scores.error, "the absolute value of noise is not 0"
    assert abs(scores.squared.mean()) < 3 * scores.squared.std() / math.sqrt(len(points))
    assert scores.mean == pytest.approx(scores.floor, rel=0.1)


def test_gamma_squared_of_a_vector_has_no_bias():
    points = np.random.default_rng(0).normal(size=(2000, 10))
    slopes = np.random.default_rng(1).normal(size=(10, 3))
    scores = ah.gamma(lambda x: x @ slopes, points, ball="random", radius=1.0, scale=None)
    assert scores.signed.shape == (2000, 3)
    assert abs(scores.squared.mean()) < 3 * scores.squared.std() / math.sqrt(len(points))


def bent(x):
    return np.where(x[:, 0] > 0, np.sin(4 * x).sum(axis=1), x.sum(axis=1))


@pytest.fixture
def points():
    return np.random.default_rng(3).normal(size=(300, 8))


def test_the_default_costs_at_most_64_queries_a_point():
    for dimension in (1, 2, 5, 6, 7, 30, 300):
        for many in (1, 3, 40):
            data = np.random.default_rng(0).normal(size=(many, dimension))
            scores = ah.gamma(lambda x: x.sum(axis=1), data, radius=0.1, scale=None)
            assert scores.queries <= 64 * many
            assert scores.settings.rotations == 4


def counting(function):
    calls = []

    def model(x):
        calls.append(len(x))
        return function(x)

    return model, calls


def test_queries_are_counted_exactly(points):
    for arguments in ({}, {"ball": "simplex"}, {"budget": 20_000}, {"noise": "ignore"}):
        model, calls = counting(bent)
        assert ah.gamma(model, points, **arguments).queries == sum(calls)


def test_a_budget_is_kept_and_spent_where_the_error_is(points):
    plain = ah.gamma(bent, points, radius=0.5)
    for budget in (20_000, 50_000):
        scores = ah.gamma(bent, points, radius=0.5, budget=budget)
        assert 0.6 * budget < scores.queries <= budget
        curved = points[:, 0] > 1
        straight = points[:, 0] < -1
        assert scores.turns[curved].mean() > 1.5 * scores.turns[straight].mean()
    assert scores.errors.max() < plain.errors.max()


def test_a_budget_that_is_too_small_is_refused(points):
    with pytest.raises(ah.errors.SettingsError, match="Raise it"):
        ah.gamma(bent, points, budget=100)


def test_a_tolerance_is_met_and_straight_points_stop_early(points):
    scores = ah.gamma(bent, points, radius=0.5, tolerance=0.05)
    narrow = scores.half_widths() <= 0.05
    assert (narrow | (scores.turns >= 256)).all()
    assert narrow.mean() > 0.75
    straight = points[:, 0] < -0.5
    assert (scores.turns[straight] == 8).all(), "a slope is settled at the second look"
    assert (scores.turns > 8).any()


def test_noise_is_found_and_counted_in_the_error(points):
    random = np.random.default_rng(0)

    def noisy(x):
        return x.sum(axis=1) + 0.1 * random.normal(size=len(x))

    scores = ah.gamma(noisy, points, radius=0.5, scale=None)
    assert scores.settings.noise == pytest.approx(0.1, rel=0.8)
    # The centre's own noise, 0.1/√4, dominates; errors that missed it would be near 0.014.
    assert np.sqrt(np.mean(scores.errors**2)) == pytest.approx(0.1 / 2, rel=0.1)
    assert np.std(scores.signed) == pytest.approx(0.1 / 2, rel=0.15)
    with pytest.raises(ah.errors.NoisyModel, match="include"):
        ah.gamma(noisy, points, radius=0.5, noise="refuse")


def test_auto_picks_pairs_for_slopes_and_singles_for_kinks(points):
    assert "pairs" in ah.gamma(lambda x: x.sum(axis=1), points, radius=0.1).settings.ball

    def bowls(x):
        nearest = points[np.argmin(np.linalg.norm(x[:, None] - points, axis=2), axis=1)]
        return np.abs(x - nearest).max(axis=1)

    even = ah.gamma(bowls, points, radius=0.1)
    assert even.settings.ball == "rotated simplex"
    assert even.settings.even_power > even.settings.odd_power


@pytest.mark.parametrize("reduction", ["norm", "predicted", "angle", 1, -1])
def test_reductions_agree_with_their_definitions(points, reduction):
    weights = np.random.default_rng(5).normal(size=(8, 3))

    def model(x):
        return np.tanh(x @ weights) + 1.0

    ball = ah.balls.antisimplex(8)
    scores = ah.gamma(
        model, points[:5], ball=ball, rotations=0, reduction=reduction, radius=0.7, scale=None
    )
    for row in range(5):
        centre = model(points[row : row + 1])[0]
        mean = model(points[row] + 0.7 * ball.vectors()).mean(axis=0)
        expected = {
            "norm": np.linalg.norm(centre - mean),
            "predicted": abs(centre - mean)[np.argmax(centre)],
            "angle": np.arccos(centre @ mean / np.linalg.norm(centre) / np.linalg.norm(mean)),
            1: abs(centre - mean)[1],
            -1: abs(centre - mean)[2],
        }[reduction]
        assert scores.values[row] == pytest.approx(expected, rel=1e-7)


def test_a_reduction_may_be_a_function(points):
    weights = np.random.default_rng(5).normal(size=(8, 3))
    scores = ah.gamma(
        lambda x: np.tanh(x @ weights), points, reduction=lambda deviation: deviation.max(axis=1)
    )
    np.testing.assert_allclose(scores.values, np.abs(scores.signed.max(axis=1)))
    assert np.isfinite(scores.errors).all()
