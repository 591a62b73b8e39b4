"""Free photographs in colour, cut to squares: those that packages carry."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import SettingsError

__all__ = ["EACH", "crops"]

NAMES = ("astronaut", "chelsea", "coffee", "hubble_deep_field", "motorcycle", "retina", "rocket")
EACH = 8


def _photographs() -> Iterator[Array]:
    """Seven of scikit-image and two of scikit-learn, (height, width, 3), 0 to 255."""
    try:
        from skimage import data as images
    except ImportError as problem:
        raise SettingsError(
            "photographs in colour come with scikit-image: pip install scikit-image"
        ) from problem
    from sklearn.datasets import load_sample_images

    for name in NAMES:
        if name == "motorcycle":
            yield images.stereo_motorcycle()[0]
        else:
            yield getattr(images, name)()
    yield from load_sample_images().images


def crops(size: int, random: np.random.Generator) -> Floats:
    """Squares cut at random from every photograph, (crops, size, size, 3)."""
    import torch
    from torch.nn.functional import interpolate

    found = []
    for photograph in _photographs():
        height, width = photograph.shape[:2]
        for _ in range(EACH):
            edge = int(random.integers(min(height, width) // 2, min(height, width) + 1))
            top, left = (int(random.integers(0, side - edge + 1)) for side in (height, width))
            square = photograph[top : top + edge, left : left + edge].astype(np.float32)
            channels = torch.from_numpy(square).permute(2, 0, 1)[None]
            small = interpolate(channels, (size, size), mode="bilinear", antialias=True)
            found.append(small[0].permute(1, 2, 0).round().clamp(0, 255).numpy())
    return np.asarray(np.stack(found), dtype=np.float64)
