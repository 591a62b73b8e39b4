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

__all__ = ["Pace", "Question", "answers"]

SCHEDULE = (4096, *(1024,) * 4, 4096, *(1024,) * 4, 4096)
LARGER = 16384
GAIN = 0.98


@dataclass
class Pace:
    """How many rows a model gets in one call: as told, or what proves fastest.

    The first calls of a run, which are needed anyway, try a small and a middling size in turn,
    and a large one if the middling was clearly faster: networks like what fits their caches,
    forests like more. Answers do not depend on it.
    """

    most: int
    settled: bool = False
    seconds_a_row: float | None = None
    trials: list[tuple[int, float]] = field(default_factory=list)

    def size(self) -> int:
        """Rows for the next call."""
        if self.settled:
            return self.most
        tried = len(self.trials)
        return min(SCHEDULE[tried] if tried < len(SCHEDULE) else LARGER, self.most)

    def record(self, rows: int, seconds: float) -> None:
        """Remember how long a call took, and settle when enough is known."""
        size = self.size()
        self.seconds_a_row = seconds / rows
        if self.settled or rows < size // 2:
            return
        self.trials.append((size, seconds / rows))
        if len(self.trials) >= len(SCHEDULE):
            self._settle()

    def _settle(self) -> None:
        """Take the smallest size that no larger one clearly beats."""
        # The first call warms the model up and counts for nothing.
        small, middling, large = (self._fastest(size) for size in (1024, 4096, LARGER))
        if middling > GAIN * small:
            self.most, self.settled = min(1024, self.most), True
        elif len(self.trials) >= len(SCHEDULE) + 2 or self.most < LARGER:
            self.most = min(LARGER if large < GAIN * middling else 4096, self.most)
            self.settled = True

    def _fastest(self, size: int) -> float:
        allowed = min(size, self.most)
        return min((each for of, each in self.trials[1:] if of == allowed), default=np.inf)

    def within(self, seconds: float, most: int) -> int:
        """Rows that can be asked for in some seconds, by the latest call; `most` if unknown."""
        if not self.seconds_a_row:
            return most
        return int(min(most, max(1.0, seconds / self.seconds_a_row)))


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
