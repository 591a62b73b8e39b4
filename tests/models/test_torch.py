"""torch modules: the right numbers, and nothing left changed."""

import copy
import pickle
import threading
from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from anharmonic.errors import OutputError
from anharmonic.models import as_model


@pytest.fixture
def network() -> nn.Module:
    torch.manual_seed(0)
    layers = (nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    return nn.Sequential(*layers)


def direct(network: nn.Module, points: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    twin = copy.deepcopy(network).eval()
    with torch.no_grad():
        return twin(torch.tensor(points, dtype=dtype))


def norm(outputs: torch.Tensor) -> torch.Tensor:
    return outputs.norm(dim=1)


def test_every_output(network, points) -> None:
    raw = direct(network, points, torch.float32)
    expected = {
        None: ("value", raw),
        "logit": ("logit", raw),
        "probability": ("probability", torch.softmax(raw, dim=1)),
        "label": ("label", raw.argmax(dim=1).float()),
        "onehot": ("onehot", nn.functional.one_hot(raw.argmax(dim=1), 3).float()),
        1: ("value", raw[:, 1]),
        norm: ("value", norm(raw)),
    }
    for output, (kind, outputs) in expected.items():
        model = as_model(network, output=output)
        assert (model.kind, model.name) == (kind, "Sequential")
        torch.testing.assert_close(model(points), outputs, rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(pickle.loads(pickle.dumps(model))(points), model(points))
    assert torch.equal(as_model(network)(points), raw)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.bfloat16])
def test_points_come_in_the_modules_precision(network, points, dtype) -> None:
    network.to(dtype)
    rough = dtype == torch.bfloat16
    told = pytest.warns(UserWarning, match="three digits") if rough else nullcontext()
    with told:
        model = as_model(network)
    placed = torch.as_tensor(model.place(points))
    assert placed.dtype == dtype
    assert model.place(placed) is placed
    assert model.place(torch.tensor(points)).dtype == dtype
    assert model(points).dtype == dtype
    assert torch.equal(model(placed), direct(network, points, dtype))
    with told:
        labels = as_model(network, output="label")(points)
    assert labels.dtype in (torch.float32, torch.float64)


def test_points_follow_a_module_that_moves(network, points) -> None:
    model = as_model(network)
    network.to("meta")
    assert model.place(points).device.type == "meta"


def test_without_parameters_points_stay_as_they_are(points) -> None:
    model = as_model(nn.Softmax(dim=1))
    assert model.place(points).dtype == np.float64
    assert model.place(points.astype(np.float32)).dtype == np.float32
    assert model.place(np.arange(4)).dtype == np.float64
    frozen = points.copy()
    frozen.flags.writeable = False
    model.place(frozen)[0] = 9.0
    np.testing.assert_array_equal(frozen, points)
    assert model.place(points[::-1]).shape == points.shape


def test_a_buffer_says_the_precision_too(points) -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.tensor(3))
            self.register_buffer("scale", torch.tensor(2.0))

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return inputs * self.scale

    assert as_model(Scale())(points).dtype == torch.float32


def test_modes_and_gradients_are_left_as_found(network, points) -> None:
    network.train()
    network[1].eval()
    network[0].weight.requires_grad_(False)
    before = [part.training for part in network.modules()]
    state = copy.deepcopy(network.state_dict())
    model = as_model(network)
    with torch.enable_grad():
        outputs = model(points)
        assert torch.is_grad_enabled()
    assert not outputs.requires_grad
    assert torch.equal(outputs, model(points))
    with torch.no_grad():
        model(points)
        assert not torch.is_grad_enabled()
    assert [part.training for part in network.modules()] == before
    assert [value.requires_grad for value in network.parameters()][:2] == [False, True]
    assert all(torch.equal(value, state[key]) for key, value in network.state_dict().items())


def test_modes_are_restored_after_an_error(network) -> None:
    network.train()
    with pytest.raises(RuntimeError):
        as_model(network)(np.zeros((2, 5)))
    assert all(part.training for part in network.modules())
    assert torch.is_grad_enabled()


def test_threads_share_a_module(points) -> None:
    inside, leave = threading.Barrier(2), threading.Event()

    class Slow(nn.Module):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            inside.wait(10)
            if inputs.shape[0] == 1:
                leave.wait(10)
            seen.append(self.training)
            return inputs

    seen: list[bool] = []
    slow = Slow().train()
    threads = [threading.Thread(target=as_model(slow), args=(points[:rows],)) for rows in (1, 2)]
    for thread in threads:
        thread.start()
    threads[1].join()
    assert not slow.training, "the first to leave must not switch training on under the other"
    leave.set()
    threads[0].join()
    assert seen == [False, False]
    assert slow.training


@dataclass
class Answer:
    logits: torch.Tensor


@pytest.mark.parametrize(
    "wrap",
    [
        lambda scores: (scores, None),
        lambda scores: [scores],
        lambda scores: {"logits": scores},
        lambda scores: OrderedDict(hidden=scores),
        lambda scores: {"loss": None, "logits": scores},
        lambda scores: Answer(scores),
    ],
)
def test_containers_of_scores(wrap, points) -> None:
    class Wrapped(nn.Module):
        def forward(self, inputs: torch.Tensor) -> object:
            return wrap(2 * inputs)

    assert torch.equal(as_model(Wrapped())(points), 2 * torch.tensor(points))


def test_an_answer_without_a_tensor(points) -> None:
    class Text(nn.Module):
        def forward(self, inputs: torch.Tensor) -> str:
            return "no"

    with pytest.raises(OutputError, match="wrap it in a function"):
        as_model(Text())(points)


def test_exported_modules(network, points) -> None:
    raw = direct(network, points, torch.float32)
    exported = torch.export.export(network.eval(), (torch.zeros(150, 4),)).module()
    torch.testing.assert_close(as_model(exported)(points), raw)
