"""What gamma must beat at equal calls: other ways to doubt an answer from answers like it.

Each is one function of `answers`, the original first, and their `vectors` of length 1 (N + 1, D).
Each gives one number, larger for less trust.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError

__all__ = [
    "RIVALS",
    "Entails",
    "Rival",
    "disagreement",
    "length",
    "lexical",
    "pairwise",
    "selfcheck",
    "semantic_entropy",
    "words",
]

Rival = Callable[[Sequence[str], Floats], float]
Entails = Callable[[str, str], bool]
"""Whether the second text follows from the first: an NLI model."""

SAME: Final = 0.2
"""Two answers mean the same when 1 − cosine is below it."""
WORD: Final = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of a text, in small letters, without accents or punctuation.

    Parameters
    ----------
    text
        Any text.

    Examples
    --------
    >>> words("Orléans, the CITY")
    ['orleans', 'the', 'city']
    """
    # NFKD splits é into e and its accent, a combining character.
    letters = unicodedata.normalize("NFKD", text.lower())
    return WORD.findall("".join(letter for letter in letters if not unicodedata.combining(letter)))


def length(answers: Sequence[str], vectors: Floats) -> float:
    """Words of the original answer: a baseline that asks nothing else.

    Parameters
    ----------
    answers
        The original answer, then others to the same or nearby prompts.
    vectors : array (N + 1, D)
        Their embeddings, of length 1; not used.

    Examples
    --------
    >>> length(["in the city of Rome"], np.ones((1, 1)))
    5.0
    """
    return float(len(words(answers[0])))


def disagreement(answers: Sequence[str], vectors: Floats) -> float:
    """The share of other answers that are not the original, word for word.

    Parameters
    ----------
    answers
        The original answer, then others to the same or nearby prompts.
    vectors : array (N + 1, D)
        Their embeddings, of length 1; not used.

    Examples
    --------
    >>> disagreement(["Rome.", "rome", "Paris"], np.ones((3, 1)))
    0.5
    """
    original, *others = (words(answer) for answer in _several(answers))
    return sum(other != original for other in others) / len(others)


def lexical(answers: Sequence[str], vectors: Floats) -> float:
    """1 less the mean similarity (ROUGE-L, F1) of any two answers.

    Parameters
    ----------
    answers
        The original answer, then others to the same or nearby prompts.
    vectors : array (N + 1, D)
        Their embeddings, of length 1; not used.

    Examples
    --------
    >>> lexical(["the city of Rome", "Rome"], np.ones((2, 1)))
    0.6
    """
    texts = [words(answer) for answer in _several(answers)]
    return 1 - _mean([_rouge(one, two) for one, two in combinations(texts, 2)])


def pairwise(answers: Sequence[str], vectors: Floats) -> float:
    """1 less the mean cosine of any two answers.

    Parameters
    ----------
    answers
        The original answer, then others to the same or nearby prompts.
    vectors : array (N + 1, D)
        Their embeddings, of length 1.

    Examples
    --------
    >>> pairwise(["a", "b", "c"], np.eye(3))
    1.0
    """
    count = len(_several(answers))
    # Σ over pairs of v·w, twice, is |Σv|² − Σ|v|².
    total = float(np.sum(np.sum(vectors, axis=0) ** 2) - np.sum(vectors**2))
    return 1 - total / (count * (count - 1))


def semantic_entropy(
    answers: Sequence[str],
    vectors: Floats,
    *,
    entails: Entails | None = None,
    same: float = SAME,
) -> float:
    """Entropy, in nats, of the meanings that the answers fall into (Farquhar and others, 2024).

    Two answers mean the same when each entails the other; without a model for that, when
    1 − cosine is below `same`. An answer joins the first meaning whose first member it matches.

    Parameters
    ----------
    answers
        The original answer, then others to the same or nearby prompts.
    vectors : array (N + 1, D)
        Their embeddings, of length 1.
    entails
        Whether the second text follows from the first: an NLI model.
    same
        The largest 1 − cosine of answers that mean the same, where there is no `entails`.

    Examples
    --------
    >>> round(semantic_entropy(["a", "a", "b", "b"], np.eye(2)[[0, 0, 1, 1]]), 4)
    0.6931

    References
    ----------
    Farquhar, Kossen, Kuhn and Gal, Detecting hallucinations in large language models using
    semantic entropy, 2024.
    """
    # Of each meaning, the row of its first member and how many answers have it.
    firsts: list[int] = []
    sizes: list[int] = []
    for row, answer in enumerate(answers):
        for group, first in enumerate(firsts):
            if entails is None:
                alike = 1 - float(vectors[row] @ vectors[first]) < same
            else:
                alike = entails(answers[first], answer) and entails(answer, answers[first])
            if alike:
                sizes[group] += 1
                break
        else:
            firsts.append(row)
            sizes.append(1)
    shares = np.array(sizes) / sum(sizes)
    return max(0.0, float(-np.sum(shares * np.log(shares))))  # −Σ p·log p


def selfcheck(
    answers: Sequence[str],
    vectors: Floats,
    *,
    contradicts: Callable[[str, str], float] | None = None,
) -> float:
    """How badly the other answers support the original (Manakul and others, 2023).

    The mean of −log p over the original's words, p being a word's share in all answers; the mean
    of `contradicts` instead where it is given.

    Parameters
    ----------
    answers
        The original answer, then others to the same or nearby prompts.
    vectors : array (N + 1, D)
        Their embeddings, of length 1; not used.
    contradicts
        From the original and another answer to the probability that they contradict.

    Examples
    --------
    >>> round(selfcheck(["Rome", "Rome", "Paris", "Oslo"], np.ones((4, 1))), 4)
    0.6931

    References
    ----------
    Manakul, Liusie and Gales, SelfCheckGPT: zero-resource black-box hallucination detection for
    generative large language models, 2023.
    """
    original, *others = _several(answers)
    if contradicts is not None:
        return _mean([contradicts(original, other) for other in others])
    counts = Counter(word for answer in answers for word in words(answer))
    own_words = words(original)
    if not own_words:
        return 0.0
    total = sum(counts.values())
    return _mean([math.log(total / counts[word]) for word in own_words])


RIVALS: Final[dict[str, Rival]] = {
    "length": length,
    "exact match": disagreement,
    "lexical similarity": lexical,
    "mean pairwise cosine": pairwise,
    "semantic entropy": semantic_entropy,
    "SelfCheck (unigram)": selfcheck,
}


def _several(answers: Sequence[str]) -> Sequence[str]:
    """The answers, at least two."""
    if len(answers) < 2:
        raise PointsError("one answer agrees with itself: give the original and some others")
    return answers


def _rouge(one: list[str], two: list[str]) -> float:
    """F1 of the longest common subsequence; two texts without words are alike."""
    if not one or not two:
        return float(one == two)
    return 2 * _common(one, two) / (len(one) + len(two))


def _common(one: list[str], two: list[str]) -> int:
    """Length of the longest common subsequence, one column per machine operation (Hyyrö, 2004)."""
    # Bit i of a word's mask: it stands at place i of `one`.
    masks: dict[str, int] = {}
    for place, word in enumerate(one):
        masks[word] = masks.get(word, 0) | 1 << place
    every = (1 << len(one)) - 1
    # A column of the dynamic programme as bits: 0 where the length grows by one. Hyyrö's step is
    # V' = (V + (V & M)) | (V − (V & M)).
    column = every
    for word in two:
        matched = column & masks.get(word, 0)
        column = (column + matched | column - matched) & every
    return len(one) - column.bit_count()


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
