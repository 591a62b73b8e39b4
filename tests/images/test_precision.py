"""The fast mode: half precision but for the last layer, and what that costs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.images import Preprocessing, classifier, rounding

PLAIN = Preprocessing(size=(12, 12))


@pytest.fixture
def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.BatchNorm2d(8),
        torch.nn.Tanh(),
        torch.nn.Flatten(),
        torch.nn.Linear(800, 40),
        torch.nn.Tanh(),
        torch.nn.Linear(40, 5),
    ).eval()


@pytest.fixture
def pixels() -> Any:
    return np.random.default_rng(0).integers(0, 256, size=(6, 10, 10)).astype(float)


def test_all_but_the_last_layer_is_halved_and_the_network_left_as_it_was(network: Any) -> None:
    fast = classifier(network, PLAIN, precision="float16")
    held = [parameter.dtype for parameter in fast.network.parameters()]
    assert held == [torch.float16] * (len(held) - 2) + [torch.float32] * 2
    assert all(parameter.dtype == torch.float32 for parameter in network.parameters())


def test_pixels_come_whole_and_answers_leave_whole(network: Any, pixels: Any) -> None:
    fast = classifier(network, PLAIN, precision="float16")
    model = ah.as_model(fast)
    assert torch.as_tensor(model.place(pixels)).dtype == torch.float32
    answer = model(pixels)
    assert answer.dtype == torch.float32
    exact = ah.as_model(classifier(network, PLAIN))(pixels)
    assert 0 < float((answer - exact).abs().max()) < 5e-3


def test_the_cost_of_a_precision_is_told(network: Any, pixels: Any) -> None:
    exact = classifier(network, PLAIN)
    fast = classifier(network, PLAIN, precision="float16")
    cost = rounding(fast, exact, pixels, radius=200.0, bounds=(0, 255))
    assert 0 < cost.share < 0.5
    assert rounding(exact, exact, pixels, radius=200.0).error == 0
    assert "of gamma" in str(cost)
    crude = deepcopy(network).bfloat16()
    with pytest.warns(UserWarning, match="three digits"):
        worse = rounding(classifier(crude, PLAIN), exact, pixels, radius=200.0, bounds=(0, 255))
    assert worse.error > 2 * cost.error


@pytest.mark.parametrize("precision", ["bfloat16", "float8"])
def test_a_precision_that_swallows_gamma_is_refused(network: Any, precision: Any) -> None:
    with pytest.raises(SettingsError, match="two fifths of gamma"):
        classifier(network, PLAIN, precision=precision)
