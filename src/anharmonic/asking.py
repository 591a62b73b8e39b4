"""Ask a model for many points: in calls of the size it answers fastest, and checked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from anharmonic.errors import OutputError, listed
from anharmonic.protocols import Array, Floats, Integers, Model
from anharmonic.regions import Region, host

__all__ = ["LARGEST_CALL", "Pace", "Question", "answers", "pace_for"]

LARGEST_CALL = 32768
SIZES = (1024, 4096, LARGEST_CALL)
RECENT = 8
GAIN = 0.8
"""The share of the small size's time below which the middling's must be for the large to be tried.

A cost of each call that makes 1024 rows a quarter dearer still makes 4096 rows a fifteenth
dearer; below that a large call cannot win much, and to a network it can be a loss."""
TIE = 1.05
"""Sizes this close are equal, and the smaller is taken: what it needs is reused, not given back."""
EXPLORED = 0.005
"""The share of all rows that goes to finding out whether another size has become faster."""


@dataclass
class Pace:
    """How many rows a model gets in one call: as told, or what proves fastest.

    Networks like what fits their caches, forests like more. The sizes are tried on the first
    calls of a run, which are needed anyway, and now and then again, because a busy machine
    can make the best of them look bad. Answers do not depend on it.
    """

    most: int
    told: bool = False
    seconds_a_row: float | None = None
    total: int = 0
    rows: dict[int, int] = field(default_factory=dict)
    times: dict[int, tuple[float, ...]] = field(default_factory=dict)

    def size(self) -> int:
        """Rows for the next call."""
        if self.told or self.most <= SIZES[0]:
            return self.most
        small, middling, large = (min(size, self.most) for size in SIZES)
        # The first calls warm a model up, so the size they had is tried again.
        for size, wanted in ((middling, 2), (small, 8), (middling, 4)):
            if len(self.times.get(size, ())) < wanted:
                return size
        grows = self._fastest(middling) < GAIN * self._fastest(small)
        if grows and large not in self.times:
            return large
        sizes = (small, middling, large) if grows else (small, middling)
        fastest = min(map(self._fastest, sizes))
        best = next(size for size in sizes if self._fastest(size) <= TIE * fastest)
        spare = EXPLORED * self.total
        rarely = (size for size in sizes if self.rows.get(size, 0) + size < spare)
        return next((size for size in rarely if size != best), best)

    def record(self, rows: int, seconds: float) -> None:
        """Remember how long a call took."""
        self.seconds_a_row = seconds / rows
        size = self.size()
        if not self.told and 2 * rows > size:
            # Replaced, never changed in place: threads may be reading.
            self.times[size] = (*self.times.get(size, ()), seconds / rows)[-RECENT:]
            self.rows[size] = self.rows.get(size, 0) + rows
            self.total += rows

    def within(self, seconds: float, most: int) -> int:
        """Rows that can be asked for in some seconds, by the latest call; `most` if unknown."""
        if not self.seconds_a_row:
            return most
        return int(min(most, max(1.0, seconds / self.seconds_a_row)))

    def _fastest(self, size: int) -> float:
        return min(self.times.get(size, (np.inf,)))


def pace_for(model: Model, told: int | None = None) -> Pace:
    """Calls of the size we are told, or the model asks for, or that prove best."""
    size = told or model.batch_size
    return Pace(LARGEST_CALL) if size is None else Pace(size, told=True)


class Question(NamedTuple):
    """Who is asked, about what, and how fast."""

    model: Model
    region: Region
    pace: Pace


def answers(question: Question, points: Array, rows: Integers) -> Floats:
    """The model's outputs for points (rows, each, n): checked, (rows, each, columns)."""
    many, each, dimension = points.shape
    flat = points.reshape((many * each, dimension))
    parts = list(_asked(question, flat, np.repeat(rows, each)))
    outputs = parts[0] if len(parts) == 1 else np.concatenate(parts)
    outputs = outputs.reshape(many, each, -1)
    # One pass without an array of flags: a sum is finite unless something in it is not.
    if not np.isfinite(outputs.sum()):
        bad = rows[~np.isfinite(outputs).all(axis=(1, 2))].tolist()
        if bad:
            raise OutputError(
                f"the model gave NaN or infinity at or near rows {listed(bad)}: leave them "
                "out, or give bounds= so that their neighbours stay legal"
            )
    return outputs


def _asked(question: Question, points: Array, rows: Integers) -> Iterator[Floats]:
    start = 0
    while start < len(points):
        stop = min(start + question.pace.size(), len(points))
        whole = question.region.restored(points[start:stop], rows[start:stop])
        begun = time.perf_counter()
        outputs = _numbers(question.model(whole), stop - start)
        question.pace.record(stop - start, time.perf_counter() - begun)
        yield outputs
        start = stop


def _numbers(answer: Array, wanted: int) -> Floats:
    """One row of numbers for each point, or an error that says what came instead."""
    try:
        outputs = host(answer)
    except (TypeError, ValueError) as problem:
        raise OutputError(
            "the model's answers are not numbers: choose what to measure with output=, "
            "for text labels output='onehot' and classes=[…]"
        ) from problem
    if outputs.ndim == 0 or outputs.shape[0] != wanted:
        raise OutputError(
            f"the model was asked for {wanted} rows and gave shape {outputs.shape}: "
            "it must return one row of outputs for each point"
        )
    return outputs
