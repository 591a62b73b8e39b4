"""What a run costs, to the query, and what it tells of that on the way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import anharmonic as ah
from tests.gamma.spheres import Recorded

POINTS = np.random.default_rng(0).normal(size=(70, 3))


def slope(x):
    return x @ np.array([1.0, 2.0, 3.0])


class Noisy:
    def __init__(self):
        self.random = np.random.default_rng(0)

    def __call__(self, x):
        return slope(x) + self.random.normal(size=len(x))


@pytest.mark.parametrize("rotations", [0, 1, 2, 4, 7])
@pytest.mark.parametrize(
    ("ball", "directions"), [("simplex", 4), ("antisimplex", 8), ("auto pairs", 8)]
)
def test_a_point_costs_its_turns_and_its_centre(ball, directions, rotations):
    model = Recorded(slope)
    scores = ah.gamma(model, POINTS, ball=ball, rotations=rotations, noise="ignore", directions=8)
    assert scores.settings.directions == directions
    assert scores.queries == model.rows == 70 * (max(1, rotations) * directions + 1)
    assert scores.turns.tolist() == [max(1, rotations)] * 70


def test_looking_for_noise_costs_two_queries_at_64_points():
    scores = ah.gamma(slope, POINTS, ball="simplex")
    assert scores.queries == 2 * 64 + 70 * (4 * 4 + 1)
    scores = ah.gamma(slope, POINTS[:9], ball="simplex")
    assert scores.queries == 2 * 9 + 9 * (4 * 4 + 1)


@pytest.mark.parametrize("noise", ["include", "refuse", "ignore"])
def test_choosing_between_pairs_and_singles_costs_8_queries_more_at_8_points(noise):
    model = Recorded(slope)
    scores = ah.gamma(model, POINTS, noise=noise)
    assert scores.settings.directions == 8
    assert scores.queries == model.rows == 2 * 64 + 8 * 8 + 70 * (4 * 8 + 1)
    assert scores.settings.odd_power > 0


def test_a_noisy_models_centre_is_asked_for_with_every_turn():
    scores = ah.gamma(Noisy(), POINTS, ball="simplex")
    assert scores.queries == 2 * 64 + 70 * 4 * (4 + 1)
    assert scores.settings.noise > 0
    ignored = ah.gamma(Noisy(), POINTS, ball="simplex", noise="ignore")
    assert ignored.queries == 70 * (4 * 4 + 1)
    assert ignored.settings.noise == 0
    assert ah.gamma(Noisy(), POINTS, noise="ignore").settings.noise == 0


def test_a_tolerance_asks_for_the_centre_again_with_every_further_part():
    scores = ah.gamma(
        lambda x: np.sin(3 * x).sum(axis=1),
        POINTS,
        radius=0.5,
        ball="simplex",
        noise="ignore",
        tolerance=0.1,
    )
    parts = 1 + np.log2(scores.turns / 4)
    assert len(np.unique(parts)) > 2
    assert scores.queries == np.sum(4 * scores.turns + parts)


@pytest.mark.parametrize("more", [{}, {"tolerance": 0.3}, {"budget": 6000}])
@pytest.mark.parametrize("model", [slope, Noisy()])
def test_each_round_comes_to_what_was_expected_of_it(model, more):
    told = []
    scores = ah.gamma(
        model, POINTS, progress=lambda *counts: told.append(counts), batch_size=100, **more
    )
    assert told[-1] == (scores.queries, scores.queries)
    # What is expected changes only once it is reached.
    for (done, expected), (_, later) in pairwise(told):
        assert done == expected or later == expected
