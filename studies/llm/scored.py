"""What the tables need of every question, apart from its texts: one small .npz file a table.

Answers and their vectors are large, and making them takes a GPU; these numbers are not, and every
AUROC, interval and lead of the page follows from them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import InputError

__all__ = ["LETTERS", "MAIN", "NOISE", "Scored", "fingerprint", "read_scored"]

MAIN = {"control": "control characters", "resample": "asked again at temperature 1"}
"""The paper's procedure and its rival."""
LETTERS = "letters"
"""Stands before gammas of the embedder that knows no meaning."""
NOISE = "repeat"
"""The group that asks the same prompt in another batch."""


@dataclass(frozen=True)
class Scored:
    """Columns over the questions of one source, by name, and the facts about them.

    - `question`: a fingerprint of its text, so that whoever has the questions can tell which.
    - `wrong`: whether the original answer is wrong. `length`: its words.
    - `gamma/GROUP/N`, `letters/GROUP/N`: gamma from the first N answers of a group.
    - `rival/GROUP/NAME`: a rival's number from the same answers as the main gamma.

    Facts: `source`, `part` (whether these are only some questions, for the ablations), `others`
    (answers in the main tables besides the original), `calls`, `same` (the share of answers that
    another batch did not change), and `moved`, how far each change moves a prompt.
    """

    facts: dict[str, Any]
    columns: dict[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.wrong)

    @property
    def source(self) -> str:
        return str(self.facts["source"])

    @property
    def part(self) -> bool:
        return bool(self.facts["part"])

    @property
    def others(self) -> int:
        """Answers besides the original in the main tables; fewer in a reduced run."""
        return int(self.facts["others"])

    @property
    def wrong(self) -> Array:
        return self.columns["wrong"]

    @property
    def length(self) -> Floats:
        return self._column("length")

    @property
    def noise(self) -> Floats:
        """Gamma of the same prompt in another batch."""
        return self.gamma(NOISE, 1)

    def gamma(self, group: str, count: int | None = None, embedder: str = "gamma") -> Floats:
        """Gamma from the first `count` answers of a group; as many as in the main tables."""
        return self._column(f"{embedder}/{group}/{count or self.others}")

    def groups(self) -> list[str]:
        """The groups of other answers with as many answers as the main tables have."""
        names = [name.split("/") for name in self.columns]
        return [each[1] for each in names if each[::2] == ["gamma", str(self.others)]]

    def counts(self, group: str) -> list[int]:
        """The numbers of answers for which the gamma of a group is known."""
        names = [name.split("/") for name in self.columns]
        return sorted(int(each[2]) for each in names if each[:2] == ["gamma", group])

    def rivals(self, group: str) -> dict[str, Floats]:
        """Every rival's column from the answers of a group."""
        start = f"rival/{group}/"
        names = [name for name in self.columns if name.startswith(start)]
        return {name.removeprefix(start): self._column(name) for name in names}

    def _column(self, name: str) -> Floats:
        return np.asarray(self.columns[name], dtype=np.float64)

    def save(self, folder: Path) -> Path:
        """Write SOURCE.npz, or SOURCE-part.npz, into a folder, whole or not at all."""
        end = "-part" if self.part else ""
        place = folder / f"{self.source.lower()}{end}.npz"
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(place) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, facts=np.array(json.dumps(self.facts)), **self.columns)
        return place

    @classmethod
    def load(cls, path: Path) -> Scored:
        """Read what `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                facts = json.loads(str(file["facts"]))
                columns = {name: file[name] for name in file.files if name != "facts"}
        except (OSError, ValueError, KeyError) as problem:
            raise InputError(
                f"{path} holds no scores ({problem}): make them again by python -m "
                "studies.llm.scoring"
            ) from problem
        return cls(facts, columns)


def read_scored(folder: Path) -> list[Scored]:
    """All that is kept in a folder; nothing where it holds answers or questions instead."""
    return [Scored.load(path) for path in sorted(folder.glob("*.npz"))]


def fingerprint(text: str) -> str:
    """The first 16 digits of its sha256.

    >>> fingerprint("what is the capital of France?")
    'ed775ea275f0f69b'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:16]
