"""Small networks for digits, and many of a kind trained as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["lenet5", "stacked"]


def lenet5(seed: int = 0, patches: bool = False) -> Module:
    """LeNet-5 for 28 × 28 grey images (rows, 1, 28, 28), with ReLU and maxima: 61,706 weights.

    `patches` computes the same convolutions as products of matrices, which many networks at
    once (`stacked`) can be faster with.
    """
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        convolution = _patched() if patches else nn.Conv2d
        return nn.Sequential(
            convolution(1, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            convolution(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(400, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 10),
        )


def _patched() -> Callable[..., Module]:
    """A convolution of one stride as a product of matrices."""
    import torch
    from torch import nn

    class Patched(nn.Conv2d):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            padding = int(self.padding[0])
            height, width = (
                side + 2 * padding - size + 1
                for side, size in zip(input.shape[-2:], self.kernel_size, strict=True)
            )
            columns = nn.functional.unfold(input, self.kernel_size, padding=padding)
            made: torch.Tensor = self.weight.flatten(1) @ columns
            if self.bias is not None:
                made = made + self.bias[:, None]
            return made.reshape((*made.shape[:-1], height, width))

    return Patched


def stacked(modules: Sequence[Module]) -> Module:
    """Networks of one shape as one module, which does the work of all in the same few kernels.

    It takes points (networks · rows, …), the first network's rows first, and answers in the same
    order. `copies` is how many there are, `separate()` gives them back.
    """
    import copy

    import torch
    from torch import nn
    from torch.func import functional_call, stack_module_state

    like = copy.deepcopy(modules[0]).to("meta")

    class Stack(nn.Module):
        copies = len(modules)

        def __init__(self) -> None:
            super().__init__()
            weights, _ = stack_module_state(list(modules))
            self.names = tuple(weights)
            self.held = nn.ParameterList([weight.detach().clone() for weight in weights.values()])

        def forward(self, points: torch.Tensor) -> torch.Tensor:
            each = points.reshape((self.copies, -1, *points.shape[1:]))

            def one(weights: dict[str, Any], rows: torch.Tensor) -> Any:
                return functional_call(like, weights, (rows,))

            weights = dict(zip(self.names, self.held, strict=True))
            answers: torch.Tensor = torch.vmap(one)(weights, each)
            return answers.flatten(0, 1)

        def separate(self) -> list[Module]:
            """The networks, each on its own, with the weights they have now."""
            made = []
            for at, module in enumerate(modules):
                single = copy.deepcopy(module).to(self.held[0].device)
                for weight, every in zip(single.parameters(), self.held, strict=True):
                    weight.data.copy_(every.data[at])
                made.append(single)
            return made

    return Stack()
