"""Measures held against answers that are known exactly: does this installation compute rightly?"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import anharmonic as ah
from anharmonic._core.protocols import Array, Floats

__all__ = ["KNOWN_ANSWERS", "Outcome", "check_answers"]

RADIUS = 0.5
ROUNDING = 1e-12


@dataclass(frozen=True)
class KnownAnswer:
    """Something measured, what it must be, and by how much it may differ."""

    name: str
    expected: float
    allowed: float
    measure: Callable[[], float]


@dataclass(frozen=True)
class Outcome:
    """What was measured in place of a known answer, and in how many seconds.

    `problem` says what was raised where nothing could be measured.
    """

    name: str
    expected: float
    measured: float
    allowed: float
    seconds: float
    problem: str = ""

    @property
    def right(self) -> bool:
        """Whether it is as near as it must be."""
        return not self.problem and abs(self.measured - self.expected) <= self.allowed


def check_answers() -> Iterator[Outcome]:
    """Measure every known answer, one after another."""
    for known in KNOWN_ANSWERS:
        begun = time.perf_counter()
        measured, problem = math.nan, ""
        # Whatever goes wrong here is what the user came to learn.
        try:
            with warnings.catch_warnings(action="ignore"):
                measured = float(known.measure())
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - begun
        yield Outcome(known.name, known.expected, measured, known.allowed, seconds, problem)


def _points(dimension: int) -> Floats:
    return np.random.default_rng(dimension).normal(size=(20, dimension))


def _gamma(function: Callable[[Array], Array], dimension: int) -> float:
    """The gamma that is furthest from the usual one."""
    values = ah.gamma(function, _points(dimension), radius=RADIUS, scale=None).values
    return float(values[np.argmax(np.abs(values - np.median(values)))])


def _linear(x: Array) -> Array:
    return x @ np.arange(1.0, x.shape[1] + 1)


def _squares(x: Array) -> Array:
    return np.asarray((x * x).sum(axis=1))


def _harmonic_cubic(x: Array) -> Array:
    return x[:, 0] ** 3 - 3 * x[:, 0] * x[:, 1] ** 2


def _step(x: Array) -> Array:
    return x[:, 0] > 0


def _boundary() -> float:
    """In errors from 2, the length of the line x₀ = 0 in the square [−1, 1]²."""
    model = ah.as_model(_step, output="onehot", classes=[False, True])
    region = ah.regions.grid([(-1, 1), (-1, 1)], 60)
    length, error = ah.gamma(model, region, radius=0.2).boundary_area
    return (length - 2) / error


def _batches() -> float:
    """The largest difference that the size of calls makes."""
    one, other = (
        ah.gamma(lambda x: np.sin(3 * x[:, 0]), _points(3), radius=RADIUS, batch_size=size).values
        for size in (7, 1000)
    )
    return float(np.abs(one - other).max())


def _saved() -> float:
    """The largest difference between scores and what their file holds."""
    scores = ah.gamma(_squares, _points(3), radius=RADIUS)
    with tempfile.TemporaryDirectory(prefix="anharmonic-") as folder:
        again = ah.Scores.load(scores.save(Path(folder) / "scores.parquet"))
    return float(np.abs(again.values - scores.values).max())


def _spade() -> float:
    """The score of a cycle of 30 nodes that becomes a path: 30."""
    from anharmonic.measures.spectral.spectrum import leading

    path = np.stack([np.arange(29), np.arange(1, 30)], axis=1)
    cycle = np.insert(path, 1, [[0, 29]], axis=0)
    graphs = ah.spectral.Graph(30, cycle), ah.spectral.Graph(30, path)
    return float(leading(*graphs, 1).values[0])


def _clever() -> float:
    """The distance of (1, 0) from the line x₀ = 0."""

    def two_classes(x: Array) -> Array:
        return np.stack([x[:, 0], -x[:, 0]], axis=1)

    point = np.array([[1.0, 0.0]])
    scores = ah.clever(two_classes, point, radius=5.0, scale=None, blocks=10, block_size=4)
    return float(scores.values[0])


def _over_data() -> float:
    """A constant model agrees with every weighted mean of itself."""
    inputs = _points(2)
    weights = ah.over_data.Neighbours(3)
    return ah.gamma_data(inputs, np.full(len(inputs), 7.0), weights=weights).mean


def _monitor() -> float:
    """Rows of a stream until a shift by five standard deviations is told; 0 if told before it."""
    random = np.random.default_rng(0)
    monitor = ah.Monitor(_linear, random.normal(size=(500, 2)), seed=0)
    if monitor.update(random.normal(size=(500, 2))).alarms:
        return 0.0
    alarms = monitor.update(random.normal(size=(200, 2)) + 5.0).alarms
    return float(alarms[0].at - 500) if alarms else math.inf


KNOWN_ANSWERS = (
    KnownAnswer("gamma of a linear model", 0, ROUNDING, lambda: _gamma(_linear, 7)),
    KnownAnswer("gamma of a sum of squares: r²", RADIUS**2, ROUNDING, lambda: _gamma(_squares, 7)),
    KnownAnswer("gamma of a harmonic cubic", 0, ROUNDING, lambda: _gamma(_harmonic_cubic, 3)),
    KnownAnswer("length of a boundary, in errors from the true one", 0, 3, _boundary),
    KnownAnswer("difference that the size of calls makes", 0, 1e-13, _batches),
    KnownAnswer("difference between scores and their file", 0, 0, _saved),
    KnownAnswer("gamma over the data of a constant model", 0, ROUNDING, _over_data),
    KnownAnswer("SPADE of a cycle that becomes a path: 30", 30, 1e-9, _spade),
    KnownAnswer("CLEVER at distance 1 from a flat boundary", 1, 1e-6, _clever),
    KnownAnswer("rows until a monitor tells a large shift: 1 to 99", 50, 49, _monitor),
)
