"""Whether a reference looks like rows that the model was trained on.

A model that memorises has a spike at each row that it has seen: it bends more there than a step
to the side. At rows that it has not seen nothing sets a row apart from the points beside it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.monitor.rows import count_of, taken
from anharmonic.monitor.scorer import Scorer, Watched
from anharmonic.regions import Region

__all__ = ["memorisation_warning", "spike_ratio"]

SAMPLE = 128
"""Rows of the reference that are looked at."""
RATIO, ERRORS = 1.55, 4.0
"""How many times as much a model bends at the reference's rows as beside them, and by how many
standard errors more, from which on it looks memorised: see benchmarks.memorising."""


def memorisation_warning(
    scorer: Scorer, reference: Array, watch: dict[str, Watched], seed: int = 0
) -> tuple[str, int]:
    """Words on a reference that looks like training data, or none, and the queries it took.

    Where functions of the user's own are watched alone, the model does not matter; where nothing
    moves, nothing can be seen.
    """
    # What a spike is was measured on rows of numbers, between which a point can lie.
    if scorer.law is not None:
        return "", 0
    if scorer.ball is None or all(callable(watched) for watched in watch.values()):
        return "", 0
    sample = np.sort(
        generator(seed, Stream.MEMORISING_SAMPLE).permutation(count_of(reference))[:SAMPLE]
    )
    region = scorer.region(taken(reference, sample))
    at_rows = scorer.gamma_of(region)
    beside_rows = scorer.gamma_of(_moved_aside(region, scorer, seed))
    ratio, errors = spike_ratio(at_rows, beside_rows)
    queries = 2 * len(sample) * scorer.queries("gamma")
    if ratio < RATIO or errors < ERRORS:
        return "", queries
    return (
        f"the model bends {ratio:.1f} times as much at the reference's rows as beside them: this "
        "looks like training data, which the model has seen. Give held-out rows from a quiet time"
    ), queries


def spike_ratio(at: Floats, beside: Floats) -> tuple[float, float]:
    """The ratio of gamma's means at some rows (n,) and beside them, and their gap in errors."""
    gap = at - beside
    # Paired: a row and the point beside it are alike, so their difference varies least.
    error = gap.std() / np.sqrt(len(gap))
    if not at.mean() or not error:
        return 1.0, 0.0
    return float(at.mean() / max(beside.mean(), 1e-12)), float(gap.mean() / error)


def _moved_aside(region: Region, scorer: Scorer, seed: int) -> Region:
    """Each row a radius towards another of them, or half the way: as near to data as it was."""
    values = np.asarray(to_numpy64(region.values), dtype=np.float64)
    # One random cycle through all rows, so that each has another one as its target.
    order = generator(seed, Stream.MEMORISING_ORDER).permutation(len(values))
    steps = np.empty_like(values)
    steps[order] = np.roll(values[order], 1, axis=0)
    steps -= values
    # Lengths in scaled units, (rows, 1), as the radius is.
    lengths = np.linalg.norm(steps / np.asarray(scorer.units), axis=1, keepdims=True)
    share = np.minimum(0.5, scorer.radius / np.maximum(lengths, 1e-12))
    return replace(region, values=values + share * steps)
