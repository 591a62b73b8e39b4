"""`adversarial_search`: settle the arguments, walk, and keep what was found whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Unpack

from numpy.typing import ArrayLike

from anharmonic._core.checkpoints import PathLike, kept
from anharmonic._core.progress import Progress, shown
from anharmonic._core.protocols import Ball
from anharmonic.errors import InputError, MeasurementStopped, SettingsError
from anharmonic.measures.search.prepare import prepare
from anharmonic.measures.search.result import Search
from anharmonic.measures.search.state import SearchState
from anharmonic.measures.search.steps import Climb
from anharmonic.measures.setup.settling import SetupArguments, takes_setup

__all__ = ["CLIMBS", "adversarial_search"]

CLIMBS = ("margin", "output", "gamma", "random")


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
    **setup: Unpack[SetupArguments],
) -> Search:
    """Walk from each point, a neighbour per step, and record when its class changes.

    - `climb`: "margin" goes to the neighbour where the first class leads least (or trails
      most), "output" to where that class's own output is lowest; "gamma" is the paper's
      Algorithm 2 (gamma of the first class's output, chosen on one half of each neighbour's
      ball and recorded from the other); "random" goes anywhere. A step costs `directions`
      queries; "gamma" directions·(directions + 1); "random" one. Each point costs one more.
    - `ball`: "auto" steps along one coordinate, as the paper does; or a name or a ball.
    - `grid`: round every coordinate (numbers, 0 for a free one), as `grid=1.0` for grey levels.
      Steps that end where they began are not taken and counted in `stuck`.
    - `stop`: end a walk at its first flip. `budget`: queries in all.
    - `resume`: an unfinished search, or one that should take more `steps`, or a file of either.
    - The other arguments are `gamma`'s, `checkpoint` and `progress` among them.

    Margins are in the outputs' unit. Where probabilities are 0 or 1 to rounding they say
    nothing about where to go: search with output="logit" then.

    >>> import numpy as np
    >>> def slope(x):
    ...     return np.stack([x[:, 0], -x[:, 0]], axis=1)
    >>> found = adversarial_search(slope, np.array([[0.9, 0.0]]), radius=0.25, scale=None)
    >>> found.flips.tolist(), found.path(0)[:, 0].round(2).tolist()
    ([4], [0.9, 0.65, 0.4, 0.15, -0.1])

    Reference: Harmonic Machine Learning Models are Robust (section 5, algorithm 2).
    """
    _checked(climb, steps, budget)
    chooser, facts = prepare(
        model,
        points,
        climb,
        ball=ball,
        directions=directions,
        grid=grid,
        **setup,
    )
    state = SearchState(chooser, facts.with_facts(steps=steps, stop=stop, budget=budget))
    if resume is not None:
        state.resume_from(resume if isinstance(resume, Search) else Search.load(resume))
    with (
        kept(checkpoint, resume, state.found) as keep,
        _keeping(state),
        shown(progress) as tell,
    ):
        state.begin()
        state.walk(tell, keep)
    return state.found()


@contextmanager
def _keeping(state: SearchState) -> Iterator[None]:
    """Whatever stops a search, what was found goes along with the error."""
    try:
        yield
    except InputError:
        raise
    except BaseException as stop:
        with suppress(AttributeError):
            setattr(stop, "partial", state.found(False))  # noqa: B010
        if isinstance(stop, MeasurementStopped):
            stop.args = (
                f"{stop.args[0]}. What was found is kept in .partial",
                "mend the model and call again with resume=error.partial",
            )
        raise


def _checked(climb: str, steps: int, budget: int | None) -> None:
    if climb not in CLIMBS:
        raise SettingsError(f"no climb {climb!r}: choose one of {', '.join(CLIMBS)}")
    for name, number in {"steps": steps, "budget": budget}.items():
        if number is not None and number < 1:
            raise SettingsError(f"{name} must be at least 1, got {number}")
