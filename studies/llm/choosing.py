"""How far the best of several is ahead of the best of others, with the choice counted in.

The best on some questions is the best in part because of those questions: its lead there is too
large. So either the choice is made anew in every resampling, or in one half of the questions and
judged in the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic.llm.bands import auroc
from studies.llm.ranking import Ranked
from studies.streams import LanguageStudyStream

__all__ = ["lead", "lead_in_other_half"]

SPLITS = 200


def lead(mine: Iterable[Ranked], rivals: Iterable[Ranked]) -> Ranked:
    """The best of `mine` less the best rival, both chosen anew in every resampling.

    Choosing among noisy numbers is as far too hopeful in a resampling as it was in the sample, so
    the draws are turned about the value (the basic bootstrap): where they lie above it, the truth
    lies below.

    >>> some = [Ranked(0.7, np.array([0.6, 0.8])), Ranked(0.6, np.array([0.8, 0.5]))]
    >>> lead(some, [Ranked(0.5, np.array([0.5, 0.5]))]).draws.round(3).tolist()
    [0.1, 0.1]
    """
    found = _best(mine) - _best(rivals)
    return Ranked(found.value, 2 * found.value - found.draws)


def _best(found: Iterable[Ranked]) -> Ranked:
    every = list(found)
    return Ranked(max(each.value for each in every), np.max([each.draws for each in every], axis=0))


def lead_in_other_half(
    mine: Mapping[str, Floats],
    rivals: Mapping[str, Floats],
    wrong: Array,
    seed: int = 0,
    splits: int = SPLITS,
    hindsight: bool = False,
) -> float:
    """The best of `mine` less the best rival in one half, both chosen by the other half.

    The mean over random halves; those in which all answers are right, or wrong, are left out.
    Half of the questions choose worse among many than among few, so many rivals look weaker than
    the best of them is. With `hindsight` the rival is the best of the very half that is read: on
    average that is no more than the lead over the one that is truly the best.
    """
    bad = np.asarray(wrong, dtype=bool)
    rng, leads = generator(seed, LanguageStudyStream.CHOICE_HALVES), []
    for _ in range(splits):
        order = rng.permutation(len(bad))
        first, second = order[: len(bad) // 2], order[len(bad) // 2 :]
        if not all(bad[half].any() and not bad[half].all() for half in (first, second)):
            continue
        left = _best_in(mine, bad, first)
        right = _best_in(rivals, bad, second if hindsight else first)
        leads.append(auroc(left[second], bad[second]) - auroc(right[second], bad[second]))
    return float(np.mean(leads)) if leads else float("nan")


def _best_in(columns: Mapping[str, Floats], bad: Array, half: Array) -> Floats:
    return max(columns.values(), key=lambda each: auroc(each[half], bad[half]))
