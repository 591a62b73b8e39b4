"""gamma: how far a model is from the mean-value property of harmonic functions."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Literal, Unpack

from anharmonic._core.checkpoints import PathLike
from anharmonic._core.checkpoints import kept as checkpointing
from anharmonic._core.metrics import Metric, register
from anharmonic._core.progress import Progress, shown
from anharmonic._core.protocols import Ball, Map
from anharmonic._core.reductions import Reduction
from anharmonic._core.settings import RESUMABLE, Settings
from anharmonic.errors import (
    InputError,
    MeasurementStopped,
    SettingsError,
)
from anharmonic.measures.gamma.accumulator import Accumulator
from anharmonic.measures.gamma.choosing import (
    AUTOMATIC,
    check_room,
    choose_sphere,
    complete_if_few,
    describe,
    first_sphere,
    pilot_of,
)
from anharmonic.measures.gamma.over_sources import prepare_gamma
from anharmonic.measures.gamma.rounds import run_rounds, turn_budget_of
from anharmonic.measures.over_data.asking import gamma_over_rows, names_rows, refuse_given
from anharmonic.measures.over_data.weights import Weights
from anharmonic.measures.setup.settling import (
    SetupArguments,
    name_of,
    settle,
    takes_setup,
)
from anharmonic.measures.setup.sphere import Sphere
from anharmonic.measures.streaming import takes_source
from anharmonic.scores import Scores

__all__ = ["GAMMA", "ROTATIONS", "gamma", "gamma_once"]

GAMMA = register(
    Metric(
        "gamma",
        bounded=True,
        best="most harmonic",
        reading=(
            "Gamma is how far a model's answer at a point is from the mean of its answers on a "
            "small sphere around it. It is 0 where the model is harmonic, as on a straight line "
            "however steep, and grows where it bends, jumps or memorises.",
            "Smaller is smoother, not better. An overfit model tends to a larger gamma than a "
            "well-fit one of the same data; a constant has none.",
            "Only models measured alike compare: the same points, radius, scale and kind of "
            "output.",
        ),
    )
)

ROTATIONS = 4
"""Turns by default."""


@takes_source(lambda _: prepare_gamma, without=("budget",))
@takes_setup
def gamma(
    model: object,
    points: object,
    *,
    ball: str | Ball | Weights = "auto",
    directions: int | None = None,
    rotations: int = ROTATIONS,
    reduction: Reduction | None = None,
    budget: int | None = None,
    tolerance: float | None = None,
    noise: Literal["include", "refuse", "ignore"] = "include",
    resume: Scores | PathLike | None = None,
    checkpoint: PathLike | None = None,
    map: Map = builtins.map,
    progress: Progress = None,
    engine: Map | None = None,
    out: PathLike | None = None,
    fresh: bool = False,
    **setup: Unpack[SetupArguments],
) -> Scores:
    """Deviation from the mean value, |f(x) − mean of f on a sphere around x|, at every point.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    points
        Rows, a DataFrame, a `regions.Region`, or a `sources.Source` of rows in files that may be
        larger than memory; the result is a folder of scores then, `StoredScores`.
    ball
        "auto" (pairs or singles, by what a few points say; "auto pairs" does not ask), a name
        (`balls.NAMES`, " pairs" after it for reflections) or a ball. "data" takes other rows in
        place of a sphere, one query per row: see `gamma_data`.
    directions
        Bounds the size of one turn. The default costs at most 64 queries per point.
    rotations
        How many turns: each is an independent random copy of the ball; 0 takes it as it is.
    output
        What the model is asked for; see `as_model`. "label" is the paper's.
    reduction
        How a vector becomes a number: "norm", "predicted", "angle", a column or a function.
    bounds
        (low, high) that neighbours are kept within: of a pair both sides are shortened alike,
        single directions are cut; "auto" takes pairs.
    budget
        Queries in all, spent where the error is largest.
    tolerance
        A point stops when half its 95% interval is below it, or after 256 turns.
    noise : "include", "refuse" or "ignore"
        A model that answers the same question differently has its noise included in the errors,
        is refused, or is not checked for.
    resume
        Unfinished scores, or a file of them, to go on from.
    checkpoint
        A Parquet file to keep what is finished in, every few seconds and at the end: a run that
        was killed goes on from there (`resume=` the same file) to the same bits.
    map
        What shares out the work: see `workers`.
    progress
        True shows a bar, in notebooks too; a function is called with the queries made and the
        queries expected.
    engine
        The same as `map`: threads, processes, or a cluster.
    out, fresh
        Of a source: the folder that takes the scores, where a run that was stopped goes on when
        it is started again, and whether to start over instead.

    Notes
    -----
    A row's directions depend on the `seed` and its number alone. With radius, scale and ball
    given (of a table with more than numbers: radius, reference and ball), it keeps its score
    whatever rows come after it, to the bit for any workers and to rounding for any `batch_size`.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(50, 3))
    >>> scores = gamma(lambda x: (x**2).sum(axis=1), points, radius=0.1, scale=None)
    >>> round(scores.mean, 6)
    0.01

    References
    ----------
    Harmonic Machine Learning Models are Robust (eq. 3, algorithm 1).
    """
    if isinstance(ball, Weights) or names_rows(ball):
        refuse_given(
            "other rows take the place of a sphere",
            rotations=rotations != ROTATIONS,
            directions=directions is not None,
            budget=budget is not None,
            tolerance=tolerance is not None,
            resume=resume is not None,
            checkpoint=checkpoint is not None,
        )
        return gamma_over_rows(
            model, points, ball=ball, reduction=reduction, progress=progress, **setup
        )
    _check(rotations, directions, budget, tolerance, noise)
    settled = settle(model, points, **setup)
    region = settled.region
    sphere = first_sphere(settled, reduction)
    earlier = _earlier_scores(resume)
    accumulator = (
        Accumulator(len(region), sphere.reduction)
        if earlier is None
        else Accumulator.resumed(earlier, sphere.reduction)
    )
    # What an earlier run knew stays known if this one is stopped before it has begun.
    settings = (Settings() if earlier is None else earlier.settings).with_facts(
        output=None if settled.output is None else name_of(settled.output),
        nearest_distance=settled.nearest_distance,
        rotations=rotations,
        budget=budget,
        tolerance=tolerance,
    )

    def scores_so_far(finished: bool) -> Scores:
        return accumulator.scores_with_sums(
            settings if finished else settings.with_facts(unfinished=True)
        )

    with (
        checkpointing(checkpoint, resume, scores_so_far) as save_if_due,
        _attaching_partial(accumulator, scores_so_far),
        shown(progress) as report_progress,
    ):
        pilot = pilot_of(sphere, ball, noise, None if earlier is None else earlier.settings)
        accumulator.queries += pilot.queries
        sphere = choose_sphere(sphere, ball, directions, rotations, pilot)
        if ball in AUTOMATIC and rotations:
            sphere = complete_if_few(sphere)
        check_room(sphere)
        settings = describe(settled, sphere, pilot, settings.without("unfinished"))
        if earlier is not None:
            _check_same(earlier.settings, settings)
        turn_budget = turn_budget_of(
            sphere, rotations if sphere.listed is None else 1, budget, tolerance
        )
        turn_budget.check(int((~accumulator.started).sum()), accumulator.queries)
        if map is builtins.map:
            caller, map = sphere.caller.overlapped()
            sphere = replace(sphere, caller=caller)
        run_rounds(sphere, accumulator, turn_budget, settings, map, report_progress, save_if_due)
    return replace(accumulator.scores(settings), index=region.index)


def gamma_once(sphere: Sphere) -> Scores:
    """Gamma on one copy of the ball: the numbers alone, without errors, settings or a pilot."""
    accumulator = Accumulator(len(sphere.region), sphere.reduction)
    caller, map = sphere.caller.overlapped()
    once = turn_budget_of(sphere, rotations=1, budget=None, tolerance=None)
    settings = Settings()
    run_rounds(replace(sphere, caller=caller), accumulator, once, settings, map, None, lambda: None)
    return accumulator.scores(settings)


def _earlier_scores(resume: Scores | PathLike | None) -> Scores | None:
    """The unfinished scores to go on from; None where they hold nothing yet."""
    scores = resume if isinstance(resume, Scores | None) else Scores.load(resume)
    return scores if scores is not None and scores.started else None


@contextmanager
def _attaching_partial(
    accumulator: Accumulator, scores_so_far: Callable[[bool], Scores]
) -> Iterator[None]:
    """Whatever stops a run, what was finished goes along with the error."""
    try:
        yield
    except InputError:
        raise
    except BaseException as stop:
        with suppress(AttributeError):
            setattr(stop, "partial", scores_so_far(False))  # noqa: B010
        done, count = int(accumulator.started.sum()), len(accumulator.turns)
        if done and isinstance(stop, MeasurementStopped):
            stop.args = (
                f"{stop.args[0]}. {done:,} of {count:,} points are finished and kept in .partial",
                "mend the model and call again with resume=error.partial",
            )
        raise


def _check_same(earlier: Settings, now: Settings) -> None:
    """Refuse to mix two different measurements."""
    differing = earlier.differing(now, RESUMABLE)
    if earlier.fingerprint not in (None, now.fingerprint) and not differing:
        differing = ["set of points"]
    if differing:
        raise SettingsError(
            f"resume= was measured with another {', '.join(differing)}: "
            "call with the same arguments and data as before"
        )


def _check(
    rotations: int,
    directions: int | None,
    budget: int | None,
    tolerance: float | None,
    noise: str,
) -> None:
    """Refuse arguments that cannot be meant."""
    if rotations < 0:
        raise SettingsError(f"rotations counts independent copies of the ball, got {rotations}")
    counts = {"directions": directions, "budget": budget}
    for name, number in counts.items():
        if number is not None and number < 1:
            raise SettingsError(f"{name} must be at least 1, got {number}")
    if tolerance is not None and not tolerance > 0:
        raise SettingsError(f"tolerance must be positive, got {tolerance}")
    if (budget is not None or tolerance is not None) and rotations < 2:
        raise SettingsError("budget and tolerance need errors: ask for at least 2 rotations")
    if noise not in ("include", "refuse", "ignore"):
        raise SettingsError(f"noise is 'include', 'refuse' or 'ignore', not {noise!r}")
