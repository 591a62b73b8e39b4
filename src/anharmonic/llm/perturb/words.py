"""Synonyms: one word of a prompt replaced by a neighbour in a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import SettingsError
from anharmonic.llm.perturb.changes import Change

__all__ = ["synonyms"]

WORD = re.compile(r"[^\W\d_]+")


class Choices(Protocol):
    """Words that may be replaced: others to draw from, and their weights (None: all equal)."""

    def __contains__(self, word: object, /) -> bool: ...

    def __getitem__(self, word: str, /) -> tuple[list[str], Floats | None]: ...


def synonyms(table: Mapping[str, Sequence[str] | Array], neighbours: int = 20) -> Change:
    """A perturbation that replaces one word, as (prompt, rng) -> prompt.

    With vectors, the nearest words are drawn with the weights that bring their mean closest to
    the word itself, so that the perturbed prompts lie about the original and not to one side of
    it.

    Parameters
    ----------
    table
        Gives each lower-case word its synonyms, or its vector.
    neighbours
        How many of the nearest words to draw from, where it gives vectors.

    Examples
    --------
    >>> import numpy as np
    >>> change = synonyms({"big": ["large"]})
    >>> change("a big dog", np.random.default_rng(0))
    'a large dog'
    """
    if not table:
        raise SettingsError("the table holds no words: give synonyms or a vector for each word")
    if all(_is_words(entry) for entry in table.values()):
        return Replacement(
            {word: (list(others), None) for word, others in table.items() if len(others)}
        )
    words = list(table)
    vectors = np.array([np.asarray(table[word], dtype=float) for word in words])
    if vectors.ndim != 2 or len(words) < 2:
        raise SettingsError("a table of vectors needs at least two words, all of one size")
    return Replacement(_Balanced(words, vectors, neighbours))


@dataclass(frozen=True)
class Replacement:
    """The perturbation itself: what each word may become, with which weights."""

    choices: Choices

    def __call__(self, prompt: str, rng: np.random.Generator) -> str:
        """Replace one known word, in its case; a prompt without known words stays."""
        known = [word for word in WORD.finditer(prompt) if word.group().lower() in self.choices]
        if not known:
            return prompt
        word = known[int(rng.integers(len(known)))]
        others, weights = self.choices[word.group().lower()]
        chosen = str(rng.choice(others, p=weights))
        if word.group()[0].isupper():
            chosen = chosen[0].upper() + chosen[1:]
        return prompt[: word.start()] + chosen + prompt[word.end() :]


class _Balanced:
    """Neighbours and weights by word, worked out when a word is first met."""

    def __init__(self, words: list[str], vectors: Floats, neighbours: int) -> None:
        self._row_of = {word: row for row, word in enumerate(words)}
        self._words, self._vectors = words, vectors
        self._neighbours = min(neighbours, len(words) - 1)
        self._cached = lru_cache(maxsize=4096)(self._balanced)

    def __contains__(self, word: object) -> bool:
        return word in self._row_of

    def __getitem__(self, word: str) -> tuple[list[str], Floats]:
        return self._cached(word)

    def _balanced(self, word: str) -> tuple[list[str], Floats]:
        """The nearest words, and weights p ≥ 0 with sum 1 that make |Σ p·step| least."""
        from scipy.optimize import nnls

        own = self._row_of[word]
        steps = self._vectors - self._vectors[own]  # (words, D)
        distances = np.linalg.norm(steps, axis=1)
        distances[own] = np.inf
        nearest = np.argsort(distances)[: self._neighbours]
        # Non-negative least squares; Σp = 1 is one more equation, heavy enough to hold to many
        # digits.
        weight = 1e3 * (float(distances[nearest].mean()) or 1.0)
        system = np.vstack([steps[nearest].T, np.full(len(nearest), weight)])
        target = np.append(np.zeros(steps.shape[1]), weight)
        shares = nnls(system, target)[0]
        return [self._words[row] for row in nearest], shares / shares.sum()


def _is_words(entry: object) -> bool:
    return isinstance(entry, Sequence) and all(isinstance(word, str) for word in entry)
