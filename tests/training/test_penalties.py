"""The penalty: exact on known functions, the same for stacked networks, and it lowers gamma."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.training import Penalised, accuracy, gamma_penalty, spade_radii, stacked, train
from tests.training.digits import digits, network, trained

IMAGES, LABELS = digits()
NEW, NEW_LABELS = IMAGES[1300:], LABELS[1300:]


class Squares(nn.Module):
    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return points.square().sum(dim=1, keepdim=True)


@pytest.mark.parametrize("pairs", [1, 3])
def test_a_sum_of_squares_deviates_by_the_square_of_the_radius(pairs: int) -> None:
    points = torch.rand(6, 9, dtype=torch.float64)
    penalty = gamma_penalty(Squares(), points, 0.3, pairs=pairs)
    torch.testing.assert_close(penalty, torch.full((6,), 0.3**4, dtype=torch.float64))


def test_a_line_costs_nothing_and_has_no_gradient() -> None:
    line = nn.Linear(4, 2).double()
    gamma_penalty(line, torch.rand(8, 4, dtype=torch.float64), 1.0).sum().backward()
    assert line.weight.grad is not None
    assert line.weight.grad.abs().max() < 1e-12


def test_training_with_it_lowers_gamma() -> None:
    module = network()
    train(
        module,
        IMAGES[:1300],
        LABELS[:1300],
        objective=Penalised(radius=1.0, weight=0.3),
        epochs=20,
        batch_size=64,
        rate=3e-3,
    )
    ours, ordinary = (
        ah.gamma(each, NEW[:100], radius=1.0, output="logit", scale=None)
        for each in (module, trained())
    )
    assert ours.mean < 0.7 * ordinary.mean
    assert accuracy(module, NEW, NEW_LABELS).value > 0.85


def test_stacked_networks_have_weights_of_their_own() -> None:
    pair = stacked([network(0), network(0)])
    train(pair, IMAGES[:128], LABELS[:128], objective=Penalised(0.5, [0.0, 1.0]), batch_size=64)
    alone = network(0)
    train(alone, IMAGES[:128], LABELS[:128], objective=Penalised(0.5, 0.0), batch_size=64)
    free, held = pair.separate()
    torch.testing.assert_close(free[0].weight, alone[0].weight, atol=1e-4, rtol=1e-3)
    assert (free[0].weight != held[0].weight).any()


def test_the_most_fragile_get_the_larger_radius() -> None:
    scores = np.array([np.nan, 5.0, 1.0, 3.0])
    assert spade_radii(scores, 0.2, 0.4, 0.5).tolist() == [0.2, 0.4, 0.2, 0.4]


def test_a_penalty_needs_a_radius() -> None:
    with pytest.raises(SettingsError, match="positive radius"):
        gamma_penalty(Squares(), torch.rand(2, 3), 0.0)
