"""Which of several radii to go on with: the one that `radius="auto"` takes, unless it fails here.

Over twelve data sets one nearest-neighbour distance ranked overfit models best, half and twice as
much were nearly as good, and what is smaller or larger was worse (docs/reproduce/overfitting.md).
So advice starts there, and leaves only for a reason that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anharmonic.measures.compare.differences import Difference
from anharmonic.measures.compare.result import Comparison

__all__ = ["NEARLY", "RadiusAdvice", "advise", "most_local"]

NEARLY = 2.0
"""Radii within this factor of the automatic one rank models nearly as well in the study."""
CLEAR = 3.0
"""A mean must be so many times what noise reads."""
AUTO = 'what radius="auto" takes, one nearest-neighbour distance'


class RadiusAdvice(NamedTuple):
    """A radius to go on with, and why."""

    radius: float
    why: str


def advise(
    radii: Sequence[float], comparisons: Sequence[Comparison], automatic: float | None
) -> RadiusAdvice:
    """The radius to go on with.

    Parameters
    ----------
    radii
        From the smallest on.
    comparisons
        One for each.
    automatic
        What `radius="auto"` would take; None where there are no data to take it from.
    """
    if automatic is None:
        return _without_data(radii, comparisons)
    first = int(np.argmin([abs(np.log(radius / automatic)) for radius in radii]))
    near = _within(radii, automatic)
    here = AUTO
    if not near:
        here = f"the nearest to {automatic:.4g}, {AUTO}, though not within a factor of {NEARLY:g}"
    elif not np.isclose(radii[first], automatic):
        here = f"the nearest to {automatic:.4g}, {AUTO}"
    if len(comparisons[0].scores) > 1:
        return _of_several(radii, comparisons, first, near or [first], here)
    return _of_one(radii, comparisons, first, here)


def most_local(radii: Sequence[float], comparisons: Sequence[Comparison]) -> float | None:
    """The smallest radius at which every mean stands clear of noise; None where none does."""
    clear = (radius for radius, there in zip(radii, comparisons, strict=True) if _clear(there))
    return next(clear, None)


def _within(radii: Sequence[float], automatic: float) -> list[int]:
    """The radii that are about as good as the automatic one, by their places."""
    # A hair more than the factor: radii are products of floats.
    return [
        index
        for index, radius in enumerate(radii)
        if abs(np.log(radius / automatic)) <= np.log(NEARLY) + 1e-9
    ]


def _clear(compared: Comparison) -> bool:
    return all(scores.mean > CLEAR * scores.floor for scores in compared.scores.values())


def _of_one(
    radii: Sequence[float], comparisons: Sequence[Comparison], first: int, here: str
) -> RadiusAdvice:
    """The automatic radius, or the next larger one at which noise does not cover the mean."""
    for index in range(first, len(radii)):
        if _clear(comparisons[index]):
            if index == first:
                return RadiusAdvice(radii[first], here)
            return RadiusAdvice(
                radii[index],
                f"the next above {radii[first]:.4g} ({here}), where noise covers the mean: here it "
                f"is {CLEAR:g} times what noise would read",
            )
    return RadiusAdvice(
        radii[first], f"{here}; noise covers the mean there and at every larger radius"
    )


def _of_several(
    radii: Sequence[float],
    comparisons: Sequence[Comparison],
    first: int,
    near: Sequence[int],
    here: str,
) -> RadiusAdvice:
    """The automatic radius, unless only a near one tells the closest pair of models apart."""
    pair = _closest(comparisons[first])
    if pair.real:
        return RadiusAdvice(radii[first], f"{here}; it tells all models apart")
    best = max(near, key=lambda index: _closest(comparisons[index]).strength)
    if _closest(comparisons[best]).real:
        return RadiusAdvice(
            radii[best],
            f"it tells {pair.larger} and {pair.smaller} apart, which {radii[first]:.4g} ({here}) "
            f"does not, and radii within a factor of {NEARLY:g} of that rank models nearly as well",
        )
    why = f" ({pair.why})" if pair.why else ""
    none = not any(_closest(compared).real for compared in comparisons)
    which = "no radius" if none else "no radius near it"
    return RadiusAdvice(
        radii[first],
        f"{here}; {which} tells {pair.larger} and {pair.smaller} apart: here they are "
        f"{pair.verdict}{why}",
    )


def _closest(compared: Comparison) -> Difference:
    """The pair that is hardest to tell apart."""
    return min(compared.differences, key=lambda pair: (pair.real, pair.strength))


def _without_data(radii: Sequence[float], comparisons: Sequence[Comparison]) -> RadiusAdvice:
    """Where the distance between points says nothing: by what can be seen above the noise."""
    if len(comparisons[0].scores) > 1:
        pairs = [_closest(compared) for compared in comparisons]
        # A maximin: at every radius the closest pair counts.
        best = int(np.argmax([pair.strength for pair in pairs]))
        pair = pairs[best]
        if pair.strength:
            return RadiusAdvice(
                radii[best],
                f"the closest pair, {pair.larger} and {pair.smaller}, is {pair.strength:.1f} "
                "standard errors apart with noise taken out, more than at any other radius",
            )
        pair = pairs[-1]
        why = f" ({pair.why})" if pair.why else ""
        return RadiusAdvice(
            radii[-1],
            f"the largest, as no radius tells {pair.larger} and {pair.smaller} apart: here they "
            f"are {pair.verdict}{why}",
        )
    smallest = most_local(radii, comparisons)
    if smallest is None:
        return RadiusAdvice(radii[-1], "noise covers the mean at every radius, least here")
    return RadiusAdvice(
        smallest, f"the smallest at which the mean is {CLEAR:g} times what noise would read"
    )
