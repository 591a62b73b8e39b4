"""`deviation`: how far a model is from any standard, with gamma's arguments and result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from anharmonic import balls
from anharmonic._core.margins import decides
from anharmonic._core.metrics import Description, Metric, register
from anharmonic._core.protocols import Ball, Floats, Integers, Kind
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.setup.batching import answers
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.settling import SetupArguments, settle, takes_setup
from anharmonic.measures.setup.sphere import Sphere, neighbourhood
from anharmonic.measures.standards.standard import Around, Standard, named_standard
from anharmonic.scores import Scores

__all__ = ["DEVIATION", "StandardSettings", "deviation"]

PAIRS, TURNS = 8, 4


@dataclass(frozen=True, kw_only=True)
class StandardSettings(Settings):
    """Settings of a deviation.

    Parameters
    ----------
    standard
        What the model was held against.
    """

    standard: str = ""


def _describe(scores: Scores) -> Description:
    standard = getattr(scores.settings, "standard", "")
    return Description(0, f"from {standard}", {"standard": standard})


DEVIATION = register(
    Metric(
        "deviation", settings=StandardSettings, describe=_describe, best="nearest to the standard"
    )
)


@takes_setup
def deviation(
    model: object,
    points: object,
    *,
    standard: str | Standard = "affine",
    pairs: int = PAIRS,
    turns: int = TURNS,
    **setup: Unpack[SetupArguments],
) -> Scores:
    """How far a model is from a standard at every point: 0 where it has the property.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows of numbers, a DataFrame or a `regions.Region`.
    standard
        "affine" (straight in every direction), "harmonic" (gamma's), "convex", "concave",
        "biharmonic", `Monotone({"age": 1})`, `Lipschitz(2.0)`, or your own: see `Standard`.
    pairs, turns
        Pairs of neighbours per turn, and independent turns of them, at least 2; standards along
        axes take one pair per column instead.
    radius, scale, reference, moving, bounds, output, batch_size, seed
        As in `gamma`.

    Notes
    -----
    A point costs 2·pairs·turns + 1 queries at most, twice as many neighbours where a standard looks
    at two radii. Several outputs count by the length of their deviations. Errors are over turns.

    A standard with a direction (monotone, convex, concave) is about one number: where one class's
    probability rises another's falls. Of a classifier of two classes it is the second class's
    output, or the log odds; of more classes `output=` says which. Columns of a function all count.

    Examples
    --------
    >>> bowl = lambda x: (x**2).sum(axis=1)
    >>> at = {"points": np.zeros((3, 2)), "radius": 0.5, "scale": None}
    >>> for name in ("harmonic", "affine", "convex", "concave", "biharmonic"):
    ...     print(name, round(deviation(bowl, standard=name, **at).mean, 6))
    harmonic 0.25
    affine 0.25
    convex 0.0
    concave 0.25
    biharmonic 0.0
    """
    held = named_standard(standard)
    if pairs < 1 or turns < 2:
        raise SettingsError(
            f"give at least 1 pair and 2 turns for an error, got {pairs} and {turns}"
        )
    settled = settle(model, points, **setup)
    dimension = settled.ball_dimension
    sphere = Sphere.of(settled, _ball(held, dimension, pairs))
    if sphere.table is not None:
        raise SettingsError(
            "a standard is about numbers, and other columns move here: hold them with moving=[…], "
            "or ask gamma, which takes any table"
        )
    turns = 1 if held.along_axes else turns
    parts = list(_parts(sphere, held, turns))
    values, errors = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    per_point = 1 + turns * sphere.ball.count * (2 if held.half else 1)
    return Scores(
        metric=DEVIATION.name,
        values=values,
        errors=errors,
        squared=values**2,
        signed=values,
        outputs=np.concatenate([part[2] for part in parts]),
        turns=np.full(len(values), turns),
        queries=len(values) * per_point,
        settings=settled.describe(
            StandardSettings,
            ball=sphere.ball.name,
            directions=sphere.ball.count,
            standard=held.name,
        ),
        index=settled.region.index,
    )


def _ball(standard: Standard, dimension: int, pairs: int) -> Ball:
    """Axes, or a turned ball of pairs: whole where it is small enough, else some of it."""
    if standard.along_axes:
        return balls.cross(dimension)
    if dimension + 1 <= pairs:
        return balls.rotated(balls.antisimplex(dimension))
    return balls.rotated(balls.named("orthonormal pairs", dimension, 2 * min(pairs, dimension)))


def _parts(
    sphere: Sphere, standard: Standard, turns: int
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Values, errors and outputs of as many points at a time as fit in memory."""
    half = sphere.ball.count // 2
    segments = [Segment(turn, 0, half) for turn in range(turns)]
    width = 1 + turns * sphere.ball.count
    at_once = max(1, sphere.chunk // width)
    for first in range(0, len(sphere.region), at_once):
        rows = np.arange(first, min(first + at_once, len(sphere.region)))
        around = _around(sphere, standard, rows, segments)
        judged = _judged(standard, around, sphere.caller.model.kind)
        values = _reduced(standard, judged)
        yield values, _jackknifed(standard, judged, values, turns), around.centre


def _around(sphere: Sphere, standard: Standard, rows: Integers, segments: list[Segment]) -> Around:
    points, _ = neighbourhood(sphere, rows, segments, 1)
    outputs = answers(sphere.caller, points, rows)
    sides = [_sides(outputs[:, 1:], len(segments))]
    if standard.half:
        nearer = replace(sphere, radius=sphere.radius / 2)
        points, _ = neighbourhood(nearer, rows, segments, 0)
        sides.append(_sides(answers(sphere.caller, points, rows), len(segments)))
    nothing = np.empty((len(rows), 0, 0, outputs.shape[-1]))
    near = sides[1] if standard.half else (nothing, nothing)
    return Around(outputs[:, 0], *sides[0], *near, sphere.radius, sphere.region.columns)


def _judged(standard: Standard, around: Around, kind: Kind) -> Around:
    """The answers that a standard is about: of a classifier one number, if it has a direction."""
    columns = around.centre.shape[-1]
    one_number = getattr(standard, "directed", False)
    if not one_number or columns == 1 or kind == "value" or not decides(columns, kind):
        return around
    if columns > 2:
        raise SettingsError(
            f"{standard.name} is about one number, and the model answers for {columns} classes: "
            "say which with output=<class or column>"
        )
    # Log odds are a difference of logits; of shares the second says all.
    first = 1 if kind == "logit" else 0
    return around.mapped(lambda outputs: outputs[..., 1:] - first * outputs[..., :1])


def _sides(outputs: Floats, turns: int) -> tuple[Floats, Floats]:
    """Both sides (points, turns, pairs, outputs) of answers that hold a turn after the other."""
    shaped = outputs.reshape(len(outputs), turns, 2, -1, outputs.shape[-1])
    return shaped[:, :, 0], shaped[:, :, 1]


def _reduced(standard: Standard, around: Around) -> Floats:
    """One number per point: the length of the outputs' deviations."""
    return np.asarray(np.linalg.norm(standard.deviation(around), axis=-1))


def _jackknifed(standard: Standard, around: Around, values: Floats, turns: int) -> Floats:
    """Standard errors over turns; none where a standard looks along axes, which are not drawn."""
    if turns < 2:
        return np.zeros(len(values))
    left_out = np.stack([_reduced(standard, around.without(turn)) for turn in range(turns)])
    spread = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(spread * (turns - 1) / turns))
