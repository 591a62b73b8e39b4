"""The same two questions for networks trained on a GPU, where the folder has their weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from anharmonic.moments import Estimate
from anharmonic.reproduce.mnist import Digits
from anharmonic.reproduce.page import Row, Section, Tell
from anharmonic.reproduce.spade.measuring import EDGES, TABLE
from anharmonic.reproduce.spade_clever import network_in
from anharmonic.spectral import compare, distortion

__all__ = ["WEIGHTS", "longer"]

WEIGHTS = {"ε = 0": "plain.npz", "ε = 0.3": "PGD-0.3.npz"}
PAPER = {10: {"ε = 0": "42", "ε = 0.3": "33"}, 20: {"ε = 0": "41", "ε = 0.3": "30"}}


def longer(data: Path, asked: Digits, seed: int, tell: Tell) -> list[Section]:
    """A section about both networks, or none where there are no weights."""
    if not all((data / file).exists() for file in WEIGHTS.values()):
        return []
    tell("networks trained on a GPU")
    outputs = {name: _logits(data / file, asked) for name, file in WEIGHTS.items()}
    flat = asked.images.reshape(len(asked.images), -1)
    rows = []
    for neighbours in TABLE:
        found = compare(flat, outputs, neighbours=neighbours, rank=1, seed=seed)
        for name, scores in found.scores.items():
            case = f"{neighbours} neighbours, {name}"
            score = Estimate(scores.score, scores.error)
            rows.append(Row(f"{case}, score", score, PAPER[neighbours][name]))
            top, chance = distortion(scores, EDGES, distance="geodesic", seed=seed).means
            rows.append(Row(f"{case}, distortion of top edges", top))
            rows.append(Row(f"{case}, distortion of random edges", chance))
        rows[-1] = replace(rows[-1], remark=str(found.ratios[0]))
    return [
        Section(
            "Trained on all digits",
            """One plain network (20 epochs) and one under PGD at ε = 0.3 (4 epochs), both on the
            whole training set, on a GPU. Errors of scores are for new digits, from 8 blocks; those
            of distortions (geodesic) are over the edges.""",
            tuple(rows),
        )
    ]


def _logits(file: Path, asked: Digits) -> Any:
    import torch

    with torch.no_grad():
        return network_in(file)(torch.from_numpy(asked.images[:, None])).numpy()
