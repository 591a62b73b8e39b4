"""Gradient ascent on the slope: one that was met is a lower bound of the largest in the ball.

Random samples seldom come near the largest slope of a ball in tens of dimensions, so a law fitted
to their maxima ends too low, and the bound made of it is too large. A slope is ‖∇m‖, the largest
u·∇m over directions u of length 1, and its own gradient is H·u with the margin's Hessian H. So a
step goes towards the point of the ball that lies furthest along H·u. On a quadratic margin that is
the generalised power method, of which every step ascends (Journée et al., 2010); elsewhere a step
that does not ascend is taken back and shortened. H·u is the difference of two gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.measures.clever.sampling import dual_norm

__all__ = ["Ascent", "ascend", "furthest", "steps_for"]

PROBE = 0.1
"""How far apart the two gradients are taken, in radii."""
LAST = 4
"""What so many last steps gained is taken to be left at most: an ascent that still halves what is
left every fourth step has less than that to go."""
SAMPLES_PER_STEP = 128
"""A step takes two gradients from each of two starts, so ascents add a thirty-second."""


class Ascent(NamedTuple):
    """The steepest slope each ascent met, and by how much the largest may exceed it: (ascents,).

    `apart` is by how much the slopes differ at which ascents from several starts ended: their
    local maxima are not the same.
    """

    steepest: Floats
    rest: Floats
    apart: Floats


def steps_for(samples: int) -> int:
    """How many steps an ascent from the steepest of so many samples takes."""
    return max(LAST, samples // SAMPLES_PER_STEP)


def ascend(
    gradients: Callable[[Floats], Floats],
    inside: Callable[[Floats], Floats],
    starts: Floats,
    norm: float,
    steps: int,
) -> Ascent:
    """Ascend from positions (ascents, n) in the unit ball of a norm.

    `gradients` gives those of the margins at such positions, `inside` moves positions to where
    bounds allow.

    >>> bent = np.array([3.0, 1.0])  # the gradient's length is |bent·x|, at most 3
    >>> ascent = ascend(lambda x: x * bent, lambda x: x, np.array([[0.2, 0.5]]), 2, 16)
    >>> ascent.steepest.round(6).tolist()
    [3.0]
    """
    position = inside(starts)
    gradient = gradients(position)
    # The norm dual to the ball's: the largest u·∇m over ‖u‖ = 1, (ascents,).
    slope = dual_norm(gradient, norm)
    slopes, step_size = [slope], np.ones((len(position), 1))
    previous_goal, extrapolate = np.zeros_like(position), np.zeros((len(position), 1))
    for _ in range(steps):
        slope_gradient = _slope_gradient(gradients, inside, position, gradient, norm)
        # The linear maximiser over the ball, as in Frank and Wolfe's method; none where H·u = 0.
        curved = slope_gradient.any(axis=1, keepdims=True)
        goal = np.where(curved, furthest(slope_gradient, norm), position)
        # Goals of a slow ascent drift one way: aim as far ahead of this one as it is of the last.
        aim = np.where(extrapolate > 0, furthest(2 * goal - previous_goal, norm), goal)
        trial = inside(position + step_size * (aim - position))
        trial_gradient = gradients(trial)
        trial_slope = dual_norm(trial_gradient, norm)
        steeper = (trial_slope > slope)[:, None]
        # After a failure drop the extrapolation first, and only then the length of the step.
        shorter = step_size / np.where(extrapolate > 0, 1, 4)
        step_size = np.where(steeper, np.minimum(2 * step_size, 1), shorter)
        position = np.where(steeper, trial, position)
        gradient = np.where(steeper, trial_gradient, gradient)
        slope = np.maximum(trial_slope, slope)
        previous_goal, extrapolate = goal, steeper.astype(np.float64)
        slopes.append(slope)
    return Ascent(slope, slope - slopes[-1 - LAST], np.zeros(len(slope)))


def _slope_gradient(
    gradients: Callable[[Floats], Floats],
    inside: Callable[[Floats], Floats],
    position: Floats,
    gradient: Floats,
    norm: float,
) -> Floats:
    """The slope's gradient H·u, up to its length, from a second gradient nearer the centre."""
    steepest = furthest(gradient, norm)
    # Along u or against it, whichever stays in the ball; the sign of the difference follows.
    inwards = np.where(np.sum(position * steepest, axis=1, keepdims=True) > 0, -1.0, 1.0)
    probe = inside(position + PROBE * inwards * steepest)
    return inwards * (gradients(probe) - gradient)


def furthest(along: Floats, norm: float) -> Floats:
    """The points of the unit ball that lie furthest along directions (directions, n).

    >>> furthest(np.array([[3.0, -4.0]]), 2).tolist(), furthest(np.array([[3.0, -4.0]]), 1).tolist()
    ([[0.6, -0.8]], [[0.0, -1.0]])
    """
    # The corner of a cube, a point of the sphere, or a vertex of the cross-polytope.
    if norm == np.inf:
        return np.sign(along)
    if norm == 2:
        length = np.linalg.norm(along, axis=1, keepdims=True)
        unit: Floats = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
        return unit
    vertex = np.zeros_like(along)
    rows, largest = np.arange(len(along)), np.abs(along).argmax(axis=1)
    vertex[rows, largest] = np.sign(along[rows, largest])
    return vertex
