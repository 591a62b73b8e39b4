"""Networks of different robustness: trained plainly and under PGD, over seeds.

Training takes minutes, so what they answer can be kept in a file that the study is given:

    python -m studies.spade.networks --data FOLDER --out FOLDER/spade-networks.npz
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic.errors import InputError
from anharmonic.models.torch_arrays import accelerated
from anharmonic.training import Adversarial, Attack, lenet5, stacked, train
from anharmonic.training.attacks import accuracy, robust_accuracy
from studies.mnist import Digits, read_mnist
from studies.page import Tell, silent

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["FILE", "RADII", "REDUCED", "Effort", "Networks", "trained"]

RADII = (0.0, 0.1, 0.2, 0.3, 0.4)
FILE = "spade-networks.npz"
EVALUATED = 5000
"""Digits that are attacked at once when accuracy is measured."""


class Effort(NamedTuple):
    """How much training there is: the full amount, or a share of it that a CPU can do."""

    seeds: int = 5
    rows: int = 60_000
    epochs: int = 20
    batch: int = 256
    steps: int = 10
    attacked: int = 10_000
    """Test digits that accuracy under attack is measured on."""


REDUCED = Effort(seeds=3, rows=8000, epochs=4, batch=50, steps=5, attacked=500)
"""Eight minutes of CPU."""


@dataclass(frozen=True)
class Networks:
    """What networks answer to the test digits, and how often they are right.

    `radii` and `seeds` (networks,), `logits` (networks, digits, 10), `clean` (networks,), and
    `robust` (networks, 4): accuracy under PGD of radii 0.1, 0.2, 0.3 and 0.4.
    """

    radii: Floats
    seeds: Any
    logits: Any
    clean: Floats
    robust: Floats
    effort: Effort

    def save(self, path: Path) -> Path:
        """Write them as one packed file."""
        with whole_file(path) as temporary, Path(temporary).open("wb") as file:
            held = {**vars(self), "effort": np.array(self.effort)}
            np.savez_compressed(file, **held)
        return path

    @classmethod
    def load(cls, path: Path) -> Networks:
        """Read what `save` wrote."""
        with np.load(path) as held:
            if "logits" not in held or held["logits"].ndim != 3:
                raise InputError(f"{path} holds no networks' logits: write it with {__name__}")
            effort = Effort(*held["effort"].tolist())
            return cls(**{name: held[name] for name in held if name != "effort"}, effort=effort)


def trained(
    learned: Digits, asked: Digits, effort: Effort = REDUCED, seed: int = 0, tell: Tell = silent
) -> Networks:
    """LeNet-5 for every radius and seed, trained as one stack, and their answers to `asked`.

    All see the same batches; seeds differ in the weights they begin with.
    """
    radii = np.tile(RADII, effort.seeds)
    seeds = seed + np.repeat(np.arange(effort.seeds), len(RADII))
    some = learned.first(effort.rows)
    stack: Any = stacked([lenet5(int(own)) for own in seeds]).to(accelerated())
    # The ball grows for half the time: a large one from the first step on teaches nothing.
    warm = effort.epochs * (len(some.images) // effort.batch) // 2
    every = np.broadcast_to(radii[:, None], (len(radii), len(some.images)))
    train(
        stack,
        some.images[:, None],
        some.labels,
        objective=Adversarial(Attack(0.0, steps=effort.steps, seed=seed), every, warm),
        epochs=effort.epochs,
        batch_size=effort.batch,
        seed=seed,
        hooks=[lambda module, ended: tell(f"epoch {ended.number + 1}, loss {ended.loss:.3f}")],
    )
    found = []
    for radius, own, module in zip(radii, seeds, stack.separate(), strict=True):
        found.append(_evaluated(module, asked, effort))
        under = ", ".join(f"{each:.3f}" for each in found[-1][2])
        tell(f"radius {radius}, seed {own}: accuracy {found[-1][1]:.3f}, under attack {under}")
    logits, clean, robust = (np.stack(parts) for parts in zip(*found, strict=True))
    return Networks(radii, seeds, logits, clean, robust, effort)


def _evaluated(module: Module, asked: Digits, effort: Effort) -> tuple[Any, Floats, Floats]:
    """One network's logits, its accuracy, and its accuracy under attack."""
    import torch

    device = next(module.parameters()).device
    points = torch.from_numpy(asked.images[:, None]).to(device)
    with torch.no_grad():
        logits = torch.cat([module(part) for part in torch.split(points, EVALUATED)]).cpu().numpy()
    clean = accuracy(module, points, asked.labels).value
    few, labels = points[: effort.attacked], asked.labels[: effort.attacked]
    robust = [
        robust_accuracy(
            module, few, labels, Attack(radius, steps=20, seed=1, batch_size=EVALUATED)
        ).value
        for radius in RADII[1:]
    ]
    return logits.astype(np.float32), np.array(clean), np.array(robust)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of MNIST's files")
    parser.add_argument("--out", type=Path, required=True, help=f"such as {FILE}")
    parser.add_argument("--seed", type=int, default=0)
    for name, value in Effort()._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=value)
    chosen = vars(parser.parse_args(arguments))
    effort = Effort(*(chosen[name] for name in Effort._fields))
    learned, asked = read_mnist(chosen["data"])
    found = trained(learned, asked, effort, chosen["seed"], lambda line: print(line, flush=True))
    print(f"written: {found.save(chosen['out'])}")


if __name__ == "__main__":
    main()
