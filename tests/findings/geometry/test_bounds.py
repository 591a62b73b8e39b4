"""Bounds shorten both of a pair alike, so that slopes still cancel."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import anharmonic as ah

SLOPE = np.arange(1.0, 7.0)
POINTS = np.random.default_rng(0).uniform(size=(200, 6))


def line(x):
    assert x.min() >= 0
    assert x.max() <= 1
    return x @ SLOPE


@pytest.mark.finding("numbers A14")
@pytest.mark.parametrize(
    "ball", ["auto", "auto pairs", "antisimplex", "cross", "random pairs", "dense pairs"]
)
@pytest.mark.parametrize("rotations", [0, 4])
def test_a_linear_model_within_bounds_has_no_gamma(ball, rotations):
    scores = ah.gamma(
        line, POINTS, radius=0.3, scale=None, bounds=(0, 1), ball=ball, rotations=rotations
    )
    assert scores.values.max() < 1e-13
    assert 0.5 < scores.settings.clipped < 1


@pytest.mark.finding("numbers A14")
def test_auto_takes_pairs_within_bounds_even_where_singles_would_win():
    def bowls(x):
        nearest = POINTS[np.argmin(np.linalg.norm(x[:, None] - POINTS, axis=2), axis=1)]
        return np.abs(x - nearest).max(axis=1)

    assert ah.gamma(bowls, POINTS, radius=0.05, scale=None).settings.ball == "rotated simplex"
    within = ah.gamma(bowls, POINTS, radius=0.05, scale=None, bounds=(0, 1))
    assert within.settings.ball == "rotated orthonormal pairs"


@pytest.mark.finding("numbers A14")
def test_a_pair_is_no_shorter_than_it_must_be():
    """A bowl of squares reads the mean square of the steps that fit."""
    points = np.full((400, 3), 0.1)
    scores = ah.gamma(
        lambda x: x[:, 0] ** 2, points, radius=0.3, scale=None, bounds=(0, 1), ball="random pairs"
    )
    steps = 0.3 * np.random.default_rng(0).uniform(-1, 1, 200_000)  # Archimedes: u₁ is uniform
    truth = np.mean(np.minimum(np.abs(steps), 0.1) ** 2)
    assert scores.mean == pytest.approx(truth, abs=5 * scores.error)


@pytest.mark.finding("numbers A14")
def test_far_bounds_change_nothing():
    def bent(x):
        return np.sin(x).sum(axis=1)

    arguments = {"radius": 0.3, "scale": None, "ball": "auto pairs"}
    within = ah.gamma(bent, POINTS, bounds=(-99, 99), **arguments)
    free = ah.gamma(bent, POINTS, **arguments)
    np.testing.assert_array_equal(within.values, free.values)
    assert within.settings.clipped == 0


@pytest.mark.finding("numbers A14")
def test_a_point_without_room_is_named():
    points = POINTS.copy()
    points[[3, 8]] = [[0, 1, 0, 1, 0, 1]]
    with pytest.raises(ah.errors.PointsError, match=r"rows 3, 8 lie on the bounds"):
        ah.gamma(line, points, radius=0.3, scale=None, bounds=(0, 1))
    ah.gamma(line, points, radius=0.3, scale=None, bounds=(0, 1), ball="simplex")


@pytest.mark.finding("numbers A14")
def test_a_penalty_within_bounds_costs_bends_only():
    network = torch.nn.Linear(6, 2)
    penalty = ah.training.gamma_penalty(
        network, torch.tensor(POINTS, dtype=torch.float32), 0.5, bounds=(0.0, 1.0)
    )
    assert penalty.max().item() < 1e-9
