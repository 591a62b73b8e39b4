"""How much of an image network's bare speed the search reaches on the CPU.

The paper's setting: grey images of 100 × 100, enlarged to 224 × 224 by the model, a network of
ResNet-18's shape with random weights. A search is held against bare calls on ready-made images, at
the call size that suits the network best, just before and just after it. Bar: at least 0.90.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import anharmonic as ah
from benchmarks.overhead import seconds

SIZES = (4, 8, 16, 32, 64, 100)
IMAGES, STEPS, ROUNDS = 10, 2, 5
BAR = 0.90


def network() -> Any:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    torch.manual_seed(0)
    shape = {"hidden_sizes": [64, 128, 256, 512], "depths": [2, 2, 2, 2], "layer_type": "basic"}
    config = ResNetConfig(embedding_size=64, num_labels=1000, **shape)
    return ah.images.classifier(ResNetForImageClassification(config).eval())


def asked(model: Any, pixels: Any, size: int, rows: int) -> None:
    import torch

    with torch.no_grad():
        for start in range(0, rows, size):
            model(pixels[: min(size, rows - start)])


def main() -> bool:
    import torch

    model = network()
    images = np.random.default_rng(0).integers(0, 256, (SIZES[-1], 100, 100)).astype(np.float32)
    pixels = torch.from_numpy(images)
    trials = {
        size: min(seconds(partial(asked, model, pixels, size, 64)) for _ in range(2))
        for size in SIZES
    }
    best = min(trials, key=lambda size: trials[size])

    def search() -> ah.Search:
        return ah.adversarial_search(
            model,
            images[:IMAGES],
            radius=100.0,
            bounds=(0, 255),
            scale=None,
            steps=STEPS,
            stop=False,
        )

    rows = int(search().queries.sum())
    bare = [seconds(partial(asked, model, pixels, best, rows))]
    shares = []
    for _ in range(ROUNDS):
        whole = seconds(search)
        bare.append(seconds(partial(asked, model, pixels, best, rows)))
        shares.append((bare[-2] + bare[-1]) / 2 / whole)
    share, speed = float(np.median(shares)), rows / float(np.median(bare))
    print(
        f"images: search by margin, {rows:,} queries: {share:.3f} of bare "
        f"({min(shares):.3f}–{max(shares):.3f}); bare {speed:.1f} images/s at {best} a call"
    )
    print(f"bar: ≥ {BAR}: {'met' if share >= BAR else 'MISSED'}")
    return share >= BAR


if __name__ == "__main__":
    raise SystemExit(not main())
