"""A folder of images as one array, and what could not be read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic.errors import InputError, MissingExtra, first_line

__all__ = ["Images", "read_images"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


@dataclass(frozen=True, repr=False)
class Images:
    """Images of one size: `pixels` (images, height, width[, 3]) from 0 to 255, and their names.

    `skipped` says which files could not be read, and why.
    """

    pixels: NDArray[np.float32]
    names: tuple[str, ...]
    skipped: dict[str, str]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        left_out = f", {len(self.skipped)} files skipped" if self.skipped else ""
        return f"<{len(self)} images of {'×'.join(map(str, self.pixels.shape[1:]))}{left_out}>"


def read_images(
    folder: str | os.PathLike[str], size: tuple[int, int] = (100, 100), grey: bool = True
) -> Images:
    """Every image of a folder, as grey or colour, at one size (height, width), in name order.

    Sizes and modes may be mixed. A file that cannot be read is skipped, named and counted; a
    folder without any image is an error.
    """
    try:
        import PIL.Image
    except ImportError as problem:
        raise MissingExtra("pillow", "images") from problem
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{place} is no folder: give one with images ({', '.join(SUFFIXES)})")
    files = sorted(file for file in place.iterdir() if file.suffix.lower() in SUFFIXES)
    pixels: list[NDArray[np.float32]] = []
    names: list[str] = []
    skipped: dict[str, str] = {}
    for file in files:
        try:
            with PIL.Image.open(file) as image:
                pixels.append(_resized(image, size, grey))
        except (OSError, SyntaxError, ValueError, PIL.Image.DecompressionBombError) as problem:
            skipped[file.name] = first_line(problem)
            continue
        names.append(file.name)
    if not names:
        some = f": {', '.join(list(skipped)[:5])} cannot be read" if skipped else ""
        raise InputError(f"{place} holds no image that can be read ({', '.join(SUFFIXES)}){some}")
    return Images(np.stack(pixels), tuple(names), skipped)


def _resized(image: Any, size: tuple[int, int], grey: bool) -> NDArray[np.float32]:
    from PIL.Image import Resampling

    plain = image.convert("L" if grey else "RGB")
    if (plain.height, plain.width) != tuple(size):
        plain = plain.resize((size[1], size[0]), Resampling.BILINEAR)
    return np.asarray(plain, dtype=np.float32)
