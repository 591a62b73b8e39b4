"""`adversarial_search`: settle the arguments, walk, and keep what is known whatever happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Unpack

from numpy.typing import ArrayLike

from anharmonic._core.checkpoints import PathLike
from anharmonic._core.checkpoints import kept as checkpointing
from anharmonic._core.progress import Progress, shown
from anharmonic._core.protocols import Ball, Map
from anharmonic.errors import InputError, MeasurementStopped, SettingsError
from anharmonic.measures.search.prepare import StepArguments, prepare
from anharmonic.measures.search.result import Search
from anharmonic.measures.search.scored import flips_of
from anharmonic.measures.search.state import SearchState
from anharmonic.measures.search.steps import Climb
from anharmonic.measures.setup.settling import Setup, SetupArguments, takes_setup
from anharmonic.measures.streaming import called_on_blocks, takes_source

__all__ = ["CLIMBS", "STEP_SHARE", "adversarial_search", "search_from"]

CLIMBS = ("margin", "output", "gamma", "random")
STEP_SHARE = 0.1
"""Of the distance between nearest neighbours: a step of `radius="auto"`.

A whole one leads to where another row may stand, and flips nearly every decision of any model.
"""


def _step(settled: Setup, _: Mapping[str, Any]) -> float:
    """The radius that was given, or the share of the sample's that a step takes."""
    return settled.radius * (1.0 if settled.nearest_distance is None else STEP_SHARE)


@takes_source(
    lambda measure: called_on_blocks(measure, flips_of, radius=_step), without=("budget",)
)
@takes_setup
def adversarial_search(
    model: object,
    points: object,
    *,
    steps: int = 25,
    ball: str | Ball = "auto",
    directions: int = 20,
    climb: Climb = "margin",
    grid: ArrayLike | None = None,
    budget: int | None = None,
    stop: bool = True,
    resume: Search | PathLike | None = None,
    checkpoint: PathLike | None = None,
    progress: Progress = None,
    engine: Map | None = None,
    out: PathLike | None = None,
    fresh: bool = False,
    **setup: Unpack[SetupArguments],
) -> Search:
    """Walk from each point, a neighbour per step, and record when its class changes.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame, a `regions.Region` or a
        `sources.Source`.
    steps
        The most steps of a walk.
    ball
        "auto" steps along one coordinate, as the paper does; or a name or a ball.
    directions
        How many neighbours a step chooses from, at most.
    climb : "margin", "output", "gamma" or "random"
        "margin" goes to the neighbour where the first class leads least (or trails most),
        "output" to where that class's own output is lowest; "gamma" is the paper's Algorithm 2
        (gamma of the first class's output, chosen on one half of each neighbour's ball and
        recorded from the other); "random" goes anywhere. A step costs `directions` queries;
        "gamma" directions·(directions + 1); "random" one. Each point costs one more.
    grid
        Round every coordinate (numbers, 0 for a free one), as `grid=1.0` for grey levels. Steps
        that end where they began are not taken and counted in `stuck`.
    budget
        Queries in all.
    stop
        End a walk at its first flip.
    resume
        An unfinished search, or one that should take more `steps`, or a file of either.
    radius
        How far a step goes, in scaled units. "auto" is a tenth of the usual distance between
        nearest neighbours, so that `curve` says how far from where they stand decisions change.
    scale, reference, moving, bounds, output, batch_size, seed, checkpoint, progress
        As in `gamma`.
    engine, out, fresh
        Of a source: who does the work, the folder for the result, and whether to start over. Its
        values are 1 where the class changed, so that their mean is the share of flips; paths are
        not kept.

    Notes
    -----
    Margins are in the outputs' unit. Where probabilities are 0 or 1 to rounding they say
    nothing about where to go: search with output="logit" then.

    Examples
    --------
    >>> import numpy as np
    >>> def slope(x):
    ...     return np.stack([x[:, 0], -x[:, 0]], axis=1)
    >>> search = adversarial_search(slope, np.array([[0.9, 0.0]]), radius=0.25, scale=None)
    >>> search.flips.tolist(), search.path(0)[:, 0].round(2).tolist()
    ([4], [0.9, 0.65, 0.4, 0.15, -0.1])

    References
    ----------
    Harmonic Machine Learning Models are Robust (section 5, algorithm 2).
    """
    arguments: StepArguments = {"ball": ball, "directions": directions, "grid": grid, **setup}
    return search_from(
        model,
        points,
        share=STEP_SHARE,
        steps=steps,
        climb=climb,
        budget=budget,
        stop=stop,
        resume=resume,
        checkpoint=checkpoint,
        progress=progress,
        **arguments,
    )


def search_from(
    model: object,
    points: object,
    *,
    share: float,
    steps: int,
    climb: Climb,
    budget: int | None = None,
    stop: bool = True,
    resume: Search | PathLike | None = None,
    checkpoint: PathLike | None = None,
    progress: Progress = None,
    **arguments: Unpack[StepArguments],
) -> Search:
    """`adversarial_search` with a radius of "auto" that is another `share` of the distance."""
    _check(climb, steps, budget)
    chooser, settings = prepare(model, points, climb, share=share, **arguments)
    state = SearchState(chooser, settings.with_facts(steps=steps, stop=stop, budget=budget))
    if resume is not None:
        state.resume_from(resume if isinstance(resume, Search) else Search.load(resume))
    with (
        checkpointing(checkpoint, resume, state.search_so_far) as save_if_due,
        _attaching_partial(state),
        shown(progress) as report_progress,
    ):
        state.begin()
        state.walk(report_progress, save_if_due)
    return state.search_so_far()


@contextmanager
def _attaching_partial(state: SearchState) -> Iterator[None]:
    """Whatever stops a search, what is known by then goes along with the error."""
    try:
        yield
    except InputError:
        raise
    except BaseException as stop:
        with suppress(AttributeError):
            setattr(stop, "partial", state.search_so_far(False))  # noqa: B010
        if isinstance(stop, MeasurementStopped):
            stop.args = (
                f"{stop.args[0]}. What was found is kept in .partial",
                "mend the model and call again with resume=error.partial",
            )
        raise


def _check(climb: str, steps: int, budget: int | None) -> None:
    if climb not in CLIMBS:
        raise SettingsError(f"no climb {climb!r}: choose one of {', '.join(CLIMBS)}")
    for name, number in {"steps": steps, "budget": budget}.items():
        if number is not None and number < 1:
            raise SettingsError(f"{name} must be at least 1, got {number}")
