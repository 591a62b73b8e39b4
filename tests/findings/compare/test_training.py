"""A penalty on gamma is one on gamma, and a fold is measured all over."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.training import Penalised, gamma_penalty, gamma_scorer, train
from tests.training.digits import digits, network


class Saddle(nn.Module):
    """x₀·x₁, which is harmonic."""

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return points[:, :1] * points[:, 1:2]


def small_network() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).double()


def averaged(module: nn.Module, points: torch.Tensor, **arguments: object) -> float:
    with torch.no_grad():
        each = [
            gamma_penalty(module, points, 0.8, seed=seed, **arguments).mean().item()  # type: ignore[arg-type]
            for seed in range(300)
        ]
    return float(np.mean(each))


@pytest.mark.finding("numbers A15: gamma_penalty")
def test_the_unbiased_penalty_is_gamma_squared() -> None:
    points = torch.from_numpy(np.random.default_rng(0).normal(size=(40, 4)))
    module = small_network()
    # Every sign vector once: the mean that the penalty's directions have.
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T * 0.4
    with torch.no_grad():
        around = torch.stack([module(points + torch.from_numpy(each)) for each in corners])
        exact = (module(points) - around.mean(dim=0)).square().sum(dim=1).mean().item()
    assert averaged(module, points, pairs=2, unbiased=True) == pytest.approx(exact, rel=0.05)
    assert averaged(module, points, pairs=3, unbiased=True) == pytest.approx(exact, rel=0.05)
    assert averaged(module, points) > 1.5 * exact


@pytest.mark.finding("numbers A15: gamma_penalty")
def test_a_harmonic_saddle_costs_curvature_and_no_gamma() -> None:
    points = torch.zeros(50, 2, dtype=torch.float64)
    assert averaged(Saddle(), points) == pytest.approx(0.32**2)
    assert averaged(Saddle(), points, pairs=2, unbiased=True) == pytest.approx(0, abs=0.01)
    with pytest.raises(SettingsError, match="pairs=2 or more"):
        gamma_penalty(Saddle(), points, 0.5, unbiased=True)


@pytest.mark.finding("numbers A15: gamma_penalty")
def test_training_with_the_unbiased_penalty_lowers_gamma() -> None:
    images, labels = digits()
    found = []
    for weight in (0.0, 10.0):
        module = network()
        objective = Penalised(1.0, weight, pairs=2, unbiased=True)
        train(module, images[:600], labels[:600], objective=objective, epochs=8, rate=3e-3)
        found.append(ah.gamma(module, images[1300:1350], radius=1.0, output="logit", scale=None))
    assert found[1].mean < 0.6 * found[0].mean


@pytest.mark.finding("numbers A15: GammaScorer")
def test_the_scorer_looks_at_all_of_a_sorted_fold() -> None:
    points = np.sort(np.random.default_rng(0).normal(size=(1000, 1)), axis=0)
    bent = lambda x: np.maximum(np.asarray(x)[:, 0], 0) ** 2  # noqa: E731
    scorer = gamma_scorer(radius=0.3, scale=None, count=200)
    whole = ah.gamma(bent, points, radius=0.3, scale=None, ball="auto pairs").mean
    assert -scorer(bent, points) == pytest.approx(whole, rel=0.2)
    assert scorer(bent, points) == scorer(bent, points)
    first = ah.gamma(bent, points[:200], radius=0.3, scale=None, ball="auto pairs").mean
    assert first < 0.1 * whole, "the first rows know nothing of the rest"
