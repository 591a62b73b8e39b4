"""Table 5 of SPADE: CLEVER at the samples with the largest node scores, and at others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments, Rate
from anharmonic.measures.clever import clever
from anharmonic.measures.spectral import guide, spade
from anharmonic.training import Adversarial, Attack, accuracy, lenet5, train
from studies.mnist import Digits, read_mnist
from studies.page import Page, Row, Section, Tell, silent
from studies.spade_training.nodes import logits_of
from studies.streams import SpadeStream

__all__ = [
    "NORMS",
    "Size",
    "bound_rows",
    "guided_bounds",
    "guided_verdict",
    "network_in",
    "spade_clever",
]

NORMS: dict[str, tuple[float, float]] = {"2": (2, 5.0), "inf": (np.inf, 0.5)}
NETWORKS = {"radius 0": "plain", "radius 0.3": "PGD-0.3"}
MARGIN = "10 of the smallest margin"
PAPER = {
    "radius 0": {
        "10 of SPADE, 10 neighbours": ("0.049", "0.002"),
        "10 of SPADE, 20 neighbours": ("0.075", "0.003"),
        "10 by chance": ("162.35", "7.592"),
        "100 by chance": ("68.544", "3.182"),
    },
    "radius 0.3": {
        "10 of SPADE, 10 neighbours": ("0.112", "0.008"),
        "10 of SPADE, 20 neighbours": ("0.114", "0.006"),
        "10 by chance": ("0.332", "0.017"),
        "100 by chance": ("0.431", "0.022"),
    },
}


@dataclass(frozen=True)
class Size:
    """How much of everything; images to train on only where no weights are there."""

    images: int = 3000
    tested: int = 2000
    chance: int = 30
    blocks: int = 16
    block_size: int = 8


FULL = Size(tested=10_000, chance=100, blocks=64, block_size=32)


def spade_clever(data: Path, seed: int = 0, tell: Tell = silent, size: Size | None = None) -> Page:
    """The page, for networks trained briefly here, or kept by the real run beside the digits."""
    kept = all((data / f"{name}.npz").is_file() for name in NETWORKS.values())
    size = size or (FULL if kept else Size())
    digits, test = read_mnist(data)
    test = test.first(size.tested)
    sections, means = [], {}
    for name, file in NETWORKS.items():
        tell(f"network trained with {name}")
        module = network_in(data / f"{file}.npz") if kept else _trained(digits, name, size, seed)
        bounds, queries = guided_bounds(module, test.images[:, None], size, seed, tell)
        rows, means[name] = bound_rows(bounds, queries, PAPER[name])
        share = accuracy(module, test.images[:, None], test.labels)
        sections.append(
            Section(
                f"LeNet-5 trained with {name}",
                _words(kept, share, size),
                tuple(rows),
            )
        )
    return Page(
        name="spade-clever",
        title="CLEVER guided by SPADE",
        claim="""CLEVER scores of the ten samples with the largest node scores are much smaller
            than those of ten or a hundred samples taken by chance, so a few guided samples say
            more (Table 5).""",
        sections=tuple(sections),
        verdict=tuple(guided_verdict(means)),
        seed=seed,
        needs="--data DIR",
    )


def _words(kept: bool, share: Rate, size: Size) -> str:
    origin = (
        "Weights of the [training runs](spade-training.md), whose files stand in DIR"
        if kept
        else f"Trained for 8 epochs on {size.images:,} images"
    )
    radii = " and ".join(f"{radius:g} in norm {norm}" for norm, (_, radius) in NORMS.items())
    return f"""{origin}; clean accuracy {share} on {size.tested:,} test images, which SPADE's scores
        are of. CLEVER, untargeted, from {size.blocks} blocks of {size.block_size} samples within
        {radii}, which also cap it. The paper's network is another of two convolutional layers.
        Errors are over samples; queries count forward passes."""


def network_in(file: Path) -> Any:
    """LeNet-5 with the weights that a real run of `spade_training` kept."""
    import torch

    module = lenet5()
    with np.load(file) as held:
        module.load_state_dict({name: torch.from_numpy(held[name]) for name in held.files})
    return module


def _trained(digits: Digits, name: str, size: Size, seed: int) -> Any:
    module, some = lenet5(seed), digits.first(size.images)
    radius = float(name.split()[-1])
    steps = 8 * (size.images // 100)
    more: dict[str, Any] = (
        {"objective": Adversarial(Attack(radius, steps=5), warm=steps // 2)} if radius else {}
    )
    train(module, some.images[:, None], some.labels, epochs=8, batch_size=100, seed=seed, **more)
    return module


def guided_bounds(
    module: Any, images: Any, size: Size, seed: int, tell: Tell = silent
) -> tuple[dict[str, dict[str, Floats]], dict[str, int]]:
    """CLEVER bounds by choice of samples and norm, and the queries of one sample by norm.

    `images` (samples, channels, height, width) are what SPADE's scores are of.
    """
    flat = images.reshape(len(images), -1)
    outputs = logits_of(module, images)
    chosen: dict[str, Integers] = {}
    for neighbours in (10, 20):
        tell(f"SPADE with {neighbours} neighbours")
        scores = spade(flat, outputs, neighbours=neighbours, blocks=0, seed=seed)
        chosen[f"10 of SPADE, {neighbours} neighbours"] = guide(scores, 10)
    runners_up, best = np.partition(outputs, -2, axis=1)[:, -2:].T
    chosen[MARGIN] = np.argsort(best - runners_up, kind="stable")[:10]
    chance = generator(seed, SpadeStream.CHANCE_SAMPLE).choice(
        len(flat), size.chance, replace=False
    )
    chosen["10 by chance"], chosen[f"{size.chance} by chance"] = chance[:10], chance
    every = np.unique(np.concatenate(list(chosen.values())))
    bounds: dict[str, dict[str, Floats]] = {what: {} for what in chosen}
    queries: dict[str, int] = {}
    for norm, (order, radius) in NORMS.items():
        tell(f"CLEVER of {len(every)} samples, norm {norm}")
        found = clever(
            module,
            images[every],
            norm=order,
            radius=radius,
            blocks=size.blocks,
            block_size=size.block_size,
            scale=None,
            seed=seed,
        )
        queries[norm] = found.queries // len(every)
        for what, samples in chosen.items():
            bounds[what][norm] = found.values[np.searchsorted(every, samples)]
    return bounds, queries


def bound_rows(
    bounds: dict[str, dict[str, Floats]],
    queries: dict[str, int],
    papers: Mapping[str, tuple[str, str]],
) -> tuple[list[Row], dict[str, tuple[Estimate, Estimate]]]:
    """A row for each choice of samples and norm, and their means."""
    rows, means = [], {}
    for what, by_norm in bounds.items():
        pair = tuple(_mean(np.asarray(by_norm[norm])) for norm in NORMS)
        means[what] = (pair[0], pair[1])
        for at, norm in enumerate(NORMS):
            paper = papers.get(what, ("", ""))[at]
            asked = queries[norm] * len(by_norm[norm])
            rows.append(Row(f"{what}, norm {norm}", pair[at], paper, queries=asked))
    return rows, means


def _mean(values: Floats) -> Estimate:
    moments = Moments.of(values[np.isfinite(values)])
    return Estimate(float(moments.mean), float(moments.error))


def guided_verdict(means: dict[str, dict[str, tuple[Estimate, Estimate]]]) -> list[str]:
    lines = []
    for name, found in means.items():
        guided, chance = found["10 of SPADE, 10 neighbours"], list(found.values())[-1]
        for at, norm in enumerate(NORMS):
            ratio = guided[at].value / chance[at].value
            error = np.hypot(guided[at].error, chance[at].error)
            apart = (chance[at].value - guided[at].value) / error
            lines.append(
                f"{name}, norm {norm}: guided samples have {ratio:.0%} of the bound of samples "
                f"taken by chance ({guided[at]} against {chance[at]}, {apart:.1f} errors apart); "
                f"samples of the smallest margin have {found[MARGIN][at]}."
            )
    times = [
        each["10 of SPADE, 10 neighbours"][at].value / each[MARGIN][at].value
        for each in means.values()
        for at in range(len(NORMS))
    ]
    lines.append(
        "The control is the margin, which needs one query per sample and no graph, and stands in "
        f"the bound's numerator: guided samples have {min(times):.0f} to {max(times):.0f} times "
        "the bound of samples of the smallest margin."
    )
    lines.append(
        "No bound is in the hundreds: the paper's larger figures for samples taken by chance are "
        "beyond any radius sampled, which fits that diverge can give and a capped bound cannot."
    )
    return lines
