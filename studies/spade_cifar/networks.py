"""Networks for pictures: residual ones of several depths, and those of Table 5.

All take channels-first points between 0 and 1 and give logits; they standardise points themselves,
so that attacks move in grey levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["ARCHITECTURES", "CLASSES", "WIDTH", "convnet", "mlp", "resnet", "seeded"]

CLASSES = 10
WIDTH = 32
"""Of residual networks: half the usual one."""
MEANS = {1: (0.1307,), 3: (0.4914, 0.4822, 0.4465)}
SPREADS = {1: (0.3081,), 3: (0.2470, 0.2435, 0.2616)}
"""Of MNIST's and CIFAR-10's training images, by their number of channels."""


def _standardise(channels: int) -> Module:
    import torch
    from torch import nn

    class Standardise(nn.Module):
        mean: torch.Tensor
        spread: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.tensor(MEANS[channels])[:, None, None])
            self.register_buffer("spread", torch.tensor(SPREADS[channels])[:, None, None])

        def forward(self, points: torch.Tensor) -> torch.Tensor:
            return (points - self.mean) / self.spread

    return Standardise()


def _block(entering: int, leaving: int, stride: int) -> Module:
    """Two convolutions around a shortcut (He et al., 2016)."""
    import torch
    from torch import nn
    from torch.nn.functional import relu

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(entering, leaving, 3, stride, 1, bias=False)
            self.first_norm = nn.BatchNorm2d(leaving)
            self.second = nn.Conv2d(leaving, leaving, 3, 1, 1, bias=False)
            self.second_norm = nn.BatchNorm2d(leaving)
            same = stride == 1 and entering == leaving
            self.shortcut = nn.Sequential(
                *(
                    ()
                    if same
                    else (
                        nn.Conv2d(entering, leaving, 1, stride, bias=False),
                        nn.BatchNorm2d(leaving),
                    )
                )
            )

        def forward(self, points: torch.Tensor) -> torch.Tensor:
            inner = relu(self.first_norm(self.first(points)))
            outer: torch.Tensor = self.second_norm(self.second(inner)) + self.shortcut(points)
            return relu(outer)

    return Block()


def resnet(blocks: Sequence[int] = (2, 2, 2, 2), width: int = WIDTH) -> Module:
    """A residual network for 32 × 32 colour pictures: (2, 2, 2, 2) blocks make ResNet-18.

    The paper's has width 64; half of that costs a quarter of the arithmetic.
    """
    from torch import nn

    layers: list[Module] = [
        _standardise(3),
        nn.Conv2d(3, width, 3, 1, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
    ]
    entering = width
    for stage, count in enumerate(blocks):
        leaving = width << stage
        for number in range(count):
            stride = 2 if stage and not number else 1
            layers.append(_block(entering, leaving, stride))
            entering = leaving
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(entering, CLASSES)
    )


def mlp(shape: Sequence[int] = (3, 32, 32), hidden: Sequence[int] = (1024,)) -> Module:
    """Hidden layers of ReLU; one of 1024 units is Hein and Andriushchenko's (2017)."""
    from torch import nn

    entering = shape[0] * shape[1] * shape[2]
    layers: list[Module] = [_standardise(shape[0]), nn.Flatten()]
    for units in hidden:
        layers += [nn.Linear(entering, units), nn.ReLU()]
        entering = units
    return nn.Sequential(*layers, nn.Linear(entering, CLASSES))


def convnet(shape: Sequence[int] = (3, 32, 32)) -> Module:
    """Four convolutions and three dense layers: the seven layers of Carlini and Wagner (2017)."""
    from torch import nn

    few, dense = (64, 256) if shape[0] == 3 else (32, 200)
    layers: list[Module] = [_standardise(shape[0])]
    entering = shape[0]
    for leaving in (few, 2 * few):
        layers += [nn.Conv2d(entering, leaving, 3), nn.ReLU()]
        layers += [nn.Conv2d(leaving, leaving, 3), nn.ReLU(), nn.MaxPool2d(2)]
        entering = leaving
    # Two convolutions take 2 pixels each off a side, then it is halved; twice.
    side = ((shape[1] - 4) // 2 - 4) // 2
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        nn.Linear(entering * side * side, dense),
        nn.ReLU(),
        nn.Linear(dense, dense),
        nn.ReLU(),
        nn.Linear(dense, CLASSES),
    )


ARCHITECTURES: dict[str, Callable[[], Module]] = {
    "ResNet-18": resnet,
    "ResNet-10": lambda: resnet((1, 1, 1, 1)),
    "ResNet-34": lambda: resnet((3, 4, 6, 3)),
    "MLP": mlp,
    "CNN": convnet,
}
"""Of colour pictures, by name; ResNets at half the usual width."""


def seeded(make: Callable[[], Module], seed: int) -> Module:
    """A network whose first weights depend on the seed alone."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()
