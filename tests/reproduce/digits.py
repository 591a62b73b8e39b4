"""Digits of our own in MNIST's files: blurred blobs, at a place for each class."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np


def write_digits(folder: Path, counts: dict[str, int]) -> Path:
    """Write so many images and labels for each part, "train" and "t10k"."""
    random = np.random.default_rng(0)
    for part, count in counts.items():
        labels = np.arange(count) % 10
        images = random.integers(0, 60, size=(count, 28, 28))
        for image, label in zip(images, labels, strict=True):
            row, column = divmod(int(label), 4)
            image[3 + 8 * row : 9 + 8 * row, 1 + 7 * column : 6 + 7 * column] += 180
        for name, array, axes in (("images-idx3", images, 3), ("labels-idx1", labels, 1)):
            head = struct.pack(f">BBBB{axes}I", 0, 0, 8, axes, *array.shape)
            (folder / f"{part}-{name}-ubyte").write_bytes(head + array.astype(np.uint8).tobytes())
    return folder
