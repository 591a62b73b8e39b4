"""How much of a GPU's bare speed gamma and the search reach.

Random weights serve for speed. The floor is the same network on ready-made images at the batch
size that suits it best, in one run. Needs torch, torchvision and a CUDA device:

    python -m benchmarks.gpu.throughput
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import anharmonic as ah

BATCHES = (128, 256, 512, 1024)
SHAPE = (3, 224, 224)
BAR = 0.95


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    done = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, done


def bare(network: Any, rounds: int = 6) -> float:
    """Images a second at the best batch size."""
    import torch

    images = torch.rand((BATCHES[-1], *SHAPE), device="cuda")
    best = 0.0
    with torch.no_grad():
        for size in BATCHES:
            for _ in range(2):
                network(images[:size])
            took, _ = seconds(partial(repeated, network, images[:size], rounds))
            best = max(best, rounds * size / took)
    return best


def repeated(network: Any, images: Any, rounds: int) -> None:
    for _ in range(rounds):
        network(images)


def works(network: Any) -> dict[str, Callable[[Any], Any]]:
    """What is timed; each gives a result that knows its queries."""
    plain: dict[str, Any] = {"scale": None, "noise": "ignore"}
    return {
        "gamma": lambda images: ah.gamma(network, images, radius=0.05, **plain),
        "gamma, 20 dense pairs": lambda images: ah.gamma(
            network, images, radius=0.05, ball="dense pairs", directions=20, rotations=1, **plain
        ),
        "search, 5 steps of 20": lambda images: ah.adversarial_search(
            network, images, radius=0.3, steps=5, scale=None, stop=False
        ),
    }


def main() -> bool:
    import torch
    import torchvision

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.manual_seed(0)
    good = True
    for name, make, count in (
        ("ResNet-50", torchvision.models.resnet50, 256),
        ("ViT-B/16", torchvision.models.vit_b_16, 128),
    ):
        network = make().cuda().eval().to(memory_format=torch.channels_last)
        floor = bare(network)
        print(f"{name}, tf32, {torch.cuda.get_device_name()}: bare {floor:,.0f} images/s")
        images = torch.rand((count, *SHAPE), device="cuda")
        for what, work in works(network).items():
            work(images[:64])
            took, found = seconds(partial(work, images))
            speed = float(np.sum(found.queries)) / took
            good &= speed >= BAR * floor
            print(f"  {what}: {speed:,.0f} queries/s, {speed / floor:.2f} of bare", flush=True)
    print(f"bar: every share ≥ {BAR}: {'met' if good else 'MISSED'}")
    return good


if __name__ == "__main__":
    raise SystemExit(not main())
