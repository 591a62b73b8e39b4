"""A second opinion that needs no network: which short runs of characters stand in a text."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.llm.embed.checks import texts_to_embed, unit_vectors
from anharmonic.llm.types import Embed

__all__ = ["characters"]


def characters(runs: Sequence[int] = (3, 4, 5), size: int = 4096) -> Embed:
    """An embedder of character runs: their counts, hashed into `size` numbers.

    It knows letters and no meaning: what an embedder must add to be worth its while.

    Parameters
    ----------
    runs
        How many characters a run has.
    size
        Numbers per vector.

    Examples
    --------
    >>> embed = characters()
    >>> rome, again, paris = embed(["Rome", "rome ", "Paris"])
    >>> round(float(rome @ again), 6), round(float(rome @ paris), 6)
    (1.0, 0.0)
    """

    def embed(texts: Sequence[str]) -> Floats:
        checked = texts_to_embed(texts)
        vectors = np.zeros((len(checked), size))
        for row, text in enumerate(checked):
            line = f" {' '.join(text.lower().split())} "
            counts = Counter(
                line[first : first + run]
                for run in runs
                for first in range(max(1, len(line) - run + 1))
            )
            for part, count in counts.items():
                # Feature hashing; counts are damped to 1 + log count (sublinear TF).
                column = zlib.crc32(part.encode("utf-8", "replace")) % size
                vectors[row, column] += 1 + np.log(count)
        return unit_vectors(vectors, len(checked))

    return embed
