"""How much of a GPU's bare speed gamma and the search reach, and what asking in large calls gains.

The paper's setting: grey images of 100 × 100, enlarged and normalised on the device by the model.
Random weights serve for speed. The model is compiled, in half precision with a last layer in
single. Each run is held against bare calls of the same model on ready-made images, at the call
size that suits it best, just before and just after; one point and one ball a call are plain loops
that read each answer. Needs torch, torchvision and a CUDA device:

    python -m benchmarks.gpu.throughput [resnet50] [vit_b_16]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import anharmonic as ah

SIZES = (500, 256, 1000)
"""The first is what the search asks with; the others are there to be better."""
SECONDS, ROUNDS = 4.0, 3
SHARE, POINT, BALL = 0.95, 40.0, 3.0
PAPER = 1000 * 25 * 420


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    done = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, done


def repeated(model: Any, images: Any, rounds: int, read: bool = False) -> None:
    import torch

    with torch.no_grad():
        for _ in range(rounds):
            answer = model(images)
            if read:
                answer.cpu()


def speed(model: Any, images: Any, rounds: int, read: bool = False) -> float:
    """Images a second in calls of one size."""
    repeated(model, images, 2, read)
    took, _ = seconds(partial(repeated, model, images, rounds, read))
    return rounds * len(images) / took


def works(model: Any, images: Any) -> dict[str, Callable[[], Any]]:
    """What is timed; each gives a result that knows its queries."""
    levels: dict[str, Any] = {"radius": 100.0, "bounds": (0, 255), "scale": None}
    return {
        "gamma, 20 dense pairs": lambda: ah.gamma(
            model,
            images.repeat(5, 1, 1),
            ball="dense pairs",
            directions=20,
            rotations=1,
            noise="ignore",
            **levels,
        ),
        "search by margin, 25 steps of 20": lambda: ah.adversarial_search(
            model, images[: len(images) // 5], steps=25, stop=False, **levels
        ),
        "search by gamma, 2 steps of 420": lambda: ah.adversarial_search(
            model, images[: len(images) // 8], steps=2, climb="gamma", stop=False, **levels
        ),
    }


def shares(model: Any, work: Callable[[], Any], images: Any, size: int) -> tuple[list[float], Any]:
    """The run's speed over that of bare calls around it, again and again, and the run's speed."""
    bare = partial(speed, model, images[:size], max(4, 8000 // size))
    found, before = [], bare()
    for _ in range(ROUNDS):
        took, done = seconds(work)
        after = bare()
        queries = float(np.sum(done.queries))
        found.append(queries / took / ((before + after) / 2))
        before = after
    return sorted(found), queries / took


def measured(name: str) -> bool:
    import torch
    import torchvision

    torch.manual_seed(0)
    network = getattr(torchvision.models, name)().eval().to(memory_format=torch.channels_last)
    half = ah.images.classifier(network, device="cuda", precision="float16")
    pixels = torch.randint(0, 256, (SIZES[-1], 100, 100), device="cuda").float()
    model = torch.compile(half)
    took, _ = seconds(partial(repeated, model, pixels[: SIZES[0]], 1))
    floors = {size: speed(model, pixels[:size], max(4, 8000 // size)) for size in SIZES}
    best = max(floors, key=lambda size: floors[size])
    listed = ", ".join(f"{floor:,.0f} at {size}" for size, floor in floors.items())
    print(
        f"{name}, {torch.cuda.get_device_name()}, torch {torch.__version__}: "
        f"compiled in {took:.0f} s"
    )
    print(f"  bare images/s by call size: {listed}", flush=True)
    good, searched = True, 0.0
    # Enough images for some seconds, whatever the network.
    few = pixels[: min(len(pixels), 50 * round(SECONDS * floors[best] / 100 / 50))]
    for work in works(model, pixels[:100]).values():
        work()
    for what, work in works(model, few).items():
        found, fast = shares(model, work, pixels, best)
        met = found[len(found) // 2] >= SHARE
        good &= met or not what.startswith("search")
        searched = fast if "by gamma" in what else searched
        middle, low, high = found[len(found) // 2], found[0], found[-1]
        print(
            f"  {what}: {fast:,.0f} queries/s, {middle:.3f} of bare ({low:.3f}–{high:.3f})",
            flush=True,
        )
    for what, size, bar in (("point", 1, POINT), ("ball", 20, BALL)):
        rival = speed(model, pixels[:size], 200, read=True)
        good &= searched >= bar * rival
        most = floors[best] / rival
        reach = f", out of reach: bare calls at their best are {most:.1f}×" if most < bar else ""
        print(
            f"  one {what} a call: {rival:,.0f} queries/s; the search is "
            f"{searched / rival:.1f}× that (bar {bar:g}×{reach})"
        )
    print(
        f"  the paper's experiment, {PAPER:,} queries: "
        f"{PAPER / searched / 60:.1f} minutes projected"
    )
    return good


def main(names: list[str]) -> bool:
    import torch

    warnings.simplefilter("ignore")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    met = [measured(name) for name in names or ["resnet50", "vit_b_16"]]
    verdict = "met" if all(met) else "MISSED"
    print(f"bars (searches ≥ {SHARE} of bare, ≥ {POINT:g}× and ≥ {BALL:g}×): {verdict}")
    return all(met)


if __name__ == "__main__":
    raise SystemExit(not main(sys.argv[1:]))
