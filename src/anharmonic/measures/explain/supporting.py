"""What an answer rests on: reference rows that hold it up, walked on up to the boundary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anharmonic._core.protocols import Integers, Model
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.measures.over_data.supporters import Support, Supporter, support
from anharmonic.measures.search import StepArguments
from anharmonic.regions import Region, unmoved

__all__ = ["support_in_reference"]


def support_in_reference(
    model: Model, region: Region, arguments: StepArguments, most: int
) -> Support | None:
    """What the answer rests on among reference rows; None where these are no rows of numbers."""
    reference = arguments.get("reference")
    if reference is None or not most:
        return None
    known = reference if isinstance(reference, Region) else unmoved(reference)
    image = not known.is_table and len(known.shape) > 1
    if image or known.form or region.form:
        return None
    seed = arguments.get("seed", 0)
    chosen = np.arange(len(known))
    if len(known) > most:
        random = generator(seed, Stream.SUPPORTING_ROWS)
        chosen = np.sort(random.choice(len(known), most, replace=False))
    try:
        found = support(
            model,
            region,
            0,
            reference=known.rows(chosen),
            moving=arguments.get("moving"),
            batch_size=arguments.get("batch_size"),
            seed=seed,
        )
    except PointsError:
        # Fewer rows than can hold anything up, or other columns than the row has.
        return None
    return _numbered(found, chosen, known.row_names)


def _numbered(found: Support, chosen: Integers, names: tuple[str, ...] | None) -> Support:
    """Supporters by their numbers in the whole reference."""

    def renamed(other: Supporter) -> Supporter:
        row = int(chosen[other.row])
        return other._replace(row=row, name=f"row {row}" if names is None else names[row])

    return replace(
        found,
        supporters=tuple(renamed(other) for other in found.supporters),
        boundary=tuple(renamed(other) for other in found.boundary),
    )
