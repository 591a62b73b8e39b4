"""From the largest slopes of blocks to a bound for every point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.margins import of_classes
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.measures.clever.ascending import Ascent
from anharmonic.measures.clever.result import CLEVER, CleverSettings
from anharmonic.measures.clever.slopes import ClassPairs
from anharmonic.measures.clever.weibull import Ends, State, fit_reverse_weibull
from anharmonic.scores import Scores

__all__ = ["SampledSlopes", "bound_rows"]

Flags = NDArray[np.bool_]

MASKED_PROBABILITY = 100.0
"""Probabilities whose slopes would need so many radii to change the decision are saturated."""


class SampledSlopes(NamedTuple):
    """The slopes that were met around some rows.

    `centres` (rows, classes) are outputs at the points, `maxima` (rows, targets, blocks) the
    largest slope of each block, `ascent` what gradient ascents from them met, and `jumps` whether
    outputs jump instead, (rows, targets).
    """

    centres: Floats
    pairs: ClassPairs
    maxima: Floats
    ascent: Ascent
    jumps: Flags


def bound_rows(
    sampled: SampledSlopes, rows: Integers, points: int, queries: int, settings: CleverSettings
) -> Scores:
    """Bounds for these rows of so many points, NaN for the others."""
    centres, pairs, maxima = sampled.centres, sampled.pairs, sampled.maxima
    # All below is (rows, targets) until the smallest over the targets is taken.
    shape = pairs.targets.shape
    real = pairs.targets >= 0
    flat = maxima.max(axis=2) == 0
    ends = _raised_to_ascent(_fit_where(maxima, real & ~flat), sampled.ascent)
    rivals = np.take_along_axis(centres, np.where(real, pairs.targets, 0), axis=1)
    margins = np.where(real, of_classes(centres, pairs.classes)[:, None] - rivals, np.nan)
    slopes = ends.values.reshape(shape)
    # Weng et al. (2018): the margin over the largest slope in the ball; the error is the slope's,
    # by the delta method.
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = margins / slopes
        errors = distances * ends.errors.reshape(shape) / slopes
    states = ends.states.reshape(shape)
    radius = settings.radius
    # Without a slope there is no bound: flat, jumping, or saturated.
    hidden = real & (flat | sampled.jumps)
    if settings.kind == "probability":
        hidden |= real & (distances > MASKED_PROBABILITY * radius)
    states = np.where(hidden, int(State.masked), np.where(real, states, int(State.none)))
    states = np.where(real & sampled.jumps, int(State.jumps), states)
    met = np.where(hidden, np.nan, np.fmax(maxima.max(axis=2), sampled.ascent.steepest))
    # Slopes beyond the radius were not looked at, so that no bound is above it.
    limit = np.where(hidden | ~real, np.nan, np.minimum(distances, radius))
    # An attack takes the nearest target: (rows, targets) to (rows,).
    nearest = np.where(np.isfinite(limit), limit, np.inf).argmin(axis=1)
    every = np.arange(len(rows))
    values = np.where(hidden.any(axis=1), np.nan, limit[every, nearest])
    value_errors = np.where(
        values < radius, errors[every, nearest], np.where(values >= radius, 0.0, np.nan)
    )

    def everywhere(array: Array, missing: float = np.nan) -> Array:
        # From the rows that were measured to all points.
        whole = np.full((points, *array.shape[1:]), missing, dtype=array.dtype)
        whole[rows] = array
        return whole

    values = everywhere(values)
    return Scores(
        metric=CLEVER.name,
        values=values,
        errors=everywhere(value_errors),
        squared=values**2,
        signed=everywhere(limit),
        outputs=everywhere(margins),
        turns=everywhere(np.full(len(rows), settings.blocks), 0),
        queries=queries,
        settings=settings,
        columns={
            "target": everywhere(pairs.targets, -1),
            "slope": everywhere(np.where(flat, 0.0, slopes)),
            "shape": everywhere(ends.shapes.reshape(shape)),
            "agreement": everywhere(ends.agreement.reshape(shape)),
            "state": everywhere(states, int(State.none)),
            "steepest": everywhere(np.where(real, met, np.nan)),
        },
    )


def _raised_to_ascent(ends: Ends, ascent: Ascent) -> Ends:
    """Ends of fits raised to what ascents from the samples reached, and may still reach.

    A slope that was met is no estimate, so an end below it is wrong; the fit's error stays. Ascents
    that ended at different slopes met several local maxima, of which there may be a higher one.
    """
    steepest, rest, apart = (values.reshape(-1) for values in ascent)
    top = steepest + rest
    above = top > ends.values
    return Ends(
        np.where(above, top, ends.values),
        # Three errors in quadrature: the fit's, the ascent's, and that of a missed local maximum.
        np.where(above, np.hypot(ends.errors, np.hypot(rest, apart / 2)), ends.errors),
        ends.shapes,
        ends.agreement,
        np.where(above, int(State.climbed), ends.states),
    )


def _fit_where(maxima: Floats, wanted: Flags) -> Ends:
    """Fits where they are wanted, (rows, targets), as arrays (rows · targets,), NaN elsewhere."""
    # Targets of a row share its samples, so that all of them together count once.
    weights = wanted / np.maximum(wanted.sum(axis=1, keepdims=True), 1)
    fits = fit_reverse_weibull(maxima[wanted], weights[wanted]) if wanted.any() else None
    flags = wanted.reshape(-1)

    def spread(values: Array, missing: float) -> Array:
        whole = np.full(flags.shape, missing)
        if values is not None:
            whole[flags] = values
        return whole

    return Ends(
        spread(fits and fits.values, np.nan),
        spread(fits and fits.errors, np.nan),
        spread(fits and fits.shapes, np.nan),
        spread(fits and fits.agreement, np.nan),
        spread(fits and fits.states, int(State.none)),
    )
