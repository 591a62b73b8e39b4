"""A folder of images as one array, and what could not be read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.extras import needs
from anharmonic.errors import InputError, first_line

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["Images", "read_images"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


@dataclass(frozen=True, repr=False)
class Images:
    """Images of one size, and their names.

    Parameters
    ----------
    pixels
        (images, height, width) or (images, height, width, 3), from 0 to 255.
    names
        Of the files.
    skipped
        Which files could not be read, and why.
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
    """Read every image of a folder, in the order of their names.

    Sizes and modes may be mixed. A file that cannot be read is skipped, named and counted; a
    folder without any image is an error.

    Parameters
    ----------
    folder
        Where the files are; folders in it are left out.
    size
        (height, width) that every image is resized to.
    grey
        Whether to take grey levels, or else colours.
    """
    needs("PIL.Image", "images")
    import PIL.Image

    directory = Path(folder)
    if not directory.is_dir():
        raise InputError(f"{directory} is no folder: give one with images ({', '.join(SUFFIXES)})")
    files = sorted(file for file in directory.iterdir() if file.suffix.lower() in SUFFIXES)
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
        unreadable = f": {', '.join(list(skipped)[:5])} cannot be read" if skipped else ""
        raise InputError(
            f"{directory} holds no image that can be read ({', '.join(SUFFIXES)}){unreadable}"
        )
    return Images(np.stack(pixels), tuple(names), skipped)


def _resized(image: PIL.Image.Image, size: tuple[int, int], grey: bool) -> NDArray[np.float32]:
    from PIL.Image import Resampling

    plain = image.convert("L" if grey else "RGB")
    if (plain.height, plain.width) != tuple(size):
        plain = plain.resize((size[1], size[0]), Resampling.BILINEAR)
    return np.asarray(plain, dtype=np.float32)
