"""What is done to pixels before a network sees them, declared and not hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anharmonic.errors import SettingsError

if TYPE_CHECKING:
    from transformers import BaseImageProcessor

__all__ = ["IMAGENET", "Preprocessing"]


@dataclass(frozen=True)
class Preprocessing:
    """Pixels of 0 to `largest` become what a network was trained on: in this order.

    Parameters
    ----------
    size
        (height, width) to resize to; None leaves them as they are.
    mean, deviation
        What is taken away, and what the rest is divided by, one number for each channel. Grey
        images get three equal channels first, where there are three numbers.
    largest
        What pixels are divided by, before the mean is taken away.
    reverse
        Whether red, green, blue become blue, green, red.
    """

    size: tuple[int, int] | None = (224, 224)
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    deviation: tuple[float, ...] = (0.229, 0.224, 0.225)
    largest: float = 255.0
    reverse: bool = False

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.deviation) or len(self.mean) not in (1, 3):
            raise SettingsError(
                "mean and deviation need one number for each channel of the network, 1 or 3"
            )
        if not (min(self.deviation) > 0 and self.largest > 0):
            raise SettingsError("the deviation of every channel and the largest must be above 0")

    @classmethod
    def of_processor(cls, processor: BaseImageProcessor) -> Preprocessing:
        """What an image processor of transformers does, as far as it is resizing and scaling."""
        size = processor.size or {}
        edge = size.get("shortest_edge")
        height, width = size.get("height", edge), size.get("width", edge)
        crop = getattr(processor, "crop_size", None)
        if getattr(processor, "do_center_crop", False) and crop:
            height, width = crop["height"], crop["width"]
        scaled = getattr(processor, "do_rescale", True)
        normal = getattr(processor, "do_normalize", True)
        mean = tuple(processor.image_mean) if normal and processor.image_mean else (0.0,) * 3
        deviation = tuple(processor.image_std) if normal and processor.image_std else (1.0,) * 3
        largest = 1 / processor.rescale_factor if scaled else 1.0
        return cls((height, width) if height and width else None, mean, deviation, largest)


IMAGENET = Preprocessing()
"""What most networks trained on ImageNet want: 224 × 224, its mean and deviation."""
