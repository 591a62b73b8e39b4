"""SPADE's node scores of the training pictures, from the plain networks: 100 neighbours.

python -m studies.spade_cifar.nodes --data parts --state state
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic.measures.spectral import compare
from anharmonic.models.torch_arrays import accelerated
from studies.spade_cifar.data import Cifar, read_cifar

__all__ = ["NEIGHBOURS", "node_scores", "nodes_file", "train_logits_file"]

NEIGHBOURS = 100
"""Of the training set, as in the paper."""


def train_logits_file(state: Path, seed: int) -> Path:
    """Where a plain network's logits of the training pictures are."""
    return state / "train" / f"{seed}.npy"


def nodes_file(state: Path, seed: int) -> Path:
    """Where the node scores of a seed are."""
    return state / "nodes" / f"{seed}.npy"


def node_scores(
    pictures: Cifar, logits: dict[str, Floats], neighbours: int = NEIGHBOURS
) -> dict[str, Floats]:
    """(pictures,) for each of the networks, over one input graph."""
    search = "torch" if accelerated() == "cuda" else "auto"
    flat = pictures.flat()
    found = compare(flat, logits, neighbours=neighbours, blocks=0, search=search)
    return {name: scores.values for name, scores in found.scores.items()}


def main() -> None:
    """Scores for every seed that has logits and no scores yet."""
    reader = argparse.ArgumentParser(description="Node scores of CIFAR-10's training pictures.")
    reader.add_argument("--data", type=Path, required=True)
    reader.add_argument("--state", type=Path, required=True)
    reader.add_argument("--neighbours", type=int, default=NEIGHBOURS)
    given = reader.parse_args()
    files = sorted((given.state / "train").glob("*.npy"))
    missing = [file for file in files if not (given.state / "nodes" / file.name).exists()]
    if not missing:
        return
    logits = {file.stem: np.load(file).astype(np.float64) for file in missing}
    pictures = read_cifar(given.data)[0].first(len(next(iter(logits.values()))))
    for name, values in node_scores(pictures, logits, given.neighbours).items():
        path = nodes_file(given.state, int(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary, open(temporary, "wb") as file:
            np.save(file, values.astype(np.float32))


if __name__ == "__main__":
    main()
