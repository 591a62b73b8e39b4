"""Same seed, same numbers: any batch size, any workers, any neighbours, numpy or torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import anharmonic as ah
from anharmonic import workers
from anharmonic._core.protocols import Draw

INNER = np.random.default_rng(0).normal(size=(30, 20))


def smooth(x):
    """Elementwise and row by row, so that its own rounding does not depend on the batch."""
    return np.array([np.sin(row @ INNER).sum() for row in x])


@pytest.fixture(params=[3, 20, 30])
def points(request):
    return np.random.default_rng(1).normal(size=(60, 30))[:, : request.param].copy()


def padded(x):
    return smooth(np.pad(x, ((0, 0), (0, 30 - x.shape[1]))))


def test_batch_size_changes_nothing(points):
    whole = ah.gamma(padded, points, radius=0.4)
    for size in (1, 7, 50, 1000, 10**6):
        other = ah.gamma(padded, points, radius=0.4, batch_size=size)
        np.testing.assert_allclose(other.signed, whole.signed, rtol=0, atol=1e-13)
        np.testing.assert_allclose(other.errors, whole.errors, rtol=0, atol=1e-12)


@pytest.mark.parametrize("map", [workers.serial, workers.threads(3), workers.processes(2)])
def test_workers_change_nothing(points, map):
    alone = ah.gamma(padded, points, radius=0.4, batch_size=500)
    shared = ah.gamma(padded, points, radius=0.4, batch_size=500, map=map)
    np.testing.assert_array_equal(shared.signed, alone.signed)
    np.testing.assert_array_equal(shared.errors, alone.errors)
    assert shared.queries == alone.queries


def test_a_point_does_not_depend_on_those_after_it(points):
    arguments = {"radius": 0.4, "scale": None, "ball": "auto pairs"}
    some = ah.gamma(padded, points[:10], **arguments)
    more = ah.gamma(padded, points, **arguments)
    np.testing.assert_array_equal(more.signed[:10], some.signed)


def test_another_point_in_the_row_above_changes_nothing(points):
    arguments = {"radius": 0.4, "scale": None, "ball": "auto pairs"}
    before = ah.gamma(padded, points, **arguments)
    points[3] += 5
    after = ah.gamma(padded, points, **arguments)
    kept = np.arange(len(points)) != 3
    np.testing.assert_array_equal(after.signed[kept], before.signed[kept])


def test_another_seed_gives_other_directions_and_the_same_answer(points):
    one, two = (ah.gamma(padded, points, radius=0.4, seed=seed) for seed in (0, 1))
    assert not np.array_equal(one.signed, two.signed)
    assert abs(one.signed.mean() - two.signed.mean()) < 4 * np.hypot(one.ball_error, two.ball_error)


@pytest.mark.parametrize("dimension", [2, 6, 7, 100, 256, 257, 1001])
@pytest.mark.parametrize("name", ah.balls.NAMES)
def test_numpy_and_torch_draw_the_same_directions(dimension, name):
    ball = ah.balls.named(name, dimension)
    ball = ball if ball.fresh else ah.balls.rotated(ball)
    many = min(8, ball.count // 2)
    rows, turns = np.array([0, 5, 700]), np.array([2, 0, 1])
    ours = ball.draw(Draw(3, rows, turns, np.empty(0)), np.arange(many))
    like = torch.empty(0, dtype=torch.float64)
    theirs = ball.draw(Draw(3, rows, turns, like), torch.arange(many))
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-13)
