"""The rivals gamma must beat at equal cost, each with gamma's signature and result.

`Scores.fragile` says which of a measure's values are the fragile ones: "large" as for gamma, or
"small" as for a margin; `fragility` turns them all the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from anharmonic import balls, models
from anharmonic._core.margins import by_class, labels_of, margins_of, probabilities_of
from anharmonic._core.protocols import Array, Draw, Floats, Integers, Kind
from anharmonic._core.randomness import normals
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.batching import answers, question_about
from anharmonic.measures.setup.fingerprints import fingerprint
from anharmonic.measures.setup.scale import limits, radius_of, scaled
from anharmonic.measures.setup.sphere import Segment, Sphere, neighbourhood
from anharmonic.regions import as_region
from anharmonic.scores import Scores

__all__ = [
    "FlipScores",
    "confidence",
    "flip_rate",
    "fragility",
    "great",
    "lipschitz",
    "margin",
    "mean_change",
]


class Arguments(TypedDict, total=False):
    """What every baseline takes beside a model and points, as `gamma` does."""

    radius: float | Literal["auto"]
    directions: int
    output: Any
    scale: ArrayLike | Literal["auto"] | None
    reference: Any
    moving: Sequence[str | int] | None
    bounds: Any
    batch_size: int | None
    seed: int


class Around(NamedTuple):
    """Outputs at points (rows, columns) and their neighbours (rows, directions, columns)."""

    rows: Integers
    centres: Floats
    neighbours: Floats
    kind: Kind
    radius: float
    dimension: int


Found = tuple[Floats, Floats]
"""Values and errors, (rows,) each."""


@dataclass(frozen=True, repr=False)
class FlipScores(Scores):
    """Shares of neighbours with another label, with Clopper and Pearson's intervals."""

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Interval for each point's share."""
        asked = self.settings["directions"]
        hits = np.round(self.values * asked)
        tail = (1 - level) / 2
        low = betaincinv(np.maximum(hits, 1), asked - hits + 1, tail)
        high = betaincinv(hits + 1, np.maximum(asked - hits, 1), 1 - tail)
        return np.where(hits == 0, 0.0, low), np.where(hits == asked, 1.0, high)


def flip_rate(model: Any, points: Any, **arguments: Unpack[Arguments]) -> FlipScores:
    """The share of neighbours at `radius` that get another label.

    >>> step = lambda x: np.stack([x[:, 0] > 0, x[:, 0] <= 0], axis=1).astype(float)
    >>> flip_rate(step, [[5.0, 0.0], [0.0, 0.0]], radius=1.0, scale=None).values[0]
    np.float64(0.0)
    """
    scores = _measured("flip rate", _flips, "large", model, points, arguments)
    return FlipScores(**vars(scores))


def _flips(around: Around) -> Found:
    labels = labels_of(by_class(around.centres, around.kind))
    others = labels_of(by_class(around.neighbours, around.kind))
    share = (others != labels[:, None]).mean(axis=1)
    return share, np.sqrt(share * (1 - share) / others.shape[1])


def mean_change(model: Any, points: Any, **arguments: Unpack[Arguments]) -> Scores:
    """The mean length of the change of the outputs, from each point to its neighbours."""
    return _measured("mean change", _changes, "large", model, points, arguments)


def _lengths(around: Around) -> Floats:
    steps = around.neighbours - around.centres[:, None]
    return cast(Floats, np.linalg.norm(steps, axis=-1))


def _changes(around: Around) -> Found:
    lengths = _lengths(around)
    return lengths.mean(axis=1), lengths.std(axis=1, ddof=1) / np.sqrt(lengths.shape[1])


def lipschitz(model: Any, points: Any, **arguments: Unpack[Arguments]) -> Scores:
    """The steepest change of the outputs to any neighbour, for each unit of distance.

    A finite difference: never above the true constant. Its error is how far the steepest is
    above the second.
    """
    return _measured("lipschitz", _steepest, "large", model, points, arguments)


def _steepest(around: Around) -> Found:
    slopes = np.sort(_lengths(around) / around.radius, axis=1)
    return slopes[:, -1], slopes[:, -1] - slopes[:, -2]


def confidence(model: Any, points: Any, **arguments: Unpack[Arguments]) -> Scores:
    """The largest probability: one query a point, no neighbours."""
    return _measured("confidence", _confidences, "small", model, points, arguments, alone=True)


def _confidences(around: Around) -> Found:
    outputs = by_class(around.centres, around.kind)
    largest = probabilities_of(outputs, around.kind).max(axis=1)
    return largest, np.zeros(len(largest))


def margin(model: Any, points: Any, **arguments: Unpack[Arguments]) -> Scores:
    """The largest output less the second, in the output's own units: one query a point."""
    return _measured("margin", _margins, "small", model, points, arguments, alone=True)


def _margins(around: Around) -> Found:
    outputs = by_class(around.centres, around.kind)
    ahead = margins_of(outputs, labels_of(outputs))
    return ahead, np.zeros(len(ahead))


def great(model: Any, points: Any, **arguments: Unpack[Arguments]) -> Scores:
    """A GREAT-style score: how far the model, smoothed by noise, keeps its decision.

    The mean margin of probabilities under normal noise of standard deviation σ, where it is
    positive, times σ·√(π/2): a mean under such noise changes by at most √(2/π)/σ a unit of
    distance (Li et al., 2023). σ is radius/√n, so that noise reaches about as far as the
    other measures' neighbours.
    """
    return _measured("great", _smoothed, "small", model, points, arguments, noise=True)


def _smoothed(around: Around) -> Found:
    classes = labels_of(by_class(around.centres, around.kind))
    outputs = probabilities_of(by_class(around.neighbours, around.kind), around.kind)
    ahead = margins_of(outputs, classes)
    factor = around.radius / np.sqrt(around.dimension) * np.sqrt(np.pi / 2)
    error = ahead.std(axis=1, ddof=1) / np.sqrt(ahead.shape[1])
    return factor * np.maximum(ahead.mean(axis=1), 0.0), factor * error


def fragility(scores: Scores) -> Floats:
    """Values turned so that larger is more fragile, whatever the measure."""
    return -scores.values if scores.fragile == "small" else scores.values


def _measured(
    metric: str,
    found: Callable[[Around], Found],
    fragile: str,
    model: Any,
    points: Any,
    given: Arguments,
    alone: bool = False,
    noise: bool = False,
) -> Scores:
    """Ask for the points and their neighbours in chunks, and make each a number."""
    directions = 0 if alone else given.get("directions", 32)
    if not alone and directions < 2:
        raise SettingsError(f"directions must be at least 2 for an error, got {directions}")
    sphere, settings = _sphere(model, points, given, directions, noise)
    parts = [(around, found(around)) for around in _chunks(sphere, directions)]
    values, errors = (np.concatenate([part[1][at] for part in parts]) for at in (0, 1))
    outputs = np.concatenate([part[0].centres for part in parts])
    return Scores(
        metric=metric,
        values=values,
        errors=errors,
        squared=values**2,
        signed=values,
        outputs=outputs,
        turns=np.full(len(values), max(directions, 1)),
        queries=len(values) * (1 + directions),
        settings={**settings, "directions": directions, "fragile": fragile},
    )


def _chunks(sphere: Sphere, directions: int) -> Iterator[Around]:
    each = max(1, sphere.chunk // (1 + directions))
    segments = [Segment(0, 0, directions)] if directions else []
    many = len(sphere.region)
    for begin in range(0, many, each):
        rows = np.arange(begin, min(begin + each, many))
        asked, _ = neighbourhood(sphere, rows, segments, 1)
        outputs = answers(sphere.question, asked, rows)
        yield Around(
            rows,
            outputs[:, 0],
            outputs[:, 1:],
            sphere.question.model.kind,
            sphere.radius,
            sphere.region.dimension,
        )


def _sphere(
    model: Any, points: Any, given: Arguments, directions: int, noise: bool
) -> tuple[Sphere, dict[str, Any]]:
    asked = models.as_model(model, output=given.get("output"))
    seed = given.get("seed", 0)
    region, units, known = scaled(
        as_region(points, given.get("moving")),
        given.get("scale", "auto"),
        given.get("reference"),
        [asked],
    )
    # Without neighbours there is no distance to know.
    reach, distance = (
        radius_of(given.get("radius", "auto"), known, units, seed) if (directions) else (1.0, None)
    )
    question, chunk = question_about(asked, region, given.get("batch_size"))
    ball = (_noise if noise else balls.random)(region.dimension, max(directions, 1))
    sphere = Sphere(
        question=question,
        ball=ball,
        radius=reach,
        units=units,
        limits=limits(given.get("bounds"), region),
        reduction="norm",
        seed=seed,
        chunk=chunk,
    )
    settings = {
        "model": asked.name,
        "kind": asked.kind,
        "region": region.kind,
        "grid": list(region.steps) or None,
        "points": len(region),
        "fingerprint": fingerprint(region, units),
        "dimension": region.dimension,
        "radius": reach if directions else None,
        "nearest_distance": distance,
        "scale": units.tolist(),
        "columns": list(region.columns),
        "still": list(region.still),
        "ball": ball.name if directions else None,
        "seed": seed,
    }
    return sphere, settings


def _noise(dimension: int, count: int) -> balls.Directions:
    """Normal noise whose length is 1 in root mean square, as if it were directions."""
    draw = partial(_drawn, dimension=dimension)
    return balls.Directions("normal noise", dimension, count, draw, fresh=True)


def _drawn(draw: Draw, indices: Array, dimension: int) -> Array:
    return normals(draw, indices, dimension) / dimension**0.5
