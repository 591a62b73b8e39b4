"""The networks that SPADE's theorems and remarks are held against."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic.errors import InputError
from anharmonic.training import Adversarial, Attack, lenet5, train
from studies.mnist import Digits, read_mnist
from studies.spade_cifar.data import read_cifar
from studies.spade_cifar.networks import ARCHITECTURES, mlp, seeded

__all__ = ["DEPTHS", "SEEDS", "digit_networks", "picture_networks", "restored"]

Made = tuple[Any, Any, Any]
"""A module, images (points, channels, height, width) from 0 to 1, and their labels."""

SEEDS = 3
DEPTHS = (1, 2, 4, 8)
ROWS, EPOCHS, ATTACKED_ROWS, ATTACKED_EPOCHS = 20_000, 4, 12_000, 8


def digit_networks(folder: Path) -> dict[str, Callable[[], Made]]:
    """LeNet-5 plain and under PGD 0.3, and perceptrons of 1 to 8 hidden layers, by name."""
    read = cache(partial(read_mnist, folder))

    def made(build: Callable[[Digits], Any]) -> Made:
        learned, asked = read()
        return build(learned), asked.images[:, None], asked.labels

    found: dict[str, Callable[[], Made]] = {}
    for seed in range(SEEDS):
        for radius in (0.0, 0.3):
            build = partial(_lenet, radius=radius, seed=seed)
            found[f"MNIST, LeNet-5, ε = {radius:g}, seed {seed}"] = partial(made, build)
    for seed in range(SEEDS):
        for depth in DEPTHS:
            layers = partial(_perceptron, depth=depth, seed=seed)
            name = f"MNIST, MLP of {depth} hidden layers, seed {seed}"
            found[name] = partial(made, layers)
    return found


def _lenet(learned: Digits, radius: float, seed: int) -> Any:
    module = lenet5(seed)
    if not radius:
        some = learned.first(ROWS)
        train(module, some.images[:, None], some.labels, epochs=EPOCHS, batch_size=100, seed=seed)
        return module.eval()
    some = learned.first(ATTACKED_ROWS)
    # The ball grows for half the time: a large one from the first step on teaches nothing.
    warm = ATTACKED_EPOCHS * (len(some.images) // 100) // 2
    objective = Adversarial(Attack(radius, steps=7, seed=seed), warm=warm)
    train(
        module,
        some.images[:, None],
        some.labels,
        objective=objective,
        epochs=ATTACKED_EPOCHS,
        batch_size=100,
        seed=seed,
    )
    return module.eval()


def _perceptron(learned: Digits, depth: int, seed: int) -> Any:
    module = seeded(partial(mlp, (1, 28, 28), (256,) * depth), seed)
    some = learned.first(ROWS)
    train(module, some.images[:, None], some.labels, epochs=EPOCHS, batch_size=100, seed=seed)
    return module.eval()


def restored(state: Path, key: str, architecture: str, device: str = "cpu") -> Any:
    """A network with the weights that a run left."""
    import torch

    file = state / "weights" / f"{key}.npz"
    if not file.is_file():
        raise InputError(f"there is no {file}: python -m studies.spade_cifar.running leaves it")
    module = seeded(ARCHITECTURES[architecture], 0)
    with np.load(file) as held:
        weights = {name: torch.from_numpy(held[name].astype(np.float32)) for name in held.files}
    # Counters of batches are no weights.
    module.load_state_dict(weights, strict=False)
    return module.to(device).eval()


def picture_networks(data: Path, state: Path, device: str) -> dict[str, Callable[[], Made]]:
    """Residual networks of several robustness and depths, the first seed of each."""
    read = cache(partial(read_cifar, data))

    def made(key: str, architecture: str) -> Made:
        test = read()[1]
        images = np.ascontiguousarray(test.images.transpose(0, 3, 1, 2)).astype(np.float32) / 255
        return restored(state, key, architecture, device), images, test.labels

    keys = {
        "ResNet-18, ε = 0": ("1-ResNet-18-0-0", "ResNet-18"),
        "ResNet-18, ε = 2": ("1-ResNet-18-2-0", "ResNet-18"),
        "ResNet-18, ε = 8": ("4-vanilla__8-0-0", "ResNet-18"),
        "ResNet-10, ε = 0": ("depth-ResNet-10-0-0", "ResNet-10"),
        "ResNet-34, ε = 0": ("depth-ResNet-34-0-0", "ResNet-34"),
        "CNN": ("5-CNN-0-0", "CNN"),
        "MLP": ("5-MLP-0-0", "MLP"),
    }
    return {
        f"CIFAR-10, {name}, seed 0": partial(made, *about)
        for name, about in keys.items()
        if (state / "weights" / f"{about[0]}.npz").is_file()
    }
