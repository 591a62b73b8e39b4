"""Baselines with known answers, and every measure in `compare`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import anharmonic as ah
from anharmonic import baselines
from anharmonic._core.statistics import share_interval
from anharmonic.errors import SettingsError

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(30, 4))
RAW: dict[str, Any] = {"scale": None, "radius": 0.5}
WEIGHTS = np.array([3.0, 0.0, 4.0, 0.0])


def linear(points: Any) -> Any:
    return points @ WEIGHTS


def odds(points: Any) -> Any:
    return np.stack([points[:, 0], -points[:, 0]], axis=1)


def test_flips_are_the_cap_beyond_the_boundary_with_exact_intervals() -> None:
    """In three dimensions a coordinate on the sphere is even, so the cap's share is known."""
    points = np.array([[0.0, 0, 0], [0.2, 0, 0], [0.9, 0, 0]])
    scores = baselines.flip_rate(odds, points, scale=None, radius=0.5, directions=2000)
    np.testing.assert_allclose(scores.values, [0.5, 0.3, 0.0], atol=0.04)
    low, high = scores.intervals()
    for row in range(3):
        hits = round(scores.values[row] * 2000)
        assert (low[row], high[row]) == pytest.approx(share_interval(hits, 2000))
    assert scores.queries == 3 * 2001


def test_a_line_has_its_slope_and_its_mean_change() -> None:
    slopes = baselines.lipschitz(linear, POINTS, directions=4000, **RAW)
    assert (slopes.values <= 5 + 1e-9).all()
    assert slopes.values.mean() == pytest.approx(5, rel=0.01)
    change = baselines.mean_change(linear, POINTS, directions=4000, **RAW)
    # E|u₁| in four dimensions is 4/(3π).
    assert change.mean == pytest.approx(0.5 * 5 * 4 / (3 * np.pi), rel=0.01)
    assert (np.abs(change.values / change.values.mean() - 1) < 0.1).all()


def test_confidence_and_margin_take_one_query_a_point() -> None:
    sure = baselines.confidence(odds, POINTS, output="probability")
    first = 1 / (1 + np.exp(-2 * POINTS[:, 0]))
    np.testing.assert_allclose(sure.values, np.maximum(first, 1 - first))
    ahead = baselines.margin(odds, POINTS, output="logit")
    np.testing.assert_allclose(ahead.values, 2 * np.abs(POINTS[:, 0]))
    assert sure.queries == ahead.queries == 30
    assert (baselines.fragility(ahead) == -ahead.values).all()


def test_great_is_the_certified_distance_of_a_smoothed_step() -> None:
    """A hard step smoothed by noise has the margin 2Φ(x/σ) − 1."""
    from scipy.special import ndtr

    def step(points: Any) -> Any:
        return np.stack([points[:, 0] > 0, points[:, 0] <= 0], axis=1).astype(float)

    points = np.array([[0.1, 0, 0, 0], [0.4, 0, 0, 0]])
    scores = baselines.great(
        ah.as_model(step, output="probability"), points, directions=8000, **RAW
    )
    sigma = 0.5 / 2
    # as_model takes raw outputs for logits, so 1 and 0 become these probabilities.
    height = np.tanh(0.5)
    known = sigma * np.sqrt(np.pi / 2) * height * (2 * ndtr(points[:, 0] / sigma) - 1)
    np.testing.assert_allclose(scores.values, known, atol=0.01)
    assert (scores.values <= points[:, 0]).all()


def test_batches_do_not_matter() -> None:
    one, other = (
        baselines.mean_change(linear, POINTS, batch_size=size, **RAW).values for size in (7, 500)
    )
    np.testing.assert_allclose(one, other)


@pytest.mark.parametrize(
    "measure",
    [
        *(baselines.flip_rate, baselines.mean_change, baselines.lipschitz, baselines.confidence),
        *(baselines.margin, baselines.great, partial(ah.clever, blocks=12, block_size=4)),
    ],
)
def test_every_measure_compares_models(measure: Any) -> None:
    models = {"flat": lambda x: 0.3 * odds(x), "steep": lambda x: np.sin(3 * odds(x))}
    found = ah.compare(models, POINTS, radius=0.3, scale=None, measure=measure, seed=3)
    assert sorted(found.ranking) == ["flat", "steep"]
    assert all(len(scores) == 30 for scores in found.scores.values())
    assert found.metric in repr(found)


def test_an_error_needs_two_directions() -> None:
    with pytest.raises(SettingsError, match="at least 2"):
        baselines.mean_change(linear, POINTS, directions=1, **RAW)
