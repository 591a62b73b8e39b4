"""What SPADE is timed on: clusters on a curved surface, or handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["digits", "surface"]


def surface(size: int, dimension: int = 784, latent: int = 8) -> tuple[Any, Any]:
    """Clusters on a curved surface (size, dimension), and the 10 logits of a random network."""
    random = np.random.default_rng(0)
    bent, inner = random.normal(size=(latent, dimension)) / 3, random.normal(size=(latent, 32))
    outer, centres = random.normal(size=(32, 10)), 2 * random.normal(size=(10, latent))
    hidden = centres[random.integers(10, size=size)] + random.normal(size=(size, latent))
    inputs = np.tanh(hidden @ bent)
    inputs += 0.05 * random.normal(size=(size, dimension))
    return inputs, np.tanh(hidden @ inner / 2) @ outer


def digits(folder: Path, device: str = "cpu") -> tuple[Any, Any]:
    """All 70,000 digits (70,000, 784) and the logits of a small network trained on 60,000."""
    import torch

    from studies.mnist import read_mnist

    parts = read_mnist(folder)
    images = np.concatenate([each.images for each in parts]).reshape(70_000, 784)
    labels = torch.from_numpy(np.concatenate([each.labels for each in parts])).to(device)
    points = torch.from_numpy(images).to(device)
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(784, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    ).to(device)
    steps = torch.optim.Adam(network.parameters())
    for _ in range(4):
        for rows in torch.randperm(60_000).reshape(-1, 125):
            loss = torch.nn.functional.cross_entropy(network(points[rows]), labels[rows])
            steps.zero_grad()
            torch.autograd.backward(loss)
            steps.step()
    with torch.no_grad():
        return images, network(points).cpu().numpy()
