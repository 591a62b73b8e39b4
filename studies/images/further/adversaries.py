"""Photos moved by PGD so that the class changes, and stays changed with some confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anharmonic._core.protocols import Array

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["moved_photos"]

BATCH = 32


def moved_photos(
    network: Module, photos: Array, labels: Array, radius: float, steps: int, seed: int
) -> Any:
    """Grey photos (photos, height, width), each moved by up to `radius` levels per pixel.

    PGD in the L∞ ball on the cross entropy of the class that the network gives the photo, from a
    random start; pixels stay whole levels from 0 to 255, as image files have them.
    """
    import torch

    from anharmonic.training import Attack

    device = next(network.parameters()).device
    attack = Attack(radius, steps=steps, bounds=(0.0, 255.0), seed=seed, batch_size=BATCH)
    parts = []
    for first in range(0, len(photos), BATCH):
        rows = np.arange(first, min(first + BATCH, len(photos)))
        here = torch.as_tensor(np.asarray(photos)[rows], dtype=torch.float32, device=device)
        truth = torch.as_tensor(np.asarray(labels)[rows], device=device)
        parts.append(attack(network, here, truth, rows=rows).round().cpu().numpy())
    return np.concatenate(parts)
