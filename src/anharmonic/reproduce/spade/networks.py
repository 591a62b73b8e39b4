"""Networks of different robustness, all trained as one: plainly and under PGD, over seeds.

On a GPU this takes minutes, so what they answer is kept in a file that the study can be given:

    python -m anharmonic.reproduce.spade.networks --data FOLDER --out FOLDER/spade-networks.npz
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anharmonic.devices import accelerated, placed
from anharmonic.errors import InputError
from anharmonic.files import whole_file
from anharmonic.protocols import Floats
from anharmonic.reproduce.mnist import Digits, read_mnist
from anharmonic.training import Adversarial, Attack, Batch, lenet5, stacked, train
from anharmonic.training.attacks import accuracy, robust_accuracy

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

__all__ = ["FILE", "RADII", "Effort", "Networks", "trained"]

RADII = (0.0, 0.1, 0.2, 0.3)
FILE = "spade-networks.npz"
EVALUATED = 5000
"""Digits that are attacked at once when accuracy is measured."""


class Effort(NamedTuple):
    """How much training there is: the full amount, or a share of it that a CPU can do."""

    seeds: int = 5
    rows: int = 60_000
    epochs: int = 8
    batch: int = 256
    steps: int = 10
    attacked: int = 10_000
    """Test digits that accuracy under attack is measured on."""


REDUCED = Effort(seeds=3, rows=6000, epochs=3, batch=128, steps=4, attacked=500)


@dataclass(frozen=True)
class Networks:
    """What networks answer to the test digits, and how often they are right.

    `radii` and `seeds` (networks,), `logits` (networks, digits, 10), `clean` (networks,), and
    `robust` (networks, 3): accuracy under PGD of radii 0.1, 0.2 and 0.3.
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


@dataclass(frozen=True)
class _Apart:
    """Training under attack in which every stacked network has a radius of its own."""

    attack: Attack
    radii: Tensor
    warm: int

    def __call__(self, module: Module, batch: Batch) -> Tensor:
        each = len(batch.points) // len(self.radii)
        attack = self.attack.within(self.radii.repeat_interleave(each))
        return Adversarial(attack, warm=self.warm)(module, batch)


def trained(
    learned: Digits, asked: Digits, effort: Effort = REDUCED, seed: int = 0, tell: Any = print
) -> Networks:
    """LeNet-5 for every radius and seed, trained together, and their answers to `asked`."""
    device = accelerated()
    radii = np.tile(RADII, effort.seeds)
    seeds = seed + np.repeat(np.arange(effort.seeds), len(RADII))
    some = learned.first(effort.rows)
    steps = len(some.images) // effort.batch
    module = stacked([lenet5(int(each), patches=True) for each in seeds]).to(device)
    train(
        module,
        some.images[:, None],
        some.labels,
        objective=_Apart(
            Attack(0.0, steps=effort.steps, seed=seed),
            placed(radii.astype(np.float32), device),
            # The ball grows for two epochs: a large one from the first step on teaches nothing.
            2 * steps,
        ),
        epochs=effort.epochs,
        batch_size=effort.batch,
        rate=2e-3,
        seed=seed,
        hooks=[lambda _, epoch: tell(f"epoch {epoch.number + 1}: {epoch.seconds:.0f} s")],
    )
    found = [_evaluated(each, asked, effort, tell) for each in module.separate()]  # type: ignore[operator]
    logits, clean, robust = (np.stack(parts) for parts in zip(*found, strict=True))
    return Networks(radii, seeds, logits, clean, robust, effort)


def _evaluated(
    module: Module, asked: Digits, effort: Effort, tell: Any
) -> tuple[Any, Floats, Floats]:
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
    tell(f"accuracy {clean:.4f}; under attack " + ", ".join(f"{each:.4f}" for each in robust))
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
