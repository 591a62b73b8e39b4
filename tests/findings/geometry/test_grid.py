"""A grid is no random sample: the error of its mean, and rows that keep their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core.statistics import stratified_error


def disc(x, centre):
    return ((x - centre) ** 2).sum(axis=1) < 1


@pytest.mark.finding("numbers A15: error of a grid's mean")
def test_the_error_of_a_grid_is_no_more_than_a_few_times_too_large():
    means, errors, sampled = [], [], []
    for seed in range(25):
        centre = np.random.default_rng(seed).uniform(-0.1, 0.1, 2)
        model = ah.as_model(
            lambda x, at=centre: disc(x, at), output="onehot", classes=[False, True]
        )
        scores = ah.gamma(model, ah.regions.grid([(-2, 2)] * 2, 60), radius=0.15, seed=seed)
        means.append(scores.mean)
        errors.append(scores.error)
        sampled.append(float(scores.moments.error))
    actual, stated = np.std(means, ddof=1), np.mean(errors)
    assert actual < stated < 4 * actual
    assert stated < 0.5 * np.mean(sampled)
    low, high = scores.interval()
    assert high - low == pytest.approx(2 * 1.96 * scores.error, rel=0.01)


@pytest.mark.finding("numbers A15: error of a grid's mean")
@pytest.mark.parametrize("steps", [[1], [2], [7], [5, 4], [3, 1, 2]])
def test_noise_alone_has_the_error_of_a_random_sample(steps):
    random = np.random.default_rng(0)
    many = int(np.prod(steps))
    squares = [stratified_error(random.normal(size=many), steps) ** 2 for _ in range(4000)]
    truth = 1 / many if many > 1 else 0.0
    assert np.mean(squares) == pytest.approx(truth, rel=0.1)


@pytest.mark.finding("numbers A15: error of a grid's mean")
def test_some_rows_of_a_grid_are_a_sample_again():
    region = ah.regions.grid([(-1, 1)] * 2, 20)
    some = ah.gamma(lambda x: x[:, 0] ** 4, region.rows(np.arange(0, 400, 3)), radius=0.1)
    assert some.settings.cells == ()
    assert some.error == float(some.moments.error)


@pytest.mark.finding("numbers A15: batch size", "numbers A15: the other points")
@pytest.mark.parametrize("dimension", [3, 9, 30, 260])
def test_a_row_keeps_its_number_as_the_readme_says(dimension):
    points = np.random.default_rng(0).normal(size=(80, dimension))
    arguments = {"radius": 0.4, "scale": None, "ball": "auto pairs"}

    def model(x):
        return np.sin(x).sum(axis=1)

    whole = ah.gamma(model, points, **arguments)
    some = ah.gamma(model, points[:70], **arguments)
    np.testing.assert_array_equal(some.signed, whole.signed[:70])
    for size in (7, 500):
        other = ah.gamma(model, points, batch_size=size, **arguments)
        np.testing.assert_allclose(other.signed, whole.signed, rtol=0, atol=1e-13)
    turned = ah.gamma(model, points[::-1].copy(), **arguments)
    gap = turned.signed[::-1] - whole.signed
    assert np.mean(np.abs(gap) < 5 * np.hypot(turned.errors[::-1], whole.errors)) > 0.9
