"""The chance that N random steps change a decision, from one step around it."""

from __future__ import annotations

from typing import Literal, Unpack, cast

import numpy as np
from scipy.special import log_ndtr, ndtr

from anharmonic._core.checkpoints import PathLike
from anharmonic._core.margins import of_classes, probabilities_of
from anharmonic._core.metrics import Metric, register
from anharmonic._core.progress import Progress, shown
from anharmonic._core.protocols import Floats, Map
from anharmonic._core.protocols import Kind as OutputKind
from anharmonic.errors import SettingsError
from anharmonic.measures.search import StepArguments, adversarial_search, prepare
from anharmonic.measures.search.step_rule import StepSettings
from anharmonic.measures.setup.settling import takes_arguments_of
from anharmonic.measures.stability.surroundings import Surroundings, surroundings, walked
from anharmonic.measures.streaming import called_on_blocks, takes_source
from anharmonic.scores import Scores

__all__ = ["FLIP", "STABLE", "SWAY", "Event", "Kind", "flip_chance", "nstep_robustness"]

Event = Literal["end", "ever"]
Kind = Literal["walks", "sway", "drift", "paper"]
FLIP, SWAY, STABLE = "flip chance", "sway", "paper stability"
OVERSTEP = 0.5826
"""−ζ(1/2)/√(2π): how far a walk of normal steps is beyond a line when it first is, in their
standard deviations (Siegmund, 1979)."""
register(Metric(FLIP, unit="a chance", settings=StepSettings))
register(Metric(SWAY, unit="margins", settings=StepSettings))
register(Metric(STABLE, fragile="small", unit="a probability", settings=StepSettings))
METRICS: dict[str, str] = {"walks": FLIP, "sway": SWAY, "drift": FLIP, "paper": STABLE}


@takes_source(called_on_blocks)
@takes_arguments_of(adversarial_search, StepArguments)
def nstep_robustness(
    model: object,
    points: object,
    *,
    steps: int = 25,
    kind: Kind = "walks",
    event: Event = "end",
    progress: Progress = None,
    engine: Map | None = None,
    out: PathLike | None = None,
    fresh: bool = False,
    **arguments: Unpack[StepArguments],
) -> Scores:
    """How likely a decision is to survive `steps` random steps, at `directions`+1 queries.

    Parameters
    ----------
    model, points
        Anything `as_model` takes, and rows, a DataFrame, a `regions.Region` or a
        `sources.Source`.
    steps
        The N of what follows.
    kind : "walks", "sway", "drift" or "paper"
        How it is measured; see the notes.
    event : "end" or "ever"
        With "drift", whether a walk must be in another class at its end, or at any time on the
        way.
    progress
        True shows a bar.
    engine, out, fresh
        Of a source: who does the work, the folder for the scores, and whether to start over.
    arguments
        As in `adversarial_search`.

    Notes
    -----
    - "walks": the chance Φ(z) that a walk of N steps ends in another class, from where
      `directions` random walks end, a query each however long they are: with Δ the change of the
      margin at an end, z = −(margin + mean Δ)/sd Δ. Larger is worse. `signed` holds z, `outputs`
      the margin.
    - "sway": the root mean square of the same Δ, in units of the margin. At most sway² of all
      walks end in another class (Chebyshev's inequality). Larger is worse; on images nothing that
      was tried ranks better, and z of "walks" cannot be told from it. `signed` holds mean Δ in the
      same unit: below 0, walks tend towards the boundary.
    - "drift": the chance extrapolated from one step: with Δ now the change over a single one, a
      walk ends near margin + N·mean Δ, give or take √N·sd Δ. Of another class at the `event`
      "end", or at any time on the way, "ever" (a Brownian path's first passage, the boundary
      moved out by 0.583·sd Δ because steps are not infinitely small). `signed` and `outputs` as
      for "walks". N·mean Δ carries an error of N·sd Δ/√directions: to take this
      chance at its word, ask for several times as many `directions` as `steps`.
    - "paper": P·exp(−N·gamma), with P the predicted class's softmax and gamma the deviation of
      its output. Larger is better. `signed` holds the signed deviation, `outputs` P.

    Errors come from the random directions or walks (a jackknife). A ball that is taken whole leaves
    none to "paper"; to "drift" it leaves what extrapolating errs by, which one step cannot know:
    errors are NaN then.

    Examples
    --------
    >>> slope = lambda x: np.stack([x[:, 0], -x[:, 0]], axis=1)
    >>> points = np.array([[0.0, 0.0], [0.5, 0.0]])
    >>> chances = nstep_robustness(slope, points, kind="drift", steps=8, radius=0.1, scale=None)
    >>> chances.values.round(4).tolist()
    [0.5, 0.0062]

    References
    ----------
    Harmonic Machine Learning Models are Robust (for "paper").
    """
    if steps < 1:
        raise SettingsError(f"steps must be at least 1, got {steps}")
    if kind not in METRICS or event not in ("end", "ever"):
        raise SettingsError(f"kind is one of {', '.join(METRICS)}, and event 'end' or 'ever'")
    walking = kind in ("walks", "sway")
    if walking and event == "ever":
        raise SettingsError("walks are asked for at their ends alone: event='ever' takes 'drift'")
    chooser, settings = prepare(model, points, "random" if walking else "margin", **arguments)
    with shown(progress) as report_progress:
        around = (
            walked(chooser, steps, settings.directions, report_progress)
            if walking
            else surroundings(chooser, report_progress)
        )
    outputs = around.margins
    if kind == "paper":
        values, errors, signed, outputs = _paper(around, steps, chooser.caller.model.kind)
    elif kind == "sway":
        values, errors, signed = _sway(around)
    else:
        # A walk's end is one step of the law it is drawn from.
        values, errors, signed = _drift(around, 1 if walking else steps, event)
    return Scores(
        metric=METRICS[kind],
        values=values,
        errors=errors,
        squared=values**2 - np.nan_to_num(errors) ** 2,
        signed=signed,
        outputs=outputs,
        turns=np.full(len(values), around.changes.shape[2], dtype=np.int64),
        queries=around.queries,
        settings=settings.with_facts(
            steps=steps, event=event, nstep=kind, fragile="small" if kind == "paper" else "large"
        ),
        index=chooser.caller.region.index,
    )


def flip_chance(
    margin: Floats, mean: Floats, spread: Floats, steps: int, event: Event
) -> tuple[Floats, Floats]:
    """The chance that a walk of `steps` changes of known mean and spread goes below 0, and z.

    Parameters
    ----------
    margin : (points, …)
        Where walks begin.
    mean, spread : (points, …)
        Mean and standard deviation of one step.
    steps
        How many there are.
    event : "end" or "ever"
        Below 0 at the end, or at any time.

    Examples
    --------
    >>> chance, z = flip_chance(np.array([2.0]), np.array([0.0]), np.array([1.0]), 4, "end")
    >>> z.tolist(), chance.round(4).tolist()
    ([-1.0], [0.1587])
    """
    # Central limit theorem: the end of N steps is normal, mean N·μ and standard deviation √N·σ.
    ends, reach = margin + steps * mean, np.sqrt(steps) * spread
    certain = np.where(ends == 0, 0.0, np.where(ends > 0, -np.inf, np.inf))
    z = np.divide(-ends, reach, out=certain, where=reach > 0)
    chance = ndtr(z)
    if event == "ever":
        # A walk in steps oversteps where a Brownian path would touch (Siegmund, 1979); but who has
        # left at the end has left.
        chance = np.maximum(chance, _passage(margin + OVERSTEP * spread, mean, spread, steps))
    return cast(Floats, np.minimum(chance, 1.0)), z


def _passage(margin: Floats, mean: Floats, spread: Floats, steps: int) -> Floats:
    """The chance that a Brownian path with drift goes below 0 at any time: reflection principle.

    Φ((−a − Nμ)/(σ√N)) + exp(−2μa/σ²)·Φ((−a + Nμ)/(σ√N)) from a margin a. Where nothing spreads
    there is no path, and no chance.
    """
    reach = np.sqrt(steps) * spread
    moving = reach > 0
    square = np.where(moving, spread, 1.0) ** 2
    never = np.full_like(reach, -np.inf)
    direct = np.divide(-margin - steps * mean, reach, out=never.copy(), where=moving)
    mirrored = np.divide(steps * mean - margin, reach, out=never, where=moving)
    # As logarithms, because its factors overflow.
    reflected = np.exp(np.minimum(-2 * mean * margin / square + log_ndtr(mirrored), 0))
    return cast(Floats, ndtr(direct) + reflected)


def _drift(around: Surroundings, steps: int, event: Event) -> tuple[Floats, Floats, Floats]:
    """Chances, errors and z."""
    points, sides, count = around.changes.shape
    total, squares = around.changes.sum(axis=(1, 2)), (around.changes**2).sum(axis=(1, 2))
    values, z = _chances(around, total, squares, sides * count, steps, event)
    if not around.drawn:
        return values, np.full(points, np.nan), z
    # The jackknife: leave out one direction at a time, both sides of it where there are two.
    # Sums without it and chances from them are (points, directions).
    sums_without = total[:, None] - around.changes.sum(axis=1)
    squares_without = squares[:, None] - (around.changes**2).sum(axis=1)
    without, _ = _chances(around, sums_without, squares_without, sides * (count - 1), steps, event)
    spread = np.sum((without - without.mean(axis=1, keepdims=True)) ** 2, axis=1)
    return values, np.sqrt(spread * (count - 1) / count), z


def _chances(
    around: Surroundings, total: Floats, squares: Floats, count: int, steps: int, event: Event
) -> tuple[Floats, Floats]:
    """From sums of changes and of their squares over `count` neighbours."""
    mean = total / count
    # A ball taken whole is the law of a step itself; a sample of it knows its spread less well.
    freedom = count - 1 if around.drawn else count
    variance = np.maximum(squares - count * mean**2, 0.0) / freedom
    # What is left of sums that should cancel is rounding.
    variance = np.where(variance > 1e-14 * squares / count, variance, 0.0)
    margin = around.margins.reshape((-1,) + (1,) * (mean.ndim - 1))
    margin = np.broadcast_to(margin, mean.shape)
    return flip_chance(margin, mean, np.sqrt(variance), steps, event)


def _sway(around: Surroundings) -> tuple[Floats, Floats, Floats]:
    """Root mean square of the change, in margins, its error, and the mean of the change."""
    changes = around.changes.reshape(len(around.changes), -1)
    size = np.sqrt((changes**2).mean(axis=1))
    # The delta method: d√m = dm / (2·√m), with m the mean of the squares.
    square_error = (changes**2).std(axis=1, ddof=1) / np.sqrt(changes.shape[1])
    unit = 2 * size * around.margins
    return (
        _in_margins(size, around.margins),
        np.divide(square_error, unit, out=np.zeros_like(size), where=unit > 0),
        _in_margins(changes.mean(axis=1), around.margins),
    )


def _in_margins(values: Floats, margins: Floats) -> Floats:
    """Values per margin; where there is no margin, 0 stays 0 and anything else is infinite."""
    none = np.where(values == 0, 0.0, np.copysign(np.inf, values))
    return np.divide(values, margins, out=none, where=margins > 0)


def _paper(
    around: Surroundings, steps: int, kind: OutputKind
) -> tuple[Floats, Floats, Floats, Floats]:
    """P·exp(−N·gamma), its error, the signed deviation, P."""
    deviation, error = around.gammas
    probability = of_classes(probabilities_of(around.outputs, kind), around.labels)
    values = probability * np.exp(-steps * np.abs(deviation))
    # The delta method: |d value / d gamma| = N·value.
    return values, steps * values * error, deviation, probability
