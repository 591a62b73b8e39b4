"""CLEVER: exact on linear models, known on quadratic ones, honest where gradients vanish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import anharmonic as ah
from anharmonic._core.protocols import Draw
from anharmonic.errors import NoGradient, SettingsError
from anharmonic.measures.clever import State
from anharmonic.measures.clever.sampling import norm_of, sample_unit_ball
from tests.training.digits import digits, trained

RANDOM = np.random.default_rng(0)
SMALL: dict[str, Any] = {"blocks": 20, "block_size": 8, "scale": None}
WEIGHTS = RANDOM.normal(size=(4, 5))
POINTS = RANDOM.normal(size=(6, 5))


def linear() -> nn.Module:
    module = nn.Linear(5, 4, bias=False).double()
    module.weight.data = torch.from_numpy(WEIGHTS.copy())
    return module


def known(norm: float, points: Any = POINTS) -> Any:
    """Margins over the dual norms of differences of weights, (points, targets) and the smallest."""
    outputs = points @ WEIGHTS.T
    dual = {1: np.inf, 2: 2, np.inf: 1}[norm]
    bounds = []
    for row in outputs:
        best = row.argmax()
        others = [other for other in range(4) if other != best]
        bounds.append(
            [
                (row[best] - row[other]) / np.linalg.norm(WEIGHTS[best] - WEIGHTS[other], ord=dual)
                for other in others
            ]
        )
    return np.array(bounds)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("gradients", ["torch", "differences"])
def test_a_linear_model_has_its_exact_distance(norm: float, gradients: Any) -> None:
    scores = ah.clever(linear(), POINTS, norm=norm, radius=50.0, gradients=gradients, **SMALL)
    np.testing.assert_allclose(scores.signed, known(norm), rtol=1e-6)
    np.testing.assert_allclose(scores.values, known(norm).min(axis=1), rtol=1e-6)
    assert (scores.states == State.exact).all()


def test_no_bound_is_above_the_radius() -> None:
    scores = ah.clever(linear(), POINTS, radius=0.2, **SMALL)
    np.testing.assert_allclose(scores.values, np.minimum(known(2).min(axis=1), 0.2), rtol=1e-9)
    assert scores.capped.tolist() == (known(2).min(axis=1) >= 0.2).tolist()


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_a_quadratic_model_has_the_slope_known_at_the_edge_of_the_ball(norm: float) -> None:
    """F = (b·x + a·x₀²/2, 0): the gradient is b + a·x₀·e₀, largest at x₀ = radius."""
    slope, bend, radius = np.array([1.0, 0.5, 0.2]), 3.0, 0.4

    def model(points: Any) -> Any:
        first = points @ slope + bend * points[:, 0] ** 2 / 2 + 0.3
        return np.stack([first, np.zeros(len(points))], axis=1)

    dual = {1: np.inf, 2: 2, np.inf: 1}[norm]
    largest = np.linalg.norm(slope + np.array([bend * radius, 0, 0]), ord=dual)
    scores = ah.clever(
        model, np.zeros((1, 3)), norm=norm, radius=radius, scale=None, blocks=100, block_size=50
    )
    assert scores.slopes[0, 0] == pytest.approx(largest, rel=0.04)
    assert abs(scores.values[0] - 0.3 / largest) < 2 * scores.errors[0]


def test_units_scale_the_distance() -> None:
    units = np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    arguments = {**SMALL, "scale": units}
    scores = ah.clever(linear(), POINTS, radius=50.0, **arguments)
    stretched = nn.Linear(5, 4, bias=False).double()
    stretched.weight.data = torch.from_numpy(WEIGHTS * units)
    same = ah.clever(stretched, POINTS / units, radius=50.0, **SMALL)
    np.testing.assert_allclose(scores.values, same.values, rtol=1e-6)


def test_targets_are_all_the_runner_up_or_those_named() -> None:
    every, runner, named = (
        ah.clever(linear(), POINTS, radius=50.0, targets=targets, **SMALL)
        for targets in ("all", "top2", [0, 2])
    )
    outputs = POINTS @ WEIGHTS.T
    assert runner.targets[:, 0].tolist() == np.argsort(-outputs, axis=1)[:, 1].tolist()
    for row, best in enumerate(outputs.argmax(axis=1)):
        assert best not in every.targets[row]
        assert (named.targets[row] == [-1 if best == t else t for t in (0, 2)]).all()
    with pytest.raises(SettingsError, match="below 4"):
        ah.clever(linear(), POINTS, radius=1.0, targets=[7], **SMALL)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_samples_fill_the_ball_evenly(norm: float) -> None:
    draw = Draw(0, np.arange(4), np.zeros(4, dtype=np.int64), np.zeros(1))
    points = sample_unit_ball(norm_of(norm), draw, np.arange(5000), 3).reshape(-1, 3)
    length = np.linalg.norm(points, ord=norm, axis=1)
    assert length.max() <= 1
    # Within half the radius lies an eighth of the volume.
    assert (length < 0.5).mean() == pytest.approx(1 / 8, abs=0.01)
    assert np.abs(points.mean(axis=0)).max() < 0.02


def test_chunks_do_not_matter_and_seeds_do() -> None:
    module, images = trained().double(), digits()[0][:4].astype(np.float64)
    arguments: dict[str, Any] = {"norm": np.inf, "radius": 0.3, **SMALL}
    whole, cut = (
        ah.clever(module, images, batch_size=size, **arguments).values for size in (1000, 13)
    )
    other = ah.clever(module, images, seed=1, **arguments).values
    module.float()
    np.testing.assert_allclose(whole, cut, rtol=1e-10)
    assert (np.abs(whole - other) > 1e-6 * whole).all()


def test_black_boxes_get_the_same_by_differences() -> None:
    module = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    arguments: dict[str, Any] = {"radius": 0.3, **SMALL}
    pulled = ah.clever(module, POINTS, **arguments)
    asked = ah.clever(module, POINTS, gradients="differences", **arguments)
    np.testing.assert_allclose(pulled.values, asked.values, rtol=1e-5)
    # Samples, two climbs of four steps to each of two rivals, and a second look at eight samples.
    climbs = 2 * 2 * (1 + 2 * 4)
    assert pulled.queries == 6 * (1 + 160 + climbs)
    assert asked.queries == 6 * (1 + (160 + climbs + 2 * 8) * 10)


def test_a_single_column_stands_for_two_classes() -> None:
    def odds(points: Any) -> Any:
        return points @ np.array([3.0, 4.0])

    scores = ah.clever(odds, [[1.0, 0.5], [-1.0, -0.5]], output="logit", radius=9.0, **SMALL)
    np.testing.assert_allclose(scores.values, [1.0, 1.0], rtol=1e-6)


def test_saturated_probabilities_are_masked_not_robust() -> None:
    """Weights so large that softmax is flat in floats: the boundary is near all the same."""
    module = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Softmax(dim=1))
    module[0].weight.data = torch.tensor([[4000.0, 0.0], [-4000.0, 0.0]])
    points = np.array([[0.5, 0.0], [0.3, 0.2]], dtype=np.float32)
    scores = ah.clever(module, points, radius=0.1, **SMALL)
    assert scores.masked.all()
    assert np.isnan(scores.values).all()
    assert "masked" in repr(scores)
    assert scores.summary()["masked"] == 2
    honest = ah.clever(module[0], points, radius=1.0, **SMALL)
    np.testing.assert_allclose(honest.values, [0.5, 0.3], rtol=1e-5)


def test_a_model_without_gradients_is_refused_where_torch_was_claimed() -> None:
    class Closed(nn.Module):
        def forward(self, points: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(points.detach().numpy() @ WEIGHTS.T)

    with pytest.raises(NoGradient, match="differences"):
        ah.clever(Closed(), POINTS, radius=1.0, gradients="torch", **SMALL)
    with pytest.raises(NoGradient, match="differences"):
        ah.clever(lambda points: points, POINTS, radius=1.0, gradients="torch", **SMALL)


def test_a_guide_is_followed_and_the_rest_is_left_out() -> None:
    guide = np.array([0.1, np.nan, 5.0, 2.0, 0.0, 1.0])
    scores = ah.clever(linear(), POINTS, radius=50.0, guide=guide, count=2, **SMALL)
    assert np.flatnonzero(np.isfinite(scores.values)).tolist() == [2, 3]
    every = ah.clever(linear(), POINTS, radius=50.0, **SMALL)
    np.testing.assert_allclose(scores.values[[2, 3]], every.values[[2, 3]])
    with pytest.raises(SettingsError, match="one number for each"):
        ah.clever(linear(), POINTS, radius=50.0, guide=[1.0], **SMALL)


def test_bounds_hold_on_a_network_and_scores_are_kept(tmp_path: Path) -> None:
    images, labels = digits()
    images, labels = images[1300:1340], labels[1300:1340]
    scores = ah.clever(trained(), images, norm=np.inf, radius=0.2, bounds=(0, 1), blocks=32)
    sure = ah.training.correct(trained(), images, labels)
    distance = ah.training.attack_distance(trained(), images[sure], labels[sure], upper=0.5)
    assert (scores.values[sure] <= distance).mean() >= 0.95
    assert scores.values.min() > 0
    file = scores.save(tmp_path / "clever.parquet")
    np.testing.assert_array_equal(ah.Scores.load(file).values, scores.values)
    assert scores.worst(3)[0] == scores.intervals()[1].argmin()


def test_each_convolution_has_its_own_way_and_torch_is_left_as_found() -> None:
    from anharmonic.models.gradients import pullback_of

    module = ah.training.lenet5(0)
    back: Any = pullback_of(ah.as_model(module))
    images = np.random.default_rng(0).random((4, 1, 28, 28)).astype(np.float32)
    weights = np.eye(10)[[0, 1, 2, 3]]
    first, last = (part for part in module.modules() if isinstance(part, torch.nn.Conv2d))
    before, found = torch._C._get_mkldnn_enabled(), []
    for ways in ((False, False), (True, False), (False, True)):
        back.native = dict(zip((first, last), ways, strict=True))
        found.append(back(images)[1](weights))
        assert torch._C._get_mkldnn_enabled() == before
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, atol=1e-6, rtol=1e-4)
    back.native = None
    back(images)
    assert list(back.native) == [first, last]
    assert not first._forward_hooks
