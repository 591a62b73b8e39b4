"""gamma: how far a model is from the mean-value property of harmonic functions."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Literal, Unpack

import numpy as np
from array_api_compat import array_namespace

from anharmonic import balls
from anharmonic._core.arrays import to_numpy64
from anharmonic._core.checkpoints import PathLike
from anharmonic._core.checkpoints import kept as checkpointing
from anharmonic._core.metrics import Metric, register
from anharmonic._core.progress import Progress, Telling, shown
from anharmonic._core.protocols import Ball, Integers, Map
from anharmonic._core.reductions import Reduction, chosen_reduction
from anharmonic._core.rotations import way
from anharmonic._core.settings import RESUMABLE, Settings
from anharmonic.errors import (
    InputError,
    MeasurementStopped,
    NoisyModel,
    PointsError,
    SettingsError,
    listed,
)
from anharmonic.measures.gamma.accumulator import Accumulator, TurnBudget, further_turns
from anharmonic.measures.gamma.deviation import Task, measure_ahead, measure_task
from anharmonic.measures.gamma.pilot import MOST_QUERIES, Pilot, choose_ball, run_pilot
from anharmonic.measures.over_data.asking import gamma_over_rows, names_rows, refuse_given
from anharmonic.measures.over_data.weights import Weights
from anharmonic.measures.setup.batching import non_finite_error
from anharmonic.measures.setup.settling import (
    Setup,
    SetupArguments,
    name_of,
    settle,
    takes_setup,
)
from anharmonic.measures.setup.sphere import Sphere, slack
from anharmonic.measures.setup.table_rows import complete_ball
from anharmonic.regions.tables.listing import list_neighbours
from anharmonic.scores import Scores

__all__ = ["GAMMA", "check_room", "gamma", "gamma_once"]

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
TASK_SECONDS = 1.0
"""How long a task may take, so that progress shows and little is lost when a model fails."""


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
    **setup: Unpack[SetupArguments],
) -> Scores:
    """Deviation from the mean value, |f(x) − mean of f on a sphere around x|, at every point.

    Parameters
    ----------
    model
        Anything `as_model` takes.
    points
        Rows, a DataFrame or a `regions.Region`.
    radius : float or "auto"
        In scaled units; "auto" is the median nearest-neighbour distance of the `reference` (or
        the points).
    scale : "auto", None or numbers
        "auto" divides each feature by its standard deviation in the reference, None keeps raw
        units, numbers are used as they are.
    reference
        Data the model knows, for scale and radius; the points themselves where none is given.
    moving
        The columns that may move. If not given, those that the model reads, where it knows, and
        otherwise all but an index, ids and names; `settings` says which.
    kinds
        What columns are, where the reference's types and values mislead: a name of
        `regions.tables.KINDS` per column, such as {"postcode": "category"}, or a function of a
        cell and a generator that gives a similar cell. `settings` says what was chosen.
    ball
        "auto" (pairs or singles, by what a few points say; "auto pairs" does not ask), a name
        (`balls.NAMES`, " pairs" after it for reflections) or a ball. "data" takes other rows in
        place of a sphere, one query per row: see `gamma_data`.
    directions
        Bounds the size of one turn. The default costs at most 64 queries per point.
    rotations
        How many turns: each is an independent random copy of the ball; 0 takes it as it is.
    output, reduction
        What the model is asked for, and how a vector becomes a number; see `as_model` and
        `reductions`. `output="label"` is the paper's.
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
    batch_size
        Rows per call of the model; what proves fastest if not given.
    seed
        Of all that is random.
    map
        What shares out the work: see `workers`.
    progress
        True shows a bar, in notebooks too; a function is called with the queries made and the
        queries expected.

    Notes
    -----
    A row's directions depend on the `seed` and its number alone. With radius, scale and ball
    given, it keeps its score whatever rows come after it, to the bit for any workers and to
    rounding for any `batch_size`.

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
    # A ball to begin with: the real one is chosen once a few points have been asked for.
    sphere = Sphere.of(
        settled,
        balls.random(max(1, settled.ball_dimension), 1),
        chosen_reduction(reduction, settled.model.kind),
    )
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
        pilot = _pilot(sphere, ball, noise, earlier)
        accumulator.queries += pilot.queries
        chosen = choose_ball(
            ball,
            settled.ball_dimension,
            directions,
            rotations,
            pilot.pairs_win,
            table=sphere.table is not None,
        )
        sphere = replace(sphere, ball=chosen, noisy=pilot.noise > 0)
        if ball in ("auto", "auto pairs", "auto singles") and rotations:
            sphere = _complete_if_few(sphere)
        check_room(sphere)
        settings = _describe(settled, sphere, pilot, settings.without("unfinished"))
        if earlier is not None:
            _check_same(earlier.settings, settings)
        turn_budget = _turn_budget(
            sphere, rotations if sphere.listed is None else 1, budget, tolerance
        )
        turn_budget.check(int((accumulator.turns == 0).sum()), accumulator.queries)
        if map is builtins.map:
            caller, map = sphere.caller.overlapped()
            sphere = replace(sphere, caller=caller)
        _run(sphere, accumulator, turn_budget, settings, map, report_progress, save_if_due)
    return replace(accumulator.scores(settings), index=region.index)


def gamma_once(sphere: Sphere) -> Scores:
    """Gamma on one copy of the ball: the numbers alone, without errors, settings or a pilot."""
    accumulator = Accumulator(len(sphere.region), sphere.reduction)
    caller, map = sphere.caller.overlapped()
    once = _turn_budget(sphere, rotations=1, budget=None, tolerance=None)
    settings = Settings()
    _run(replace(sphere, caller=caller), accumulator, once, settings, map, None, lambda: None)
    return accumulator.scores(settings)


def _earlier_scores(resume: Scores | PathLike | None) -> Scores | None:
    """The unfinished scores to go on from; None where they hold nothing yet."""
    scores = resume if isinstance(resume, Scores | None) else Scores.load(resume)
    return scores if scores is not None and scores.started else None


def _describe(setup: Setup, sphere: Sphere, pilot: Pilot, given: Settings) -> Settings:
    """All that is needed to do it again, and what was chosen along the way."""
    ball = sphere.ball
    described = setup.describe(
        Settings,
        reduction=name_of(sphere.reduction),
        ball=ball.name,
        directions=ball.count,
        paired=ball.paired,
        rotation=way(setup.ball_dimension) if ball.name.startswith("rotated") else None,
        odd_power=pilot.odd,
        even_power=pilot.even,
        noise=pilot.noise,
        **({} if sphere.listed is None else {"complete": True}),
    )
    return given.with_facts(**described.plain())


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
        done, count = int((accumulator.turns > 0).sum()), len(accumulator.turns)
        if done and isinstance(stop, MeasurementStopped):
            stop.args = (
                f"{stop.args[0]}. {done:,} of {count:,} points are finished and kept in .partial",
                "mend the model and call again with resume=error.partial",
            )
        raise


def _run(
    sphere: Sphere,
    accumulator: Accumulator,
    turn_budget: TurnBudget,
    settings: Settings,
    map: Map,
    report_progress: Telling | None,
    save_if_due: Callable[[], None],
) -> None:
    """Rounds of tasks until no point is due more; a round that was begun is finished as it was."""

    def turns_owed() -> Integers:
        return (
            accumulator.owed.copy()
            if accumulator.owed.any()
            else further_turns(accumulator, turn_budget, settings)
        )

    while (extra := turns_owed()).any():
        accumulator.owed = extra.copy()
        expected = accumulator.queries + _cost(extra, turn_budget)
        tasks = _tasks(sphere, accumulator.turns.copy(), extra)
        bad: list[int] = []
        results = (
            measure_ahead(sphere, tasks)
            if sphere.table is not None and map is builtins.map
            else map(partial(measure_task, sphere), tasks)
        )
        for result in results:
            with accumulator.atomically(result.rows):
                accumulator.add(result)
                accumulator.owed[result.rows] = 0
            save_if_due()
            bad += result.bad.tolist()
            if report_progress is not None:
                report_progress(accumulator.queries, expected)
            if bad and not (accumulator.turns > 0).any():
                break  # It may answer nothing at all.
        if bad:
            raise non_finite_error(np.array(bad), sphere.region)


def _tasks(sphere: Sphere, turns: Integers, extra: Integers) -> Iterator[Task]:
    """Rows that are due the same turns, as many at a time as fit in memory and a second."""
    turn_queries = sphere.ball.count + (1 if sphere.noisy else 0)
    waiting = np.flatnonzero(extra)
    for first in np.unique(turns[waiting]).tolist():
        alike = waiting[turns[waiting] == first]
        for count in np.unique(extra[alike]).tolist():
            rows = alike[extra[alike] == count]
            while len(rows):
                # Asked anew for every task: the sizer learns how fast the model is.
                queries = sphere.caller.sizer.within(TASK_SECONDS, sphere.chunk)
                rows_per_task = max(1, queries // (count * turn_queries + 1))
                yield Task(rows[:rows_per_task], first, count)
                rows = rows[rows_per_task:]


def _cost(extra: Integers, turn_budget: TurnBudget) -> int:
    """Queries that further turns take."""
    started = int((extra > 0).sum())
    return int(extra.sum()) * turn_budget.turn_cost + started * turn_budget.part_cost


def _turn_budget(
    sphere: Sphere, rotations: int, budget: int | None, tolerance: float | None
) -> TurnBudget:
    # A noisy model's centre is asked for with every turn, else once with every task.
    return TurnBudget(
        rotations=max(1, rotations),
        turn_cost=sphere.ball.count + (1 if sphere.noisy else 0),
        part_cost=0 if sphere.noisy else 1,
        budget=budget,
        tolerance=tolerance,
    )


def _pilot(sphere: Sphere, ball: str | Ball, noise: str, earlier: Scores | None) -> Pilot:
    """What is known before the run: measured now, taken from an earlier run, or not needed."""
    if earlier is not None:
        settings = earlier.settings
        return Pilot(settings.noise, settings.odd_power, settings.even_power, 0)
    if ball != "auto" and noise == "ignore":
        return Pilot(0.0, 0.0, 0.0, 0)
    # Within bounds only pairs keep a slope from showing as a bend (see `sphere.around`).
    pilot = run_pilot(sphere, parity=ball == "auto" and sphere.limits is None)
    if pilot.noise and noise == "refuse":
        raise NoisyModel(
            f"two identical calls differ by {pilot.noise:.3g} (one standard deviation): switch "
            "off dropout or sampling in the model, or accept it with noise='include'"
        )
    return pilot._replace(noise=0.0) if noise == "ignore" else pilot


def _complete_if_few(sphere: Sphere) -> Sphere:
    """The sphere with every neighbour there is, where that costs no more than drawing them."""
    table = sphere.table
    if table is None or sphere.noisy or len(table.law.numbers):
        return sphere
    listed = list_neighbours(table.law, table.values, table.donors, sphere.radius, MOST_QUERIES)
    if listed is None:
        return sphere
    return replace(sphere, ball=complete_ball(listed[0].shape[1]), listed=listed)


def check_room(sphere: Sphere) -> None:
    """Refuse points in a corner of the bounds, where no pair of neighbours fits."""
    longest = None if sphere.table is not None else slack(sphere, sphere.region.values)
    if longest is None:
        return
    movable = to_numpy64(array_namespace(longest).any(longest > 0, axis=1)).astype(bool)
    stuck = np.flatnonzero(~movable)
    if len(stuck):
        raise PointsError(
            f"rows {listed(stuck.tolist())} lie on the bounds in every column that moves, so that "
            "no neighbour has an opposite within them: leave them out, widen the bounds, or take "
            'ball="simplex", whose neighbours are cut where they leave'
        )


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
