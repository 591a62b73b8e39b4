"""What was measured of one network, apart from what is made of it: one .npz file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic.errors import InputError

__all__ = ["CLIMBS", "NOT_WALKED", "Measurements", "read_measurements"]

Array = np.ndarray[Any, Any]
CLIMBS = ("margin", "output", "gamma", "random")
NOT_WALKED = -2
"""Stands for a first flip where no walk was made; −1 stands for a walk that found none."""


@dataclass
class Measurements:
    """Arrays over a network's photos, by name, and the facts about how they came to be.

    - `margin`, `probability`, `logit`, `label` (photos,): at the photo itself.
    - `top` (photos, 5): the five classes with the largest logits, the largest first.
    - `NAME/changes`, `NAME/own` (photos, sides, each): change of the margin and of the predicted
      class's logit, one step away (NAME is a ball) or after N random ones (`walks N BALL`).
    - `auto BUDGET` (photos,): gamma with the ball the package chooses.
    - `CLIMB/flips`, `CLIMB/queries` (seeds, photos): first flips and what they cost.
    """

    facts: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)

    @property
    def network(self) -> str:
        return str(self.facts["network"])

    def __len__(self) -> int:
        return len(self.arrays["margin"])

    def around(self, name: str, budget: int, what: str = "changes") -> Array:
        """The first `budget` changes of a kind, (photos, sides, budget/sides)."""
        changes = self.arrays[f"{name}/{what}"]
        each = budget // changes.shape[1]
        if each < 1 or each > changes.shape[2]:
            raise InputError(
                f"{budget} queries of {name!r} were asked for and {changes[0].size} measured"
            )
        return np.asarray(changes[:, :, :each], dtype=np.float64)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write NETWORK.npz into a folder, whole or not at all."""
        place = Path(folder) / f"{self.network.lower().replace(' ', '-')}.npz"
        place.parent.mkdir(parents=True, exist_ok=True)
        small: dict[str, Any] = {name: _small(array) for name, array in self.arrays.items()}
        with whole_file(place) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, facts=np.array(json.dumps(self.facts)), **small)
        return place

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Measurements:
        """Read what `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                facts = json.loads(str(file["facts"]))
                return cls(facts, {name: file[name] for name in file.files if name != "facts"})
        except (OSError, ValueError, KeyError) as problem:
            raise InputError(
                f"{path} holds no measurements ({problem}): make some with python -m studies.images"
            ) from problem


def _small(array: Array) -> Array:
    """Answers came in half precision or were ranked only: single precision holds them."""
    return array.astype(np.float32) if array.dtype == np.float64 else array


def read_measurements(folder: Path) -> list[Measurements]:
    """All measurements of a folder, in name order."""
    found = [Measurements.load(path) for path in sorted(folder.glob("*.npz"))]
    if not found:
        raise InputError(f"{folder} holds no .npz file of measurements")
    return found
