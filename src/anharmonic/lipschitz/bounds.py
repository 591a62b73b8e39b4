"""From the largest slopes of blocks to a bound for every point."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic.lipschitz.result import CleverScores
from anharmonic.lipschitz.slopes import Duel
from anharmonic.lipschitz.weibull import Ends, State, fitted
from anharmonic.margins import of_classes
from anharmonic.protocols import Floats, Integers

__all__ = ["bounded"]

MASKED_PROBABILITY = 100.0
"""Probabilities whose slopes would need so many radii to change the decision are saturated."""


def bounded(
    centres: Floats,
    duel: Duel,
    maxima: Floats,
    rows: Integers,
    many: int,
    queries: int,
    settings: dict[str, Any],
) -> CleverScores:
    """Bounds from answers at the points (rows, classes) and maxima (rows, targets, blocks)."""
    shape = duel.targets.shape
    real = duel.targets >= 0
    flat = maxima.max(axis=2) == 0
    ends = _ends(maxima, real & ~flat)
    rivals = np.take_along_axis(centres, np.where(real, duel.targets, 0), axis=1)
    margins = np.where(real, of_classes(centres, duel.classes)[:, None] - rivals, np.nan)
    slopes = ends.values.reshape(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = margins / slopes
        errors = distances * ends.errors.reshape(shape) / slopes
    states = ends.states.reshape(shape)
    reach = settings["radius"]
    hidden = real & flat
    if settings["kind"] == "probability":
        hidden |= real & (distances > MASKED_PROBABILITY * reach)
    states = np.where(hidden, int(State.masked), np.where(real, states, int(State.none)))
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
    return CleverScores(
        metric="clever",
        values=values,
        errors=everywhere(value_errors),
        squared=values**2,
        signed=everywhere(limit),
        outputs=everywhere(margins),
        turns=everywhere(np.full(len(rows), settings["blocks"]), 0),
        queries=queries,
        settings=settings,
        targets=everywhere(duel.targets, -1),
        slopes=everywhere(np.where(flat, 0.0, slopes)),
        shapes=everywhere(ends.shapes.reshape(shape)),
        agreement=everywhere(ends.agreement.reshape(shape)),
        states=everywhere(states, int(State.none)),
    )


def _ends(maxima: Floats, wanted: Any) -> Ends:
    """Fits where they are wanted (rows, targets); targets of a row share its samples."""
    weights = wanted / np.maximum(wanted.sum(axis=1, keepdims=True), 1)
    found = fitted(maxima[wanted], weights[wanted]) if wanted.any() else None
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
