"""Vectors of many texts, each made once and kept on disk, so that a stop loses minutes at most."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.files import whole_file
from anharmonic._core.protocols import Floats
from anharmonic.llm.types import Embed
from studies.page import Tell, silent

__all__ = ["Vectors"]

BLOCK = 4096


class Vectors:
    """An embedder that remembers; `folder` holds blocks of texts and their vectors."""

    def __init__(self, embed: Embed, folder: Path | None = None) -> None:
        self._embed, self._folder = embed, folder
        self._known: dict[str, NDArray[np.float32]] = {}
        for file in sorted(folder.glob("*.npz")) if folder is not None else ():
            with np.load(file) as block:
                texts = json.loads(str(block["texts"]))
                self._known |= dict(zip(texts, block["vectors"], strict=True))

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors (texts, D); what is not known yet is embedded now."""
        self.learn(texts)
        return np.array([self._known[text] for text in texts], dtype=float)

    def learn(self, texts: Iterable[str], tell: Tell = silent) -> None:
        """Embed what is not known yet, block by block."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for first in range(0, len(new), BLOCK):
            tell(f"{len(new) - first:,} texts are still to be embedded …")
            block = new[first : first + BLOCK]
            vectors = np.asarray(self._embed(block), dtype=np.float32)
            self._known |= dict(zip(block, vectors, strict=True))
            if self._folder is not None and len(new) >= BLOCK:
                self._write(block, vectors)

    def _write(self, texts: list[str], vectors: NDArray[np.float32]) -> None:
        assert self._folder is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        number = len(list(self._folder.glob("*.npz")))
        with (
            whole_file(self._folder / f"{number:05}.npz") as temporary,
            open(temporary, "wb") as to,
        ):
            np.savez(to, texts=json.dumps(texts), vectors=vectors)
