"""From the largest slopes of blocks to a bound for every point."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.margins import of_classes
from anharmonic._core.protocols import Floats, Integers
from anharmonic.measures.clever.ascending import Ascent
from anharmonic.measures.clever.result import CLEVER, CleverSettings
from anharmonic.measures.clever.slopes import ClassPairs
from anharmonic.measures.clever.weibull import Ends, State, fit_reverse_weibull
from anharmonic.scores import Scores

__all__ = ["Seen", "bound_rows"]

MASKED_PROBABILITY = 100.0
"""Probabilities whose slopes would need so many radii to change the decision are saturated."""


class Seen(NamedTuple):
    """What was seen around some rows.

    `centres` (rows, classes): answers at the points. `maxima` (rows, targets, blocks): slopes.
    `ascent`: climbs from them, and `jumps`: whether outputs jump instead, (rows, targets).
    """

    centres: Floats
    pairs: ClassPairs
    maxima: Floats
    ascent: Ascent
    jumps: Any


def bound_rows(
    seen: Seen, rows: Integers, many: int, queries: int, settings: CleverSettings
) -> Scores:
    """Bounds for these rows of `many`."""
    centres, pairs, maxima = seen.centres, seen.pairs, seen.maxima
    shape = pairs.targets.shape
    real = pairs.targets >= 0
    flat = maxima.max(axis=2) == 0
    ends = _climbed(_ends(maxima, real & ~flat), seen.ascent)
    rivals = np.take_along_axis(centres, np.where(real, pairs.targets, 0), axis=1)
    margins = np.where(real, of_classes(centres, pairs.classes)[:, None] - rivals, np.nan)
    slopes = ends.values.reshape(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = margins / slopes
        errors = distances * ends.errors.reshape(shape) / slopes
    states = ends.states.reshape(shape)
    reach = settings.radius
    hidden = real & (flat | seen.jumps)
    if settings.kind == "probability":
        hidden |= real & (distances > MASKED_PROBABILITY * reach)
    states = np.where(hidden, int(State.masked), np.where(real, states, int(State.none)))
    states = np.where(real & seen.jumps, int(State.jumps), states)
    met = np.where(hidden, np.nan, np.fmax(maxima.max(axis=2), seen.ascent.steepest))
    limit = np.where(hidden | ~real, np.nan, np.minimum(distances, reach))
    best = np.where(np.isfinite(limit), limit, np.inf).argmin(axis=1)
    each = np.arange(len(rows))
    values = np.where(hidden.any(axis=1), np.nan, limit[each, best])
    value_errors = np.where(
        values < reach, errors[each, best], np.where(values >= reach, 0.0, np.nan)
    )

    def everywhere(found: Any, missing: Any = np.nan) -> Any:
        whole = np.full((many, *found.shape[1:]), missing, dtype=found.dtype)
        whole[rows] = found
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


def _climbed(ends: Ends, ascent: Ascent) -> Ends:
    """Ends of laws raised to what climbs from the samples reached, and may still reach.

    A slope that was met is no estimate, so an end below it is wrong; the law's error stays. Climbs
    that ended apart tell of several peaks, of which there may be a higher one.
    """
    steepest, rest, apart = (each.reshape(-1) for each in ascent)
    top = steepest + rest
    above = top > ends.values
    return Ends(
        np.where(above, top, ends.values),
        np.where(above, np.hypot(ends.errors, np.hypot(rest, apart / 2)), ends.errors),
        ends.shapes,
        ends.agreement,
        np.where(above, int(State.climbed), ends.states),
    )


def _ends(maxima: Floats, wanted: Any) -> Ends:
    """Fits where they are wanted (rows, targets); targets of a row share its samples."""
    weights = wanted / np.maximum(wanted.sum(axis=1, keepdims=True), 1)
    found = fit_reverse_weibull(maxima[wanted], weights[wanted]) if wanted.any() else None
    flat = wanted.reshape(-1)

    def spread(values: Any, missing: Any) -> Any:
        whole = np.full(flat.shape, missing)
        if values is not None:
            whole[flat] = values
        return whole

    return Ends(
        spread(found and found.values, np.nan),
        spread(found and found.errors, np.nan),
        spread(found and found.shapes, np.nan),
        spread(found and found.agreement, np.nan),
        spread(found and found.states, int(State.none)),
    )
