"""ResNet-50 as Keras has it, in torch, its batch normalisation folded into the convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["ResNet50", "folded"]

Array = np.ndarray[Any, Any]
STAGES = {"2": "abc", "3": "abcd", "4": "abcdef", "5": "abc"}
EPSILON = 1e-3


def folded(weights: Mapping[str, Array]) -> dict[str, Array]:
    """A state for `ResNet50` from Keras's arrays.

    A convolution followed by (x − mean)·scale + shift is a convolution with another bias.
    """
    state = {"head.weight": weights["fc1000/kernel"].T, "head.bias": weights["fc1000/bias"]}
    for name in (key.removesuffix("/kernel") for key in weights if key.endswith("/kernel")):
        if name == "fc1000":
            continue
        norm = "bn_conv1" if name == "conv1" else name.replace("res", "bn")
        gamma, beta, mean, variance = (
            weights[f"{norm}/{part}"]
            for part in ("gamma", "beta", "moving_mean", "moving_variance")
        )
        scale = gamma / np.sqrt(variance + EPSILON)
        # Keras has (height, width, in, out), torch (out, in, height, width).
        state[f"{_place(name)}.weight"] = (weights[f"{name}/kernel"] * scale).transpose(3, 2, 0, 1)
        state[f"{_place(name)}.bias"] = (weights[f"{name}/bias"] - mean) * scale + beta
    return state


def _place(name: str) -> str:
    """Where a Keras layer stands here: res4b_branch2a is blocks.4b.a."""
    if name == "conv1":
        return name
    block, branch = name.removeprefix("res").split("_")
    return f"blocks.{block}.{'shortcut' if branch == 'branch1' else branch[-1]}"


class Bottleneck(nn.Module):
    """1×1, 3×3 and 1×1 convolutions beside a shortcut; the stride is in the first."""

    def __init__(self, channels: int, wide: int, stride: int, first: bool) -> None:
        super().__init__()
        self.a = nn.Conv2d(channels, wide, 1, stride)
        self.b = nn.Conv2d(wide, wide, 3, padding=1)
        self.c = nn.Conv2d(wide, 4 * wide, 1)
        self.shortcut = nn.Conv2d(channels, 4 * wide, 1, stride) if first else nn.Identity()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        inner = torch.relu(self.b(torch.relu(self.a(images))))
        return torch.relu(self.c(inner) + self.shortcut(images))


class ResNet50(nn.Module):
    """Logits (rows, 1000) of images (rows, 3, height, width): blue, green, red less their means."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3)
        self.blocks = nn.ModuleDict()
        channels = 64
        for number, (stage, letters) in enumerate(STAGES.items()):
            wide = 64 * 2**number
            for letter in letters:
                first = letter == "a"
                stride = 2 if first and stage != "2" else 1
                self.blocks[stage + letter] = Bottleneck(channels, wide, stride, first)
                channels = 4 * wide
        self.head = nn.Linear(channels, 1000)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        # What came out of a ReLU is not below 0, so padding by 0 is Keras's padding.
        images = nn.functional.max_pool2d(torch.relu(self.conv1(images)), 3, 2, padding=1)
        for block in self.blocks.values():
            images = block(images)
        logits: torch.Tensor = self.head(images.mean(dim=(2, 3)))
        return logits
