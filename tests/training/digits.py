"""A network that reads small digits, trained in a second."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from anharmonic import training


@lru_cache(maxsize=1)
def digits() -> tuple[Any, Any]:
    """Grey images (1797, 1, 8, 8) between 0 and 1, and their labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return (data.images[:, None] / 16).astype(np.float32), data.target.astype(np.int64)


def network(seed: int = 0) -> Any:
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )


@lru_cache(maxsize=1)
def trained() -> Any:
    """A network trained for a few epochs on the first 1,300 digits."""
    module = network()
    images, labels = digits()
    training.train(module, images[:1300], labels[:1300], epochs=20, batch_size=64, rate=3e-3)
    return module
