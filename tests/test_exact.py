"""Every row of the table of exact answers, on numpy and on torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import anharmonic as ah
from tests import oracles

DIMENSIONS = (1, 2, 3, 4, 10, 64, 257, 1000)
DESIGNS = ("simplex", "antisimplex", "cross")
RADIUS = 0.5
LIMIT = 1e-12


@pytest.fixture(params=["numpy", "torch"])
def library(request):
    return np.asarray if request.param == "numpy" else torch.as_tensor


def centres(dimension, library, count=2):
    random = np.random.default_rng(dimension)
    return library(random.normal(size=(count, dimension)) / np.sqrt(dimension))


def measured(function, points, ball, rotations=2):
    return ah.gamma(
        function, points, radius=RADIUS, scale=None, ball=ball, rotations=rotations, noise="ignore"
    ).values


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("rotations", [0, 2])
@pytest.mark.parametrize("ball", DESIGNS)
def test_linear_and_quadratic(dimension, ball, rotations, library):
    points = centres(dimension, library)
    assert measured(oracles.linear, points, ball, rotations).max() < LIMIT
    assert np.abs(measured(oracles.squares, points, ball, rotations) - RADIUS**2).max() < LIMIT
    if dimension % 2 == 0:
        assert measured(oracles.saddle, points, ball, rotations).max() < LIMIT


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("ball", ["auto", "random pairs", "dense pairs", "onehot pairs"])
def test_every_centred_ball_sees_no_slope(dimension, ball, library):
    assert measured(oracles.linear, centres(dimension, library), ball).max() < LIMIT


@pytest.mark.parametrize("dimension", [2, 3, 10, 64, 257, 1000])
def test_harmonic_cubic_needs_a_3_design(dimension, library):
    points = centres(dimension, library)
    for ball in ("antisimplex", "cross"):
        assert measured(oracles.cubic, points, ball).max() < LIMIT
    assert measured(oracles.cubic, points, "simplex").max() > 1e3 * LIMIT


@pytest.mark.parametrize("dimension", [2, 3, 10, 64, 257])
def test_antisimplex_is_much_closer_on_a_harmonic_wave(dimension, library):
    points = centres(dimension, library)

    def error(ball):
        return ah.gamma(
            oracles.wave, points, radius=0.1, scale=None, ball=ball, rotations=2, noise="ignore"
        ).values.max()

    assert error("antisimplex") < 0.1 * error("simplex")
    assert error("antisimplex") < 1e-4


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 10])
def test_labels_measure_a_flat_boundary(dimension):
    radius, many = 0.2, 4000
    points = np.random.default_rng(dimension).uniform(-1, 1, size=(many, dimension))
    scores = ah.gamma(oracles.step, points, radius=radius, scale=None, seed=dimension)
    area, volume = 2.0 ** (dimension - 1), 2.0**dimension
    expected = radius * oracles.mean_first_coordinate(dimension) * area / volume
    assert abs(scores.mean - expected) < 3 * scores.error


def test_boundary_area_is_read_backwards():
    model = ah.as_model(oracles.step, output="onehot", classes=[0, 1])
    region = ah.regions.grid([(-1, 1), (-1, 1)], 60)
    scores = ah.gamma(model, region, radius=0.2)
    area, error = scores.boundary_area
    assert abs(area - 2.0) < 3 * error
    assert error < 0.2


def test_a_circle_has_its_length():
    def inside(x):
        return np.linalg.norm(x, axis=1) < 1.0

    region = ah.regions.grid([(-2, 2), (-2, 2)], 150)
    model = ah.as_model(inside, output="onehot", classes=[False, True])
    area, error = ah.gamma(model, region, radius=0.1).boundary_area
    assert abs(area - 2 * np.pi) < 3 * error
    assert error < 0.05 * area
