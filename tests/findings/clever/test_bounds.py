"""CLEVER's bounds are below the true ones, its intervals hold them, and trees have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anharmonic as ah
from anharmonic.measures.clever import State
from anharmonic.measures.clever.ascending import ascend, furthest
from benchmarks.clever_coverage import covered


@pytest.mark.finding("numbers A12")
@pytest.mark.parametrize(("size", "radius"), [(5, 3.0), (10, 3.0), (30, 1.0), (60, 3.0)])
@pytest.mark.parametrize("family", ["axes", "mixed"])
def test_bounds_of_quadratic_margins_are_safe_and_held(
    size: int, radius: float, family: str
) -> None:
    """Ends of fitted laws were too low: at 60 dimensions every bound was above the truth."""
    found = covered(size, radius, family, models=2, points=10)
    assert found.held.mean() >= 0.95
    assert (found.above > 1e-9).mean() <= 0.05
    assert found.above.max() < 1e-3
    # Safe is not the same as small: the slope stays within a few percent of the largest.
    assert 1 <= found.ratios.mean() < 1.05


@pytest.mark.finding("numbers A12")
@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_a_climb_finds_the_steepest_point_of_a_ball_of_any_norm(norm: float) -> None:
    """Where only one coordinate bends, the largest slope is known for every norm."""
    slope, bend = np.array([1.0, 0.5, -0.2, 0.1]), np.diag([3.0, 0.0, 0.0, 0.0])
    dual = {1: np.inf, 2: 2, np.inf: 1}[norm]
    largest = np.linalg.norm(slope + np.array([3.0, 0, 0, 0]), ord=dual)
    begun = np.array([[0.1, 0.2, 0.1, 0.0], [-0.1, 0.0, 0.2, 0.1]])
    found = ascend(lambda x: slope + x @ bend, lambda x: x, begun, norm, 16)
    assert found.steepest.max() == pytest.approx(largest, rel=1e-6)
    ends = furthest(np.random.default_rng(0).normal(size=(5, 4)), norm)
    np.testing.assert_allclose(np.linalg.norm(ends, ord=norm, axis=1), 1.0)


@pytest.mark.finding("numbers A12")
def test_climbs_stay_within_bounds() -> None:
    """The steepest point of the ball is where no point may be."""

    def model(points: Any) -> Any:
        assert (points <= 0.2 + 1e-3).all()
        first = points[:, 0] + points[:, 0] ** 3 + 0.01
        return np.stack([first, np.zeros(len(points))], axis=1)

    scores = ah.clever(model, np.zeros((1, 3)), radius=1.0, scale=None, bounds=(-0.1, 0.2))
    assert scores.slopes[0, 0] == pytest.approx(1 + 3 * 0.2**2, rel=0.01)


def _trees() -> dict[str, Any]:
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": DecisionTreeClassifier(random_state=0),
        "forest": RandomForestClassifier(30, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
    }


@pytest.mark.finding("newcomer B5")
@pytest.mark.parametrize("name", ["tree", "forest", "boosting"])
def test_trees_have_no_slope_and_are_masked(name: str) -> None:
    """Differences over a jump were taken for slopes: 0.0247 ± 0.0021 for a forest."""
    from sklearn.datasets import load_wine

    points, labels = load_wine(return_X_y=True)
    model = _trees()[name].fit(points, labels)
    # One tree has so few jumps that small blocks miss them; large ones all find the same one.
    blocks = (32, 64) if name == "tree" else (16, 16)
    scores = ah.clever(
        model, points[::30], reference=points, blocks=blocks[0], block_size=blocks[1]
    )
    assert scores.masked.all()
    assert np.isnan(scores.values).all()
    assert scores.jumping.any()
    assert "outputs jump" in repr(scores)
    assert "unfinished" not in repr(scores)
    assert scores.fits["jumps"] == (scores.states == State.jumps).sum() > 0


@pytest.mark.finding("newcomer B5")
def test_one_jump_that_every_block_finds_is_no_slope() -> None:
    """All maxima are the same jump over the same step, which looked like an exact slope."""

    def step(points: Any) -> Any:
        return np.stack([points[:, 0] > 0.3, points[:, 0] <= 0.3], axis=1).astype(float)

    scores = ah.clever(step, np.zeros((4, 1)), radius=1.0, scale=None, block_size=20_000, blocks=10)
    assert scores.jumping.all()
    assert np.isnan(scores.values).all()


@pytest.mark.finding("newcomer B5")
def test_kinks_and_single_precision_are_no_jumps() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(size=(6, 20)), random.normal(size=(20, 3))

    def bent(points: Any) -> Any:
        return np.maximum(points @ first, 0) @ second

    def coarse(points: Any) -> Any:
        return bent(np.asarray(points, dtype=np.float32)).astype(np.float32) + np.float32(100)

    points = random.normal(size=(8, 6))
    for model in (bent, coarse):
        scores = ah.clever(model, points, radius=0.5, scale=None, blocks=16, block_size=16)
        assert not scores.jumping.any()
        assert np.isfinite(scores.values).all()
