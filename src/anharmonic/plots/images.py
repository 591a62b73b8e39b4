"""Points that are images: as pictures, with some of their pixels marked."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.plots.style import graph_objects

if TYPE_CHECKING:
    from plotly.basedatatypes import BaseTraceType as Trace

__all__ = ["is_image", "marks", "picture", "pixels", "png"]


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether a point's shape is that of an image: (h, w), with 1 or 3 channels on either side."""
    return len(shape) == 2 or (len(shape) == 3 and (shape[0] in (1, 3) or shape[2] in (1, 3)))


def pixels(values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Values of one point as (height, width, channels)."""
    if not is_image(shape):
        raise SettingsError(
            f"points of shape {shape} are no images: give (height, width), with 1 or 3 channels "
            "before or after"
        )
    image = np.asarray(values, dtype=np.float64).reshape(shape)
    if image.ndim == 2:
        return image[:, :, None]
    return image if image.shape[2] in (1, 3) else np.moveaxis(image, 0, 2)


def picture(values: ArrayLike, shape: tuple[int, ...], low: float, high: float) -> Trace:
    """A trace that shows one point, its values from `low` (black) to `high` (white)."""
    return graph_objects().Image(z=_colours(values, shape, low, high), hoverinfo="skip")


def _colours(
    values: ArrayLike, shape: tuple[int, ...], low: float, high: float
) -> NDArray[np.uint8]:
    """A point as (height, width, 3) bytes, from `low` (black) to `high` (white)."""
    image = (pixels(values, shape) - low) / max(high - low, 1e-300)
    levels = np.clip(np.round(255 * image), 0, 255).astype(np.uint8)
    # One channel is grey: the same level in red, green and blue.
    return np.broadcast_to(levels, (*levels.shape[:2], 3))


def png(values: ArrayLike, shape: tuple[int, ...], low: float, high: float) -> str:
    """One point as a picture that a page can hold: the address of a PNG in itself.

    >>> png([0.0, 1.0], (1, 2), 0.0, 1.0)[:22]
    'data:image/png;base64,'
    """
    colours = np.ascontiguousarray(_colours(values, shape, low, high))
    height, width = colours.shape[:2]
    # Each line begins with the number of its filter, 0 for none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), colours.reshape(height, -1)], axis=1)
    # A header (8 bits, colour type 2: red, green, blue), the packed lines, the end.
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    file = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(file).decode()


def marks(before: ArrayLike, after: ArrayLike, shape: tuple[int, ...]) -> Trace:
    """A trace of rings around the pixels that differ."""
    differs = (pixels(before, shape) != pixels(after, shape)).any(axis=2)
    rows, columns = np.nonzero(differs)
    return graph_objects().Scatter(
        x=columns,
        y=rows,
        mode="markers",
        showlegend=False,
        marker={"symbol": "circle-open", "size": 9, "color": "#D55E00", "line": {"width": 2}},
        hoverinfo="skip",
    )
