"""Folders of images: mixed sizes and modes, and files that are none."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from anharmonic.errors import InputError
from anharmonic.images import read_images


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    for name, mode, size in (
        ("b.png", "L", (40, 30)),
        ("a.jpg", "RGB", (64, 64)),
        ("c.PNG", "RGBA", (10, 20)),
        ("d.gif", "P", (33, 7)),
    ):
        shape = (*size[::-1], 4)
        image = Image.fromarray(random.integers(0, 256, shape, dtype=np.uint8), "RGBA")
        image.convert(mode).save(tmp_path / name)
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and then nothing")
    whole = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


@pytest.mark.parametrize(("grey", "shape"), [(True, (4, 24, 32)), (False, (4, 24, 32, 3))])
def test_mixed_sizes_and_modes_come_out_alike(folder, grey, shape):
    found = read_images(folder, (24, 32), grey)
    assert found.names == ("a.jpg", "b.png", "c.PNG", "d.gif")
    assert found.pixels.shape == shape
    assert found.pixels.dtype == np.float32
    assert found.pixels.min() >= 0
    assert found.pixels.max() <= 255


def test_files_that_cannot_be_read_are_named_and_counted(folder):
    found = read_images(folder)
    assert set(found.skipped) == {"broken.png", "cut.jpg"}
    assert all(found.skipped.values())
    assert "2 files skipped" in repr(found)


def test_a_grey_image_of_the_right_size_is_left_alone(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (5, 6), dtype=np.uint8)
    Image.fromarray(pixels, "L").save(tmp_path / "x.png")
    np.testing.assert_array_equal(read_images(tmp_path, (5, 6)).pixels[0], pixels)


def test_no_folder_and_no_images(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        read_images(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no image"):
        read_images(tmp_path)
    (tmp_path / "x.png").write_bytes(b"none")
    with pytest.raises(InputError, match=r"x\.png cannot be read"):
        read_images(tmp_path)
