"""Which answers are right: those in which the words of a right one stand."""

from __future__ import annotations

from collections.abc import Sequence

from anharmonic.llm.rivals import words

__all__ = ["says_one_of"]


def says_one_of(answer: str, aliases: Sequence[str]) -> bool:
    """Whether the words of an alias stand in the answer, side by side.

    >>> says_one_of("He was born in Saint-Denis.", ["Paris", "Saint Denis"])
    True
    >>> says_one_of("A Roman road", ["Roma"])
    False
    """
    said = f" {' '.join(words(answer))} "
    return any(f" {' '.join(words(alias))} " in said for alias in aliases if words(alias))
