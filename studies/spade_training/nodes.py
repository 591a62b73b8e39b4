"""SPADE's node scores of training images, from networks trained plainly.

python -m studies.spade_training.nodes --data MNIST --out nodes.npz --seeds 10
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic.measures.spectral import spade
from anharmonic.models import as_model
from anharmonic.models.torch_arrays import accelerated
from anharmonic.training import lenet5, train
from studies.mnist import Digits, read_mnist
from studies.page import Tell, silent

__all__ = ["logits_of", "node_scores"]


def node_scores(
    digits: Digits, seeds: int = 3, epochs: int = 2, seed: int = 0, tell: Tell = silent
) -> Floats:
    """(seeds, images): how fragile each image is to a LeNet-5 of each seed (10 neighbours)."""
    found = []
    for own in range(seed, seed + seeds):
        tell(f"node scores of {len(digits.images):,} images, seed {own}")
        module = lenet5(own).to(accelerated())
        train(
            module, digits.images[:, None], digits.labels, epochs=epochs, batch_size=128, seed=own
        )
        flat = digits.images.reshape(len(digits.images), -1)
        search = "torch" if accelerated() == "cuda" else "auto"
        outputs = logits_of(module, digits.images)
        scores = spade(flat, outputs, blocks=0, seed=own, search=search)
        found.append(scores.values)
    return np.stack(found)


def logits_of(module: Any, images: Any) -> Floats:
    """Outputs of a network at images (rows, 28, 28), or with their channels (rows, c, h, w)."""
    model = as_model(module)
    images = images[:, None] if images.ndim == 3 else images
    parts = [
        np.asarray(model(images[begin : begin + 5000]), dtype=np.float64)
        for begin in range(0, len(images), 5000)
    ]
    return np.concatenate(parts)


def main() -> None:
    """Scores of all training images."""
    reader = argparse.ArgumentParser(description="Node scores of the training images.")
    reader.add_argument("--data", type=Path, required=True)
    reader.add_argument("--out", type=Path, required=True)
    reader.add_argument("--seeds", type=int, default=3)
    given = reader.parse_args()
    scores = node_scores(read_mnist(given.data)[0], given.seeds, tell=print)
    held = {f"seed{at}": line.astype(np.float32) for at, line in enumerate(scores)}
    with whole_file(given.out) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, **held)


if __name__ == "__main__":
    main()
