"""Evidence as it is stored: the largest after each event, and now and then by what is watched."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.monitor import Key, Observation

__all__ = ["evidence_after_each", "evidence_by_name", "largest_of"]

EVERY = 16
"""Events between two that hold the evidence of each thing watched: per event it would take more
room than the event."""
MOST_NAMES = 40
"""Things watched whose evidence is stored; of more, those with most."""


def largest_of(logs: Iterable[float]) -> float | None:
    """The largest log evidence; None where there is none, as with a foreign detector."""
    return max(filter(math.isfinite, logs), default=None)


def evidence_after_each(observation: Observation, count: int) -> list[float | None]:
    """The largest log evidence after each event; that of segments after the last of them."""
    traces = [trace for trace in observation.trace.values() if np.isfinite(trace).all()]
    if not traces:
        return [None] * count
    of_segments = _of_segments(observation)
    largest: list[float | None] = np.maximum(
        np.max(traces, axis=0), max(of_segments.values(), default=-math.inf)
    ).tolist()
    return largest


def evidence_by_name(observation: Observation, count: int, after: int) -> list[str | None]:
    """For some of the events the evidence of each thing watched, as JSON; nothing if it is one.

    It is the largest since the event before that has it, so that no peak is lost. Events are
    numbered from `after` + 1; those whose number is a multiple of `EVERY` have it, and the last.
    """
    by_name: dict[str, Floats] = {}
    for key, trace in observation.trace.items():
        if np.isfinite(trace).all():
            before = by_name.get(key.watched)
            by_name[key.watched] = trace if before is None else np.maximum(before, trace)
    if len(by_name) < 2 or not count:
        return []
    of_segments = _of_segments(observation)
    # Positions of the events that hold it, and where the stretch of each begins.
    last = np.flatnonzero((after + 1 + np.arange(count)) % EVERY == 0).tolist()
    ends = last if last and last[-1] == count - 1 else [*last, count - 1]
    begins = [0, *(end + 1 for end in ends[:-1])]
    peaks = {
        name: np.maximum(
            np.maximum.reduceat(trace, begins), of_segments.get(name, -math.inf)
        ).round(4)
        for name, trace in by_name.items()
    }
    names = sorted(peaks, key=lambda name: -float(peaks[name].max()))[:MOST_NAMES]
    stored: list[str | None] = [None] * count
    for position, end in enumerate(ends):
        stored[end] = json.dumps({name: float(peaks[name][position]) for name in names})
    return stored


def _of_segments(observation: Observation) -> dict[str, float]:
    """The largest evidence in a segment, of each thing watched."""
    largest: dict[str, float] = {}
    key: Key
    for key, log in observation.evidence.items():
        if key.segment is not None and math.isfinite(log):
            largest[key.watched] = max(log, largest.get(key.watched, -math.inf))
    return largest
