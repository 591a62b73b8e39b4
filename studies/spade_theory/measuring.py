r"""One network through all of it, and the files that pages are made of.

    python -m studies.spade_theory.measuring --digits MNIST --out spade-theory.json
    python -m studies.spade_theory.measuring --pictures parts --state state --out spade-theory.json

Networks for digits are trained on the way; those for pictures are the weights that
`studies.spade_cifar.running` left. Every network is written when it is done and not measured again.
`--only "seed 1"` takes the networks with that in their name, for several runs side by side into
files of their own, and `--merge FILE …` puts those into one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments
from anharmonic.errors import InputError
from anharmonic.measures.spectral import pair_distortion, spade
from anharmonic.models.torch_arrays import accelerated
from studies.spade_theory.exact import exact
from studies.spade_theory.moving import DIRECTIONS, along_edges, answers, node_slopes
from studies.streams import SpadeStream

__all__ = ["FULL", "Size", "measured"]


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    tested: int = 10_000
    """Points whose edges and nodes are scored."""
    exact: int = 1500
    """Points of a block with all pairs and all eigenvectors."""
    blocks: int = 3
    edges: int = 200
    """Top edges, and random ones, to step along."""
    nodes: int = 1000
    """Points whose slopes are held against their scores."""
    random: int = 2000
    """Random edges whose distortion is averaged."""
    neighbours: int = 10


FULL = Size()


def measured(
    module: Any, images: Any, labels: Any, size: Size = FULL, seed: int = 0
) -> dict[str, Any]:
    """All measurements of one network at images (points, channels, height, width)."""
    import torch

    images, labels = images[: size.tested], np.asarray(labels)[: size.tested]
    flat = images.reshape(len(images), -1).astype(np.float64)
    logits = answers(module, torch.as_tensor(images)).numpy().astype(np.float64)
    order = generator(seed, SpadeStream.THEORY_POINTS).permutation(len(flat))
    parts = [
        np.sort(order[start : start + size.exact])
        for start in range(0, size.blocks * size.exact, size.exact)
    ]
    scores = spade(flat, logits, neighbours=size.neighbours, rank=10, blocks=0, seed=seed)
    random = generator(seed, SpadeStream.RANDOM_EDGES)
    many = random.choice(len(scores.edges), min(size.random, len(scores.edges)), replace=False)
    distorted = Moments.of(
        pair_distortion(scores, scores.edges[np.sort(many)], distance="geodesic", seed=seed)
    )
    few = np.sort(order[: size.nodes])
    return {
        "accuracy": float((logits.argmax(1) == labels).mean()),
        "score": scores.score,
        "parts": scores.settings.output_parts,
        "exact": [
            exact(flat[rows], logits[rows], size.neighbours, seed)._asdict() for rows in parts
        ],
        "random": [float(distorted.mean), float(distorted.error)],
        "steps": _summary(along_edges(module, images, scores, size.edges, seed)),
        "nodes": _correlations(scores.values[few], node_slopes(module, images[few])),
        "points": {"edges": 2 * size.edges, "nodes": len(few), "tested": len(flat)},
        "queries": len(flat) + 4 * size.edges * (1 + 3 * len(DIRECTIONS)) + len(few),
    }


def _summary(found: dict[str, Any]) -> dict[str, Any]:
    """Means and errors of slopes, counts of changed decisions, and slopes against random ones."""
    told: dict[str, Any] = {}
    for name, steps in found.items():
        told[name] = {}
        base = np.log(np.maximum(steps.slopes["random"], 1e-12))
        for direction in DIRECTIONS:
            slopes = np.array(steps.slopes[direction])
            moments = Moments.of(slopes)
            ratio = Moments.of(np.log(np.maximum(slopes, 1e-12)) - base)
            told[name][direction] = {
                "slope": [float(moments.mean), float(moments.error)],
                "times random": [float(ratio.mean), float(ratio.error)],
                "changed": np.sum(steps.changed[direction], axis=0).tolist(),
            }
    return told


def _correlations(values: Floats, slopes: Any) -> dict[str, float]:
    """Spearman's, of node scores with slopes and with nearness to the boundary."""
    from scipy.stats import spearmanr

    kept = np.isfinite(values)
    near = -slopes.margin / np.maximum(slopes.gradient, 1e-12)
    others = {
        "Jacobian's norm": slopes.jacobian,
        "margin's gradient": slopes.gradient,
        "small margin": -slopes.margin,
        "nearness (margin over its gradient)": near,
    }
    found = {
        name: float(spearmanr(values[kept], each[kept]).statistic) for name, each in others.items()
    }
    found["control: small margin with nearness"] = float(
        spearmanr(-slopes.margin[kept], near[kept]).statistic
    )
    return found


def keep(
    out: Path, networks: dict[str, Callable[[], tuple[Any, Any, Any]]], size: Size, seed: int
) -> None:
    """Measure what is not in the file yet; a network is made only when it is wanted."""
    held = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {"networks": {}}
    for name, make in networks.items():
        if name in held["networks"]:
            continue
        module, images, labels = make()
        held["networks"][name] = measured(module, images, labels, size, seed)
        held |= {"seed": seed, "size": vars(size)}
        with whole_file(out) as temporary:
            Path(temporary).write_text(json.dumps(held, indent=1), encoding="utf-8")
        print(f"{name} is measured", flush=True)


def merge(files: Sequence[Path], out: Path) -> None:
    """Several runs' networks in one file, in the order of their names."""
    parts = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    about = {(part["seed"], json.dumps(part["size"])) for part in parts}
    if len(about) > 1:
        raise InputError("these runs had different seeds or sizes: they make no one table")
    networks = {name: each for part in parts for name, each in part["networks"].items()}
    held = parts[0] | {"networks": dict(sorted(networks.items()))}
    with whole_file(out) as temporary:
        Path(temporary).write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Digits, or pictures."""
    from studies.spade_theory.networks import digit_networks, picture_networks

    reader = argparse.ArgumentParser(description="SPADE's theorems and remarks, measured.")
    reader.add_argument("--digits", type=Path, help="a folder of MNIST's files")
    reader.add_argument("--pictures", type=Path, help="CIFAR-10, as studies.spade_cifar reads it")
    reader.add_argument("--state", type=Path, help="what studies.spade_cifar.running left")
    reader.add_argument("--out", type=Path, required=True)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--only", default="", help="in the names of the networks")
    reader.add_argument("--merge", type=Path, nargs="*", default=[], help="files of other runs")
    given = reader.parse_args()
    networks: dict[str, Callable[[], tuple[Any, Any, Any]]] = {}
    if given.digits is not None:
        networks |= digit_networks(given.digits)
    if given.pictures is not None and given.state is not None:
        networks |= picture_networks(given.pictures, given.state, accelerated())
    chosen = {name: make for name, make in networks.items() if given.only in name}
    if given.merge:
        merge(given.merge, given.out)
    keep(given.out, chosen, FULL, given.seed)


if __name__ == "__main__":
    main()
