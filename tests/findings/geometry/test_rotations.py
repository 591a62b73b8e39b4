"""Every ball that stands for the sphere is rotated, and rows err independently of each other."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core.protocols import Draw
from anharmonic._core.rotations import rotate

DIMENSION = 300
SHARE = 0.7985
"""Mean of |x₀| over the sphere of radius √300 in 300 dimensions."""


@pytest.mark.finding("numbers A5")
@pytest.mark.parametrize("ball", ["simplex", "antisimplex", "cross", "orthonormal pairs"])
def test_part_of_a_design_estimates_the_mean_of_the_sphere(ball):
    centres = np.zeros((200, DIMENSION))
    scores = ah.gamma(
        lambda x: np.abs(x[:, 0]),
        centres,
        radius=DIMENSION**0.5,
        scale=None,
        ball=ball,
        directions=12,
    )
    assert scores.mean == pytest.approx(SHARE, abs=5 * scores.error)
    assert scores.error < 0.02


@pytest.mark.finding("numbers A5")
def test_a_picked_part_of_ones_own_ball_is_rotated_too():
    picked = ah.balls.sampled(ah.balls.onehot(20), 6)
    scores = ah.gamma(lambda x: np.abs(x[:, 0]), np.zeros((400, 20)), radius=1.0, ball=picked,
                      scale=None)  # fmt: skip
    truth = ah.scores.mean_coordinate(20)
    assert scores.mean == pytest.approx(truth, abs=5 * scores.error)
    assert scores.settings.ball == "rotated sampled onehot"


@pytest.mark.finding("numbers A5")
@pytest.mark.parametrize(("ball", "reading"), [("dense", 1.0), ("onehot", DIMENSION**-0.5)])
def test_the_papers_image_balls_stay_as_they_are(ball, reading):
    centres = np.zeros((400, DIMENSION))
    scores = ah.gamma(
        lambda x: np.abs(x[:, 0]), centres, radius=DIMENSION**0.5, scale=None, ball=ball
    )
    assert scores.mean == pytest.approx(reading, abs=max(1e-12, 5 * scores.error))
    assert scores.settings.rotation is None


@pytest.mark.finding("numbers A13")
@pytest.mark.parametrize(
    ("ball", "dimension"), [("simplex", 7), ("cross", 8), ("antisimplex", 20), ("cross", 20)]
)
@pytest.mark.parametrize("model", ["ridge", "powers"])
def test_a_mean_over_rows_varies_as_its_error_says(ball, dimension, model):
    slope = np.random.default_rng(dimension).normal(size=dimension) / dimension**0.5
    function = {
        "ridge": lambda x: np.cos(2 * (x @ slope)),
        "powers": lambda x: (x**4).sum(axis=1),
    }[model]
    points = np.random.default_rng(0).normal(size=(100, dimension))
    runs = [
        ah.gamma(
            function,
            points,
            radius=1.0,
            scale=None,
            ball=ball,
            rotations=2,
            seed=seed,
            noise="ignore",
        )
        for seed in range(80)
    ]
    stated = np.mean([run.ball_error**2 for run in runs])
    # 80 seeds know a variance to 16%; rows that shared a rotation made it 2 to 200.
    assert 0.5 < np.var([run.signed.mean() for run in runs], ddof=1) / stated < 1.6


@pytest.mark.slow
@pytest.mark.finding("numbers A13")
def test_any_two_rows_and_turns_are_turned_independently():
    """The cosine between two rotated vertices is spread as between independent ones."""
    rows, turns = np.array([0, 1, 8, 9, 72, 0, 8]), np.array([0, 0, 0, 0, 0, 1, 1])
    vertex = np.eye(7)[None, :1]
    turned = np.array(
        [rotate(Draw(seed, rows, turns, np.empty(0)), vertex)[:, 0] for seed in range(2000)]
    )
    cosines = np.einsum("sin,sjn->sij", turned, turned)[:, ~np.eye(len(rows), dtype=bool)]
    error = np.sqrt(2 * 6 / (7**2 * 9) / 2000)  # of the mean of u₁², whose variance this is
    assert np.abs((cosines**2).mean(axis=0) - 1 / 7).max() < 5 * error
    assert np.abs((turned**4).mean(axis=0) - 3 / (7 * 9)).max() < 0.01


@pytest.mark.finding("numbers A13")
@pytest.mark.parametrize("dimension", [7, 30, 256])
def test_a_row_is_turned_alike_whatever_it_is_asked_with(dimension):
    vectors = ah.balls.simplex(dimension).vectors()[None, :5]
    rows = np.arange(700)
    whole = rotate(Draw(3, rows, np.full(700, 9), np.empty(0)), vectors)
    for some in (np.array([0]), np.arange(61, 130), np.arange(0, 700, 7), rows[::-1][:40]):
        part = rotate(Draw(3, some, np.full(len(some), 9), np.empty(0)), vectors)
        np.testing.assert_allclose(part, whole[some], atol=1e-13)
        own = np.broadcast_to(vectors, (len(some), 5, dimension))
        each = rotate(Draw(3, some, np.full(len(some), 9), np.empty(0)), own)
        np.testing.assert_allclose(each, whole[some], atol=1e-13)
    gram = np.einsum("rin,rjn->rij", whole, whole)
    np.testing.assert_allclose(
        gram, np.broadcast_to(vectors[0] @ vectors[0].T, gram.shape), atol=1e-12
    )
