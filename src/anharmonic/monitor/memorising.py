"""Whether a reference looks like rows that the model was trained on.

A model that memorises has a spike at each row that it has seen: it bends more there than a step
to the side. At rows that it has not seen nothing sets a row apart from the points beside it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from anharmonic._core.arrays import to_numpy64
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.monitor.rows import count_of, taken
from anharmonic.monitor.scorer import Scorer, Watched
from anharmonic.regions import Region

__all__ = ["memorised", "spikes"]

ASKED = 128
RATIO, ERRORS = 1.55, 4.0
"""How many times as much a model bends at the reference's rows as beside them, and by how many
standard errors more, from which on it looks memorised: see benchmarks.memorising."""


def memorised(
    scorer: Scorer, reference: Any, watch: dict[str, Watched], seed: int = 0
) -> tuple[str, int]:
    """Words on a reference that looks like training data, or none, and the queries it took.

    Where functions of the user's own are watched alone, the model does not matter.
    """
    if all(callable(each) for each in watch.values()):
        return "", 0
    few = np.sort(
        generator(seed, Stream.MEMORISING_SAMPLE).permutation(count_of(reference))[:ASKED]
    )
    region = scorer.region(taken(reference, few))
    at = scorer.gamma_of(region)
    beside = scorer.gamma_of(_aside(region, scorer, seed))
    ratio, errors = spikes(at, beside)
    queries = 2 * len(few) * scorer.queries("gamma")
    if ratio < RATIO or errors < ERRORS:
        return "", queries
    return (
        f"the model bends {ratio:.1f} times as much at the reference's rows as beside them: this "
        "looks like training data, which the model has seen. Give held-out rows from a quiet time"
    ), queries


def spikes(at: Floats, beside: Floats) -> tuple[float, float]:
    """The ratio of two means of gamma at the same rows, and their difference in errors."""
    gap = at - beside
    error = gap.std() / np.sqrt(len(gap))
    if not at.mean() or not error:
        return 1.0, 0.0
    return float(at.mean() / max(beside.mean(), 1e-12)), float(gap.mean() / error)


def _aside(region: Region, scorer: Scorer, seed: int) -> Region:
    """Each row a radius towards another of them, or half the way: as near to data as it was."""
    values = np.asarray(to_numpy64(region.values), dtype=np.float64)
    others = np.roll(
        values[(order := generator(seed, Stream.MEMORISING_ORDER).permutation(len(values)))],
        1,
        axis=0,
    )
    away = np.empty_like(values)
    away[order] = others
    away -= values
    lengths = np.linalg.norm(away / np.asarray(scorer.units), axis=1, keepdims=True)
    share = np.minimum(0.5, scorer.radius / np.maximum(lengths, 1e-12))
    return replace(region, values=values + share * away)
