"""A network with its preprocessing in front; imported only where torch is wanted."""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

import torch
from torch.nn import functional

from anharmonic.errors import OutputError, PointsError
from anharmonic.images.preprocessing import Preprocessing

__all__ = ["Classifier", "checked", "halved", "prepared"]

Answer = TypeVar("Answer")
"""What a network returns: a tensor, or an object that has one as `logits`."""


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

    @property
    def points_dtype(self) -> torch.dtype:
        """What pixels come in: half precision would round them to an eighth of a grey level."""
        own = self._own_dtype()
        return own if own.itemsize >= 4 else torch.float32

    def forward(self, pixels: torch.Tensor) -> object:
        images = prepared(pixels, self.preprocessing).to(self._own_dtype())
        return checked(self.network(images), self.classes)

    def _own_dtype(self) -> torch.dtype:
        weights = next(self.network.parameters(), None)
        return torch.float32 if weights is None else weights.dtype


def checked(answer: Answer, classes: tuple[str, ...] | None) -> Answer:
    """The answer as it is, if it has a column for each of the names that were given."""
    shape = tuple(getattr(getattr(answer, "logits", answer), "shape", ()))
    # A single column may stand for two classes, and what is no table is refused elsewhere.
    if classes is None or len(shape) != 2 or shape[1] in (1, len(classes)):
        return answer
    raise OutputError(
        f"the network tells {shape[1]:,} classes apart and classes= names {len(classes):,}: give "
        "one name for each, in the order of its outputs, or leave classes= out"
    )


def halved(network: torch.nn.Module) -> torch.nn.Module:
    """A copy in half precision, except for its last layer.

    Gamma is a small difference of outputs: rounding them alone would cost most of the digits.
    """
    copy = deepcopy(network).half()
    layers = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)
    last = [part for part in copy.modules() if isinstance(part, layers)][-1:]
    for layer in last:
        layer.float().register_forward_pre_hook(_in_single)
    return copy


def _in_single(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return tuple(tensor.float() for tensor in inputs)


def prepared(pixels: torch.Tensor, how: Preprocessing) -> torch.Tensor:
    """(rows, channels, height, width) as a network wants them; every step has a gradient."""
    images = _channels_first(pixels)
    wanted = len(how.mean)
    if images.shape[1] != wanted:
        # The luma weights of ITU-R BT.601, as imaging libraries use them.
        weights = images.new_tensor((0.299, 0.587, 0.114)).reshape(1, 3, 1, 1)
        images = images.expand(-1, 3, -1, -1) if wanted == 3 else (images * weights).sum(1, True)
    if how.size is not None and tuple(images.shape[-2:]) != how.size:
        images = functional.interpolate(images, how.size, mode="bilinear", antialias=True)
    images = images.flip(1) if how.reverse else images
    mean, deviation = (
        images.new_tensor(channels).reshape(1, -1, 1, 1) for channels in (how.mean, how.deviation)
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
