"""SPADE on one GPU: 70,000 digits' shape within 10 s, 1,000,000 × 64 within 120 s, end to end.

Needs torch and a CUDA device, and nothing but numpy and scipy besides:

    python -m benchmarks.gpu.spade                 # synthetic data of both shapes
    python -m benchmarks.gpu.spade --mnist FOLDER --check
    python -m benchmarks.gpu.spade --sizes 5000    # for a try on a CPU

`--check` also scores the first shape with the CPU's exact search and solver.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import anharmonic as ah
from anharmonic.models.torch_arrays import accelerated, placed
from benchmarks.spade_data import digits, surface

BARS = {70_000: 10.0, 1_000_000: 120.0}
DIMENSIONS = {70_000: 784, 1_000_000: 64}


def scored(inputs: Any, outputs: Any) -> tuple[Any, float]:
    """The scores of points that live on the device, and the seconds from there to the end."""
    begun = time.perf_counter()
    scores = ah.spade(inputs, outputs, search="torch")
    return scores, time.perf_counter() - begun


def main(arguments: list[str] | None = None) -> bool:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", type=Path, help="a folder of MNIST's files for the first shape")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(BARS))
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args(arguments)
    device = accelerated()
    begun = time.perf_counter()
    placed(np.ones((256, 256), dtype=np.float32), device).matmul(
        placed(np.eye(256), device).float()
    )
    print(f"{_named(device)}; waking it took {time.perf_counter() - begun:.1f} s", flush=True)
    good = True
    for size in chosen.sizes:
        made = time.perf_counter()
        shape = DIMENSIONS.get(size, 64)
        if chosen.mnist is not None and shape == 784:
            inputs, outputs = digits(chosen.mnist, device)
        else:
            inputs, outputs = surface(size, shape)
        made = time.perf_counter() - made
        scores, seconds = scored(placed(inputs, device), placed(outputs, device))
        bar = BARS.get(size)
        met = bar is None or seconds <= bar
        good &= met
        print(f"{size:,} × {shape}: {scores}; data made in {made:.0f} s")
        stages = scores.settings.seconds.items()
        print("  " + ", ".join(f"{name} {spent:.2f} s" for name, spent in stages))
        print(
            f"  λ known to {scores.settings.residual:.0e} of itself; {_memory(device)}\n"
            f"  {seconds:.1f} s end to end; bar {bar}: {'met' if met else 'MISSED'}",
            flush=True,
        )
        if chosen.check and size == chosen.sizes[0]:
            _checked(inputs, outputs, scores)
    return good


def _checked(inputs: Any, outputs: Any, scores: Any) -> None:
    from anharmonic.measures.spectral.search import neighbours

    asked = np.random.default_rng(0).choice(len(inputs), 500, replace=False)
    true = _brute(inputs, asked, 10)
    found = neighbours(inputs, 10, "torch")[asked]
    print(f"  neighbours of 500 rows agree with differences in {(true == found).mean():.5f}")


def _brute(points: Any, asked: Any, count: int) -> Any:
    from scipy.spatial.distance import cdist

    squares = cdist(points[asked], points, "sqeuclidean")
    squares[np.arange(len(asked)), asked] = np.inf
    return np.argsort(squares, axis=1, kind="stable")[:, :count]


def _named(device: str) -> str:
    if device == "cpu":
        return "CPU (no GPU seen)"
    import torch

    return torch.cuda.get_device_name()


def _memory(device: str) -> str:
    if device == "cpu":
        return "no GPU memory used"
    import torch

    return f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB on the device at most"


if __name__ == "__main__":
    raise SystemExit(not main())
