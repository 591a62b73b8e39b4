"""Who is on the frontier: no other model is both more right and less fragile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from anharmonic.measures.compare.differences import Difference

__all__ = ["Standing", "standings"]


class Standing(NamedTuple):
    """Where a model stands among others, by its score and its gamma.

    Parameters
    ----------
    on_frontier
        Whether no other model is at least as good in both and better in one.
    behind
        A model that is, where there is one.
    surely
        Whether that one is better in both by more than chance and noise allow.
    """

    on_frontier: bool
    behind: str = ""
    surely: bool = False

    def __str__(self) -> str:
        if self.on_frontier:
            return "on the frontier"
        return f"behind {self.behind}" if self.surely else f"perhaps behind {self.behind}"


def standings(
    fragility: Mapping[str, float],
    scores: Mapping[str, float],
    differences: Sequence[Sequence[Difference]],
) -> dict[str, Standing]:
    """Every model's standing.

    Parameters
    ----------
    fragility
        By name, more is worse: mean gamma.
    scores
        By name, more is better.
    differences
        The differences of either between all pairs.

    Examples
    --------
    >>> gamma, accuracy = {"a": 0.1, "b": 0.2, "c": 0.3}, {"a": 0.8, "b": 0.7, "c": 0.9}
    >>> {name: str(where) for name, where in standings(gamma, accuracy, []).items()}
    {'a': 'on the frontier', 'b': 'perhaps behind a', 'c': 'on the frontier'}
    """
    # Pairs that differ for sure in both respects.
    real = [
        {frozenset((pair.larger, pair.smaller)) for pair in pairs if pair.real}
        for pairs in differences
    ]
    sure = set.intersection(*real) if real else set()
    found = {}
    for name in fragility:
        better = [
            other
            for other in fragility
            if fragility[other] <= fragility[name]
            and scores[other] >= scores[name]
            and (fragility[other], scores[other]) != (fragility[name], scores[name])
        ]
        for_sure = [other for other in better if frozenset((other, name)) in sure]
        if not better:
            found[name] = Standing(True)
            continue
        # The most right of them is on the frontier itself.
        first = max(for_sure or better, key=lambda other: (scores[other], -fragility[other]))
        found[name] = Standing(False, first, bool(for_sure))
    return found
