"""Every ball, found by its name, keeps the promises of `Ball`."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import anharmonic as ah
from anharmonic._core.protocols import Draw

NAMES = [name + end for name in ah.balls.NAMES for end in ("", " pairs")]
DIMENSIONS = (1, 2, 3, 6, 7, 30, 256, 257, 1000)


def built(name, dimension, rotated):
    ball = ah.balls.named(name, dimension)
    return ah.balls.rotated(ball) if rotated else ball


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_directions_are_unit_vectors_any_of_them_on_demand(name, dimension, rotated):
    ball = built(name, dimension, rotated)
    vectors = ball.vectors(seed=4)
    assert vectors.shape == (ball.count, dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-12)
    if ball.paired:
        assert ah.balls.centrality(vectors) < 1e-10
    one = Draw(4, np.array([0]), np.array([0]), np.empty(0))
    half = ball.count // 2 if ball.paired else ball.count
    last = ball.draw(one, np.array([half - 1]))[0, 0]
    np.testing.assert_allclose(last, vectors[2 * half - 2 if ball.paired else -1], atol=1e-13)


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("name", ["simplex", "antisimplex", "cross"])
def test_designs_are_centred_and_isotropic(name, dimension, rotated):
    ball = built(name, dimension, rotated)
    assert ah.balls.centrality(ball) < 1e-9
    assert ah.balls.isotropy(ball) < 1e-5


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_orthonormal_directions_are(dimension):
    for count in {1, min(2, dimension), min(7, dimension), dimension}:
        vectors = ah.balls.orthonormal(dimension, count).vectors()
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(count), atol=1e-12)
        shares = (vectors**2).sum(axis=0)
        np.testing.assert_allclose(shares, count / dimension, atol=1e-12)


@pytest.mark.parametrize("name", ah.balls.NAMES)
def test_fresh_balls_differ_by_row_turn_and_seed(name):
    ball = built(name, 9, True)
    reference = ball.vectors()
    for other in (ball.vectors(seed=1), ball.vectors(row=1), ball.vectors(turn=1)):
        assert not np.allclose(other, reference)


def test_random_balls_are_less_central_than_simplices():
    random = [ah.balls.centrality(ah.balls.random(50, 50), seed) for seed in range(20)]
    assert np.mean(random) == pytest.approx(np.sqrt(50), rel=0.2)
    toward = np.eye(50)[0]
    assert ah.balls.isotropy(ah.balls.random(50, 51)) > 0.5
    assert 0.05 < ah.balls.isotropy(ah.balls.random(50, 51), toward=toward) < 0.3


def test_a_huge_simplex_builds_no_matrix():
    dimension = 100_000
    ball = ah.balls.antisimplex(dimension)
    one = Draw(0, np.array([0]), np.array([0]), np.empty(0))
    tracemalloc.start()
    vectors = ball.draw(one, np.array([0, 7, dimension]))[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * dimension * 8
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(3) * (1 + 1 / dimension) - 1 / dimension)


def test_gamma_streams_a_large_simplex():
    def first(x):
        assert len(x) <= 200
        return x[:, 0] ** 2

    points = np.zeros((1, 3000))
    scores = ah.gamma(
        first,
        points,
        ball="simplex",
        rotations=0,
        radius=1.0,
        scale=None,
        noise="ignore",
        batch_size=200,
    )
    assert scores.queries == 3002
    assert scores.values[0] == pytest.approx(1 / 3000, rel=1e-10)


def test_the_papers_image_ball_is_single_signed_pixels():
    vectors = ah.balls.named("onehot", 10_000, 20).vectors()
    assert vectors.shape == (20, 10_000)
    assert (np.count_nonzero(vectors, axis=1) == 1).all()
    assert set(vectors[vectors != 0]) == {-1.0, 1.0}


@pytest.mark.parametrize("bad", ["circle", "pairs", "simplex simplex"])
def test_unknown_names_are_refused_with_the_known_ones(bad):
    with pytest.raises(ah.errors.SettingsError, match="antisimplex"):
        ah.balls.named(bad, 3)
