"""PGD: exact on linear models, beside foolbox on a network, and inside its ball always."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from anharmonic.errors import OutputError, SettingsError
from anharmonic.training import Attack, accuracy, correct, robust_accuracy
from tests.training.digits import digits, trained

IMAGES, LABELS = digits()
NEW, NEW_LABELS = IMAGES[1300:], LABELS[1300:]


def linear(weights: list[list[float]]) -> nn.Module:
    module = nn.Linear(len(weights[0]), len(weights), bias=False).double()
    module.weight.data = torch.tensor(weights, dtype=torch.float64)
    return module


@pytest.mark.parametrize("norm", [2, np.inf])
def test_on_a_linear_model_the_attack_succeeds_exactly_beyond_the_margin(norm: float) -> None:
    module = linear([[3.0, 4.0], [0.0, 0.0]])
    points = np.array([[1.0, 0.5]] * 2)
    distance = 5.0 / (5.0 if norm == 2 else 7.0)  # margin over the dual norm of (3, 4)
    attack = Attack([0.99 * distance, 1.01 * distance], norm, 200, 0.05, bounds=None)
    moved = attack(module, points, np.array([0, 0]))
    assert correct(module, moved, [0, 0]).tolist() == [True, False]


@pytest.mark.parametrize(("norm", "radius", "step"), [(np.inf, 0.1, 0.01), (2, 0.5, 0.05)])
def test_robust_accuracy_agrees_with_foolbox_within_a_point(
    norm: float, radius: float, step: float
) -> None:
    foolbox = pytest.importorskip("foolbox")
    module = trained().eval()
    kind = foolbox.attacks.LinfPGD if norm == np.inf else foolbox.attacks.L2PGD
    theirs = kind(abs_stepsize=step, steps=40)
    model = foolbox.PyTorchModel(module, bounds=(0, 1))
    torch.manual_seed(0)
    images, labels = torch.from_numpy(NEW), torch.from_numpy(NEW_LABELS)
    _, _, broken = theirs(model, images, labels, epsilons=radius)
    attack = Attack(radius, norm, steps=40, step=step)
    ours = robust_accuracy(module, NEW, NEW_LABELS, attack)
    clean = accuracy(module, NEW, NEW_LABELS)
    assert clean.value > 0.9
    assert 0.05 < ours.value < clean.value - 0.1
    assert abs(ours.value - (1 - broken.float().mean().item())) <= 0.01


@pytest.mark.parametrize("norm", [2, np.inf])
def test_moved_points_stay_in_their_own_ball_and_in_bounds(norm: float) -> None:
    radii = np.linspace(0, 0.4, 50).astype(np.float32)
    moved = Attack(radii, norm, steps=5)(trained(), NEW[:50], NEW_LABELS[:50]).numpy()
    length = np.linalg.norm((moved - NEW[:50]).reshape(50, -1), ord=norm, axis=1)
    assert (length <= radii + 1e-6).all()
    assert length[1:].min() > 0
    assert moved.min() >= 0
    assert moved.max() <= 1


def test_batches_do_not_change_an_attack_and_seeds_do() -> None:
    few = Attack(0.2, steps=3, restarts=2, batch_size=7)
    many = Attack(0.2, steps=3, restarts=2, batch_size=100)
    other = Attack(0.2, steps=3, restarts=2, seed=1)
    one, two, three = (
        attack(trained(), NEW[:20], NEW_LABELS[:20]).numpy() for attack in (few, many, other)
    )
    np.testing.assert_allclose(one, two, atol=1e-6)
    assert np.abs(one - three).max() > 1e-3


def test_restarts_only_help() -> None:
    once, often = (
        robust_accuracy(trained(), NEW, NEW_LABELS, Attack(0.12, steps=5, restarts=restarts))
        for restarts in (1, 5)
    )
    assert often.value <= once.value


def test_the_module_is_left_as_found() -> None:
    module = trained().train()
    module.zero_grad(set_to_none=True)
    Attack(0.1, steps=1)(module, NEW[:2], NEW_LABELS[:2])
    assert module.training
    assert all(weight.grad is None for weight in module.parameters())


def test_what_cannot_be_attacked_is_refused() -> None:
    class Closed(nn.Module):
        def forward(self, points: torch.Tensor) -> torch.Tensor:
            return points.detach().flatten(1)[:, :2]

    with pytest.raises(OutputError, match="no gradient"):
        Attack(0.1, steps=1)(Closed(), NEW[:2], NEW_LABELS[:2] * 0)
    with pytest.raises(SettingsError, match="norm"):
        Attack(0.1, norm=1)
    with pytest.raises(SettingsError, match="one radius for each point"):
        Attack([0.1, 0.2, 0.3])(trained(), NEW[:2], NEW_LABELS[:2])
