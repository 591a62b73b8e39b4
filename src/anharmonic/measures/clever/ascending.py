"""Uphill from the steepest sample: a slope that was met is a floor under the largest one.

Random samples seldom come near the largest slope of a ball in tens of dimensions, so a law fitted
to their maxima ends too low, and the bound made of it is too large. A slope is ‖∇m‖, the largest
u·∇m over directions u of length 1, and its own gradient is H·u with the margin's Hessian H. So a
step goes towards the point of the ball that lies furthest along H·u. On a quadratic margin that is
the generalised power method, of which every step climbs (Journée et al., 2010); elsewhere a step
that does not climb is taken back and shortened. H·u is the difference of two gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.measures.clever.sampling import dual_norm

__all__ = ["Ascent", "ascended", "furthest", "steps_for"]

PROBE = 0.1
"""How far apart the two gradients are taken, in radii."""
LAST = 4
"""What so many last steps gave is taken to be left at most: a climb that still halves what is
left every fourth step has less than that to go."""
SAMPLES_PER_STEP = 128
"""A step takes two gradients from each of two starts, so climbing adds a thirty-second."""


class Ascent(NamedTuple):
    """The steepest slope each climb met, and how much it may have left to climb: (climbs,).

    `apart` is how far climbs from several starts ended from one another: peaks that differ.
    """

    steepest: Floats
    rest: Floats
    apart: Floats


def steps_for(samples: int) -> int:
    """How many steps a climb from the steepest of so many samples takes."""
    return max(LAST, samples // SAMPLES_PER_STEP)


def ascended(
    gradients: Callable[[Floats], Floats],
    inside: Callable[[Floats], Floats],
    starts: Floats,
    norm: float,
    steps: int,
) -> Ascent:
    """Climb from places (climbs, n) of the unit ball of a norm.

    `gradients` gives those of the margins at such places, `inside` moves places to where bounds
    allow.

    >>> bent = np.array([3.0, 1.0])  # the gradient's length is |bent·x|, at most 3
    >>> found = ascended(lambda x: x * bent, lambda x: x, np.array([[0.2, 0.5]]), 2, 16)
    >>> found.steepest.round(6).tolist()
    [3.0]
    """
    place = inside(starts)
    gradient = gradients(place)
    slope = dual_norm(gradient, norm)
    met, stride = [slope], np.ones((len(place), 1))
    before, ahead = np.zeros_like(place), np.zeros((len(place), 1))
    for _ in range(steps):
        bend = _bend(gradients, inside, place, gradient, norm)
        goal = np.where(bend.any(axis=1, keepdims=True), furthest(bend, norm), place)
        # Goals of a slow climb drift one way: aim as far ahead of this one as it is of the last.
        aim = np.where(ahead > 0, furthest(2 * goal - before, norm), goal)
        tried = inside(place + stride * (aim - place))
        found = gradients(tried)
        reached = dual_norm(found, norm)
        steeper = (reached > slope)[:, None]
        # What led astray was aiming ahead, or else the length of the step.
        stride = np.where(steeper, np.minimum(2 * stride, 1), stride / np.where(ahead > 0, 1, 4))
        place, gradient = np.where(steeper, tried, place), np.where(steeper, found, gradient)
        slope = np.maximum(reached, slope)
        before, ahead = goal, steeper.astype(np.float64)
        met.append(slope)
    return Ascent(slope, slope - met[-1 - LAST], np.zeros(len(slope)))


def _bend(
    gradients: Callable[[Floats], Floats],
    inside: Callable[[Floats], Floats],
    place: Floats,
    gradient: Floats,
    norm: float,
) -> Floats:
    """The slope's gradient H·u, up to its length, from a second gradient nearer the centre."""
    steepest = furthest(gradient, norm)
    inwards = np.where(np.sum(place * steepest, axis=1, keepdims=True) > 0, -1.0, 1.0)
    probe = inside(place + PROBE * inwards * steepest)
    return inwards * (gradients(probe) - gradient)


def furthest(along: Floats, norm: float) -> Floats:
    """The points of the unit ball that lie furthest along some directions, (some, n).

    >>> furthest(np.array([[3.0, -4.0]]), 2).tolist(), furthest(np.array([[3.0, -4.0]]), 1).tolist()
    ([[0.6, -0.8]], [[0.0, -1.0]])
    """
    if norm == np.inf:
        return np.sign(along)
    if norm == 2:
        length = np.linalg.norm(along, axis=1, keepdims=True)
        unit: Floats = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
        return unit
    corner = np.zeros_like(along)
    each, most = np.arange(len(along)), np.abs(along).argmax(axis=1)
    corner[each, most] = np.sign(along[each, most])
    return corner
