"""The rivals gamma must beat at equal cost, each with gamma's signature and result.

`Scores.fragile` says which of a measure's values are the fragile ones: "large" as for gamma, or
"small" as for a margin; `fragility` turns them all the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Unpack, cast

import numpy as np
from scipy.special import betaincinv

from anharmonic import balls
from anharmonic._core.margins import by_class, labels_of, margins_of, probabilities_of
from anharmonic._core.metrics import Metric, register
from anharmonic._core.protocols import Array, Draw, Floats, Integers, Kind
from anharmonic._core.randomness import normals
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.settling import SetupArguments, settle, takes_setup
from anharmonic.measures.setup.sphere import Sphere, neighbourhood
from anharmonic.measures.setup.table_rows import table_ball
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
    "smoothed_margin",
]


class Around(NamedTuple):
    """Outputs at points (rows, columns) and their neighbours (rows, directions, columns).

    `distances` are those of the neighbours, (rows, directions), or one for all.
    """

    rows: Integers
    centres: Floats
    neighbours: Floats
    kind: Kind
    radius: float
    dimension: int
    distances: Floats


ValuesErrors = tuple[Floats, Floats]
"""Values and errors, (rows,) each."""


def _share_intervals(scores: Scores, level: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval for each point's share of neighbours."""
    count = scores.settings.directions
    hits = np.round(scores.values * count)
    tail = (1 - level) / 2
    # Quantiles of beta distributions; no hits, or hits alone, leave one end at 0 or 1.
    low = betaincinv(np.maximum(hits, 1), count - hits + 1, tail)
    high = betaincinv(hits + 1, np.maximum(count - hits, 1), 1 - tail)
    return np.where(hits == 0, 0.0, low), np.where(hits == count, 1.0, high)


FLIP_RATE = register(Metric("flip rate", unit="a share", intervals=_share_intervals))
MEAN_CHANGE = register(Metric("mean change"))
LIPSCHITZ = register(Metric("lipschitz", unit="output per unit of distance"))
CONFIDENCE = register(Metric("confidence", fragile="small", unit="a probability"))
MARGIN = register(Metric("margin", fragile="small"))
SMOOTHED_MARGIN = register(Metric("smoothed margin", fragile="small"))
GREAT = register(Metric("great", fragile="small", unit="a distance, in scaled units"))
FlipScores = Scores
"""The name that 0.1.0 had for scores of `flip_rate`."""


@takes_setup
def flip_rate(
    model: object, points: object, *, directions: int = 32, **setup: Unpack[SetupArguments]
) -> Scores:
    """The share of neighbours at `radius` that get another label.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    directions
        How many neighbours each point has, at least 2.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`.

    Examples
    --------
    >>> step = lambda x: np.stack([x[:, 0] > 0, x[:, 0] <= 0], axis=1).astype(float)
    >>> flip_rate(step, [[5.0, 0.0], [0.0, 0.0]], radius=1.0, scale=None).values[0]
    np.float64(0.0)
    """
    return _measure(FLIP_RATE, _flips, model, points, directions, setup)


def _flips(around: Around) -> ValuesErrors:
    labels = labels_of(by_class(around.centres, around.kind))
    others = labels_of(by_class(around.neighbours, around.kind))
    share = (others != labels[:, None]).mean(axis=1)
    return share, np.sqrt(share * (1 - share) / others.shape[1])


@takes_setup
def mean_change(
    model: object, points: object, *, directions: int = 32, **setup: Unpack[SetupArguments]
) -> Scores:
    """The mean length of the change of the outputs, from each point to its neighbours.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    directions
        How many neighbours each point has, at least 2.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`.
    """
    return _measure(MEAN_CHANGE, _changes, model, points, directions, setup)


def _lengths(around: Around) -> Floats:
    steps = around.neighbours - around.centres[:, None]
    return cast(Floats, np.linalg.norm(steps, axis=-1))


def _changes(around: Around) -> ValuesErrors:
    lengths = _lengths(around)
    return lengths.mean(axis=1), lengths.std(axis=1, ddof=1) / np.sqrt(lengths.shape[1])


@takes_setup
def lipschitz(
    model: object, points: object, *, directions: int = 32, **setup: Unpack[SetupArguments]
) -> Scores:
    """The steepest change of the outputs to any neighbour, per unit of distance.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    directions
        How many neighbours each point has, at least 2.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`.

    Notes
    -----
    A finite difference: never above the true constant. Its error is how far the steepest is
    above the second.
    """
    return _measure(LIPSCHITZ, _steepest, model, points, directions, setup)


def _steepest(around: Around) -> ValuesErrors:
    lengths, distances = np.broadcast_arrays(_lengths(around), around.distances)
    # A neighbour that stayed where it was shows no slope.
    slopes = np.divide(lengths, distances, out=np.zeros(lengths.shape), where=distances > 0)
    slopes.sort(axis=1)
    return slopes[:, -1], slopes[:, -1] - slopes[:, -2]


@takes_setup
def confidence(
    model: object, points: object, *, directions: int = 32, **setup: Unpack[SetupArguments]
) -> Scores:
    """The largest probability: one query per point, no neighbours.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    directions
        Not used; taken so that all measures can be called alike.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`.
    """
    return _measure(CONFIDENCE, _confidences, model, points, directions, setup, alone=True)


def _confidences(around: Around) -> ValuesErrors:
    outputs = by_class(around.centres, around.kind)
    largest = probabilities_of(outputs, around.kind).max(axis=1)
    return largest, np.zeros(len(largest))


@takes_setup
def margin(
    model: object, points: object, *, directions: int = 32, **setup: Unpack[SetupArguments]
) -> Scores:
    """The largest output less the second, in the output's own units: one query per point.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    directions
        Not used; taken so that all measures can be called alike.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`.
    """
    return _measure(MARGIN, _margins, model, points, directions, setup, alone=True)


def _margins(around: Around) -> ValuesErrors:
    outputs = by_class(around.centres, around.kind)
    ahead = margins_of(outputs, labels_of(outputs))
    return ahead, np.zeros(len(ahead))


@takes_setup
def smoothed_margin(
    model: object, points: object, *, directions: int = 19, **setup: Unpack[SetupArguments]
) -> Scores:
    """The margin of the decision, averaged over the point and neighbours that are close to it.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    directions
        How many neighbours each point has, at least 2.
    radius : float or "auto"
        "auto" is half the median nearest-neighbour distance of the `reference`.
    scale, reference, moving, kinds, bounds, output, batch_size, seed
        As in `gamma`.

    Notes
    -----
    Small is fragile: below 0 the neighbours decide otherwise. In tables with categories it says
    best which decisions change when a row is measured again (`docs/reproduce/tables.md`).
    """
    settled = setup
    if setup.get("radius", "auto") == "auto":
        # Half as far as the nearest row: what was best on the tables it was chosen on.
        nearest = settle(model, points, **setup).radius
        settled = setup | {"radius": nearest / 2}
    return _measure(SMOOTHED_MARGIN, _smoothed_margins, model, points, directions, settled)


def _smoothed_margins(around: Around) -> ValuesErrors:
    labels = labels_of(by_class(around.centres, around.kind))
    both = np.concatenate([around.centres[:, None], around.neighbours], axis=1)
    margins = margins_of(by_class(both, around.kind), labels)
    return margins.mean(axis=1), margins.std(axis=1, ddof=1) / np.sqrt(margins.shape[1])


@takes_setup
def great(
    model: object, points: object, *, directions: int = 32, **setup: Unpack[SetupArguments]
) -> Scores:
    """A GREAT-style score: how far the model, smoothed by noise, keeps its decision.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    directions
        How many neighbours each point has, at least 2.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`.

    Notes
    -----
    The mean margin of probabilities under normal noise of standard deviation σ, where it is
    positive, times σ·√(π/2): a mean under such noise changes by at most √(2/π)/σ per unit of
    distance. σ is radius/√n, so that noise reaches about as far as the other measures'
    neighbours.

    References
    ----------
    Li et al., 2023.
    """
    return _measure(GREAT, _smoothed, model, points, directions, setup, noise=True)


def _smoothed(around: Around) -> ValuesErrors:
    classes = labels_of(by_class(around.centres, around.kind))
    outputs = probabilities_of(by_class(around.neighbours, around.kind), around.kind)
    ahead = margins_of(outputs, classes)
    # σ·√(π/2), the inverse of the smoothed margin's largest slope.
    factor = around.radius / np.sqrt(around.dimension) * np.sqrt(np.pi / 2)
    error = ahead.std(axis=1, ddof=1) / np.sqrt(ahead.shape[1])
    return factor * np.maximum(ahead.mean(axis=1), 0.0), factor * error


def fragility(scores: Scores) -> Floats:
    """Values turned so that larger is more fragile, whatever the measure.

    Parameters
    ----------
    scores
        Of any measure.
    """
    return -scores.values if scores.fragile == "small" else scores.values


def _measure(
    metric: Metric,
    score: Callable[[Around], ValuesErrors],
    model: object,
    points: object,
    directions: int,
    arguments: SetupArguments,
    *,
    alone: bool = False,
    noise: bool = False,
) -> Scores:
    """Call the model at the points and their neighbours in chunks, and score each point.

    `alone` asks for no neighbours; `noise` takes normal noise for directions.
    """
    directions = 0 if alone else directions
    if not alone and directions < 2:
        raise SettingsError(f"directions must be at least 2 for an error, got {directions}")
    setup = settle(model, points, distance=not alone, **arguments)
    dimension, count = setup.ball_dimension, max(directions, 1)
    ball = (
        (_noise if noise else balls.random)(dimension, count)
        if dimension
        else table_ball(None, count, paired=False)
    )
    chunks = [(around, score(around)) for around in _chunks(Sphere.of(setup, ball), directions)]
    values = np.concatenate([chunk_values for _, (chunk_values, _) in chunks])
    errors = np.concatenate([chunk_errors for _, (_, chunk_errors) in chunks])
    return Scores(
        metric=metric.name,
        values=values,
        errors=errors,
        squared=values**2,
        signed=values,
        outputs=np.concatenate([around.centres for around, _ in chunks]),
        turns=np.full(len(values), max(directions, 1)),
        queries=len(values) * (1 + directions),
        settings=setup.describe(
            Settings,
            ball=None if alone else ball.name,
            directions=directions,
            fragile=metric.fragile,
        ),
        index=setup.region.index,
    )


def _chunks(sphere: Sphere, directions: int) -> Iterator[Around]:
    """Outputs at the points and around them, as many points at a time as fit in memory."""
    rows_at_once = max(1, sphere.chunk // (1 + directions))
    segments = [Segment(0, 0, directions)] if directions else []
    count = len(sphere.region)
    for start in range(0, count, rows_at_once):
        rows = np.arange(start, min(start + rows_at_once, count))
        points, _ = neighbourhood(sphere, rows, segments, 1)
        outputs = answers(sphere.caller, points, rows)
        yield Around(
            rows,
            outputs[:, 0],
            outputs[:, 1:],
            sphere.caller.model.kind,
            sphere.radius,
            sphere.region.dimension,
            _distances(sphere, points),
        )


def _distances(sphere: Sphere, points: Array) -> Floats:
    """How far neighbours are from points (rows, centre and neighbours, n).

    Of a table's rows every other one is somewhere else: a category is far away, or stays.
    """
    if sphere.table is None:
        return np.array(sphere.radius)
    squares = sphere.table.law.squares(points[:, :1], points[:, 1:])
    return np.asarray(np.sqrt(squares.sum(axis=-1)))


def _noise(dimension: int, count: int) -> balls.Directions:
    """Normal noise whose length is 1 in root mean square, as if it were directions."""
    draw = partial(_draw_noise, dimension=dimension)
    return balls.Directions("normal noise", dimension, count, draw, fresh=True)


def _draw_noise(draw: Draw, indices: Array, dimension: int) -> Array:
    return normals(draw, indices, dimension) / dimension**0.5
