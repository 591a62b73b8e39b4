"""A network with its preprocessing in front; imported only where torch is wanted."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from anharmonic.errors import PointsError
from anharmonic.images.preprocessing import Preprocessing

__all__ = ["Classifier", "prepared"]


class Classifier(torch.nn.Module):
    """Pixels in, the network's answer out.

    Takes (rows, height, width), (rows, height, width, channels) as image files come, or
    (rows, channels, height, width) as torch has them.
    """

    def __init__(
        self,
        network: torch.nn.Module,
        preprocessing: Preprocessing,
        classes: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__()
        self.network, self.preprocessing, self.classes = network, preprocessing, classes

    def forward(self, pixels: torch.Tensor) -> Any:
        return self.network(prepared(pixels, self.preprocessing))


def prepared(pixels: torch.Tensor, how: Preprocessing) -> torch.Tensor:
    """(rows, channels, height, width) as a network wants them; every step has a gradient."""
    images = _channels_first(pixels)
    wanted = len(how.mean)
    if images.shape[1] != wanted:
        # Weights of the ITU for what the eye sees, as imaging libraries use.
        weights = images.new_tensor((0.299, 0.587, 0.114)).reshape(1, 3, 1, 1)
        images = images.expand(-1, 3, -1, -1) if wanted == 3 else (images * weights).sum(1, True)
    if how.size is not None and tuple(images.shape[-2:]) != how.size:
        images = functional.interpolate(images, how.size, mode="bilinear", antialias=True)
    images = images.flip(1) if how.reverse else images
    mean, deviation = (
        images.new_tensor(each).reshape(1, -1, 1, 1) for each in (how.mean, how.deviation)
    )
    return (images / how.largest - mean) / deviation


def _channels_first(pixels: torch.Tensor) -> torch.Tensor:
    if pixels.ndim == 3:
        return pixels[:, None]
    if pixels.ndim == 4 and pixels.shape[-1] in (1, 3):
        return pixels.permute(0, 3, 1, 2)
    if pixels.ndim == 4 and pixels.shape[1] in (1, 3):
        return pixels
    raise PointsError(
        f"points of shape {tuple(pixels.shape)} are no images: give (rows, height, width), or with "
        "1 or 3 channels as (rows, height, width, channels) or (rows, channels, height, width)"
    )
