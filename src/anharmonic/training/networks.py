"""Small networks for digits, and many of a kind trained as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["lenet5", "stacked"]


def lenet5(seed: int = 0, patches: bool = False) -> Module:
    """LeNet-5 for 28 × 28 grey images (rows, 1, 28, 28), with ReLU and max pooling: 61,706 weights.

    Parameters
    ----------
    seed
        Of the weights.
    patches
        Compute the same convolutions as products of matrices, which many networks at once
        (`stacked`) can be faster with.

    References
    ----------
    LeCun et al., 1998.
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
    """A convolution of stride 1 as a product of matrices (im2col)."""
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
            # (channels out, patch) @ (rows, patch, positions)
            product: torch.Tensor = self.weight.flatten(1) @ columns
            if self.bias is not None:
                product = product + self.bias[:, None]
            return product.reshape((*product.shape[:-1], height, width))

    return Patched


def stacked(modules: Sequence[Module]) -> Module:
    """Networks of one shape as one module, which does the work of all in the same few kernels.

    Parameters
    ----------
    modules
        The networks.

    Returns
    -------
    Module
        It takes points (networks · rows, …), the first network's rows first, and answers in the
        same order. `copies` is how many there are, `separate()` gives them back.
    """
    import copy

    import torch
    from torch import nn
    from torch.func import functional_call, stack_module_state

    # The architecture alone: weights are handed in at every call.
    like = copy.deepcopy(modules[0]).to("meta")

    class Stack(nn.Module):
        copies = len(modules)

        def __init__(self) -> None:
            super().__init__()
            weights, _ = stack_module_state(list(modules))
            self.names = tuple(weights)
            self.held = nn.ParameterList([weight.detach().clone() for weight in weights.values()])

        def forward(self, points: torch.Tensor) -> torch.Tensor:
            batches = points.reshape((self.copies, -1, *points.shape[1:]))

            def call_one(weights: dict[str, torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
                outputs: torch.Tensor = functional_call(like, weights, (rows,))
                return outputs

            weights = dict(zip(self.names, self.held, strict=True))
            outputs: torch.Tensor = torch.vmap(call_one)(weights, batches)
            return outputs.flatten(0, 1)

        def separate(self) -> list[Module]:
            """The networks, each on its own, with the weights they have now."""
            singles = []
            for number, module in enumerate(modules):
                single = copy.deepcopy(module).to(self.held[0].device)
                for weight, stack in zip(single.parameters(), self.held, strict=True):
                    weight.data.copy_(stack.data[number])
                singles.append(single)
            return singles

    return Stack()
