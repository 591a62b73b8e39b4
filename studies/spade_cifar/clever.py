r"""The six other rows of Table 5: MLP, CNN and a distilled CNN, on digits and on pictures.

    python -m studies.spade_cifar.clever --digits MNIST --pictures parts --state state --out FILE

`--names MLP` measures some of them. Networks for digits are trained on the way, those for pictures
are weights of `running`. Every network is written when it is done, and not measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic.models.torch_arrays import accelerated
from anharmonic.training import Batch, train
from anharmonic.training.objectives import Objective
from studies.mnist import Digits, read_mnist
from studies.page import Page, Section, Tell, silent
from studies.spade_cifar.arms import TABLE_5
from studies.spade_cifar.data import read_cifar
from studies.spade_cifar.networks import convnet, mlp, seeded
from studies.spade_clever import NORMS, Size, bound_rows, guided_bounds, guided_verdict
from studies.spade_theory.networks import restored
from studies.spade_training.nodes import logits_of

__all__ = ["measure", "spade_clever_networks", "trained_on_digits"]

SAVED = "spade-clever-networks.json"
FULL = Size(tested=10_000, chance=100, blocks=16, block_size=32)
SHAPE = (1, 28, 28)
TEMPERATURE = 100.0
PAPER = {
    "MNIST, MLP": ("1.317/0.067", "0.590/0.030", "0.698/0.034", "0.819/0.041"),
    "MNIST, CNN": ("0.379/0.030", "0.391/0.027", "0.775/0.057", "0.721/0.057"),
    "MNIST, distilled CNN": ("0.408/0.026", "0.451/0.028", "0.874/0.065", "0.865/0.063"),
    "CIFAR-10, MLP": ("0.213/0.004", "0.226/0.005", "0.312/0.007", "0.219/0.005"),
    "CIFAR-10, CNN": ("0.141/0.004", "0.088/0.003", "0.046/0.001", "0.072/0.002"),
    "CIFAR-10, distilled CNN": ("0.310/0.009", "0.119/0.003", "0.100/0.003", "0.130/0.004"),
}
COLUMNS = (
    "10 of SPADE, 10 neighbours",
    "10 of SPADE, 20 neighbours",
    "10 by chance",
    "100 by chance",
)


def _distilling(taught: Any) -> Objective:
    """Cross entropy with a teacher's shares of classes at a temperature (Papernot et al., 2017)."""
    from torch.nn.functional import cross_entropy

    def objective(module: Any, batch: Batch) -> Any:
        wanted = batch.labels if taught is None else taught[batch.rows].to(batch.points.device)
        logits = module(batch.points) / TEMPERATURE
        return TEMPERATURE * cross_entropy(logits, wanted, reduction="none")

    return objective


def trained_on_digits(
    name: str,
    digits: Digits,
    seed: int = 0,
    epochs: int = 5,
    batch_size: int = 128,
    device: str = "cpu",
) -> Any:
    """One of `TABLE_5`; the distilled one has a teacher of its own kind."""
    import torch

    make = partial(mlp, SHAPE) if name == "MLP" else partial(convnet, SHAPE)
    images, labels = digits.images[:, None], digits.labels
    options: dict[str, Any] = {"epochs": epochs, "batch_size": batch_size, "seed": seed}
    module = seeded(make, seed).to(device)
    if name != "distilled CNN":
        train(module, images, labels, **options)
        return module.eval()
    train(module, images, labels, objective=_distilling(None), **options)
    logits = torch.from_numpy(logits_of(module.eval(), images))
    taught = torch.softmax(logits / TEMPERATURE, dim=1).float()
    module = seeded(make, seed).to(device)
    train(module, images, labels, objective=_distilling(taught), **options)
    return module.eval()


def measure(
    out: Path, networks: dict[str, Callable[[], Any]], size: Size, seed: int, tell: Tell
) -> dict[str, Any]:
    """Bounds of every network that is not in the file yet."""
    held: dict[str, Any] = {"networks": {}, "seed": seed, "size": vars(size)}
    if out.is_file():
        held = json.loads(out.read_text(encoding="utf-8"))
    for name, make in networks.items():
        if name in held["networks"]:
            continue
        tell(name)
        module, images, labels = make()
        images, labels = images[: size.tested], labels[: size.tested]
        right = logits_of(module, images).argmax(1) == labels
        bounds, queries = guided_bounds(module, images, size, seed, tell)
        plain = {
            what: {norm: np.round(each, 6).tolist() for norm, each in by_norm.items()}
            for what, by_norm in bounds.items()
        }
        held["networks"][name] = {
            "accuracy": float(right.mean()),
            "bounds": plain,
            "queries": queries,
        }
        with whole_file(out) as temporary:
            Path(temporary).write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    return held


def spade_clever_networks(data: Path, seed: int = 0, tell: Tell = silent) -> Page:
    """The page from kept bounds."""
    return clever_page(json.loads((data / SAVED).read_text(encoding="utf-8")))


def clever_page(found: dict[str, Any]) -> Page:
    """What was measured, as a page."""
    size, sections, means = found["size"], [], {}
    radii = " and ".join(f"{radius:g} in norm {norm}" for norm, (_, radius) in NORMS.items())
    for name, network in found["networks"].items():
        both = dict(zip(COLUMNS, PAPER[name], strict=True))
        papers = {what: _pair(figures) for what, figures in both.items()}
        rows, means[name] = bound_rows(network["bounds"], network["queries"], papers)
        words = f"""Clean accuracy {network["accuracy"]:.1%} on {size["tested"]:,} test samples,
            which SPADE's scores are of. CLEVER, untargeted, from {size["blocks"]} blocks of
            {size["block_size"]} samples within {radii}, which also cap it. Errors are over samples;
            queries count forward passes."""
        sections.append(Section(name, words, tuple(rows)))
    sections.append(Section("How to measure again", _again(found["networks"])))
    return Page(
        name="spade-clever-networks",
        title="CLEVER guided by SPADE, on other networks",
        claim="""CLEVER scores of the ten samples with the largest node scores are in most cases
            much smaller than those of ten or a hundred samples taken by chance (Table 5: MLP, CNN
            and distilled CNN on MNIST and CIFAR-10, norms 2 and inf).""",
        sections=tuple(sections),
        verdict=tuple(guided_verdict(means)[:-1]),
        seed=int(found["seed"]),
        needs="--data docs/reproduce/results",
    )


def _again(networks: dict[str, Any]) -> str:
    missing = [name for name in PAPER if name not in networks]
    text = """Networks for digits are trained for 5 epochs at batches of 128, the distilled one at a
        temperature of 100 on its teacher's shares: `python -m studies.spade_cifar.clever --digits
        DIR --out spade-clever-networks.json`, an hour on one core, which goes on where it was
        stopped. Those for pictures are weights that `python -m studies.spade_cifar.running --data
        PICTURES --state STATE --tables 5` leaves after 12 epochs at batches of 512: `--pictures
        PICTURES --state STATE` beside `--out`, and `--names MLP` for that one alone, ten minutes on
        one core with its training."""
    return text if not missing else f"{text} Not measured: {'; '.join(missing)}."


def _pair(figures: str) -> tuple[str, str]:
    first, second = figures.split("/")
    return first, second


def main() -> None:
    """Digits, pictures or both."""
    reader = argparse.ArgumentParser(description="CLEVER guided by SPADE, on other networks.")
    reader.add_argument("--digits", type=Path, help="a folder of MNIST's files")
    reader.add_argument("--pictures", type=Path, help="CIFAR-10, as studies.spade_cifar reads it")
    reader.add_argument("--state", type=Path, help="what studies.spade_cifar.running left")
    reader.add_argument("--out", type=Path, required=True, help=f"such as {SAVED}")
    reader.add_argument("--names", nargs="+", choices=TABLE_5, default=TABLE_5)
    given = reader.parse_args()
    device = accelerated()
    networks: dict[str, Callable[[], Any]] = {}
    if given.digits is not None:
        learned, asked = read_mnist(given.digits)
        for name in given.names:
            networks[f"MNIST, {name}"] = lambda name=name: (  # type: ignore[misc]
                trained_on_digits(name, learned, device=device),
                asked.images[:, None],
                asked.labels,
            )
    if given.pictures is not None and given.state is not None:
        test = read_cifar(given.pictures)[1]
        images = test.images.transpose(0, 3, 1, 2).astype(np.float32) / 255
        for name in given.names:
            key = f"5-{name.replace(' ', '_')}-0-0"
            kind = "CNN" if "CNN" in name else name
            networks[f"CIFAR-10, {name}"] = lambda key=key, kind=kind: (  # type: ignore[misc]
                restored(given.state, key, kind, device),
                images,
                test.labels,
            )
    measure(given.out, networks, FULL, 0, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
