"""Whether smoothing helps: a better score, or as good a one and a steadier model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.fixes.copies import keys_of
from anharmonic.fixes.holding_out import Fold, random_half
from anharmonic.fixes.proposing_models import Comparison, score_or_steadiness
from anharmonic.fixes.refitting import refit
from anharmonic.fixes.result import Proposal
from anharmonic.fixes.rows import Data
from anharmonic.fixes.steadying import (
    Radius,
    choose_radius,
    smooth_at,
    unsteadiness,
)
from anharmonic.fixes.trial import Trial

__all__ = ["propose_smoothing"]

STEADY_ROWS = 100
"""Held-out rows of a fold whose neighbourhoods are asked for, at most: they cost many queries."""
CHOOSING_ROWS = 500
"""Rows that a radius is chosen on, at most, for the same reason."""


class Smoothing(NamedTuple):
    """What smoothing did on a fold: scores of the rows `measured`, and how unsteady `some` are,
    before and after, at the radius that was chosen without them.
    """

    measured: Data
    plain: Floats
    smooth: Floats
    some: Data
    unsteady_before: Floats
    unsteady_after: Floats
    factor: float
    radius: float
    neighbours: int
    queries: int


def propose_smoothing(trial: Trial) -> Proposal:
    """Whether the mean over neighbours scores better, or as well and steadier."""
    tried = [_smoothed_on(trial, number) for number in range(len(trial.folds))]
    some = [each.some for each in tried]
    compared = Comparison(
        score=trial.gain(
            [each.plain for each in tried],
            [each.smooth for each in tried],
            [each.measured for each in tried],
        ),
        steadiness=trial.steadier(
            [each.unsteady_before for each in tried],
            [each.unsteady_after for each in tried],
            some,
        ),
        unsteady="share of close neighbours decided otherwise"
        if trial.scoring.is_classes
        else "gamma at close neighbours",
    )
    factor, radius, queries = _for_the_whole(trial, tried)
    neighbours = tried[0].neighbours
    refits = 0 if trial.estimator is None else len(trial.folds) + 1
    return score_or_steadiness(
        trial,
        "smooth",
        f"Smooth the answers over {neighbours} neighbours at {factor:g} times the distance between "
        "nearest rows",
        compared,
        possible=True,
        advice=f"Take ah.smoothed(model, reference=train, radius={radius:.3g}), which costs "
        f"{neighbours} queries per row.",
        settings={"radius": radius, "queries": neighbours},
        evidence={"factors of folds": [each.factor for each in tried]},
        queries=queries + sum(each.queries for each in tried),
        refits=refits,
    )


def _smoothed_on(trial: Trial, number: int) -> Smoothing:
    """Found without the rows of a fold that it is measured on."""
    fold, model, scores = trial.folds[number], trial.fitted[number], trial.scores[number]
    measured = fold.held_out
    if trial.estimator is None:
        chosen, kept = _chosen_on_held_out(trial, fold)
        measured, scores = measured.take(kept), scores[kept]
    else:
        chosen = _chosen_on(trial, fold.found_on, fold.number)
    reference = fold.found_on.rows
    made = smooth_at(model, reference, chosen.factor, trial.seed)
    some = measured.take(_some(len(measured), trial.seed, number))
    unsteady = [
        unsteadiness(
            each,
            some.rows,
            reference,
            made.radius / chosen.factor,
            classes=trial.scoring.is_classes,
            # Another seed than the smoothing's: neighbours that it did not average over.
            seed=trial.seed + 1,
        )
        for each in (model, made)
    ]
    queries = chosen.queries + made.queries * len(measured)
    queries += sum(each.queries for each in unsteady)
    return Smoothing(
        measured=measured,
        plain=scores,
        smooth=trial.score(made, measured),
        some=some,
        unsteady_before=unsteady[0].values,
        unsteady_after=unsteady[1].values,
        factor=chosen.factor,
        radius=made.radius,
        neighbours=made.queries,
        queries=queries,
    )


def _for_the_whole(trial: Trial, tried: list[Smoothing]) -> tuple[float, float, int]:
    """The factor and radius that the same rule chooses on all rows, and the queries it took.

    A model that is only asked has one fold, whose radius was measured itself.
    """
    if trial.estimator is None:
        return tried[0].factor, tried[0].radius, 0
    chosen = _chosen_on(trial, trial.reference, len(trial.folds))
    made = smooth_at(trial.fitted[0], trial.reference.rows, chosen.factor, trial.seed)
    return chosen.factor, made.radius, chosen.queries


def _chosen_on(trial: Trial, data: Data, number: int) -> Radius:
    """A radius for a model fitted to half of the rows, chosen on the other half."""
    fitted_to, chosen_on = random_half(keys_of(data, trial.seed), trial.seed, number)
    part = data.take(fitted_to)
    return choose_radius(
        refit(trial.estimator, part),
        part.rows,
        data.take(chosen_on[:CHOOSING_ROWS]),
        trial.scoring,
        trial.seed,
    )


def _chosen_on_held_out(trial: Trial, fold: Fold) -> tuple[Radius, Integers]:
    """A radius chosen on half of what is held out, as the model may have seen all else; and the
    numbers of the other half's rows.
    """
    keys = keys_of(fold.held_out, trial.seed)
    chosen_on, kept = random_half(keys, trial.seed, fold.number)
    radius = choose_radius(
        trial.model,
        fold.found_on.rows,
        fold.held_out.take(chosen_on[:CHOOSING_ROWS]),
        trial.scoring,
        trial.seed,
    )
    return radius, kept


def _some(rows: int, seed: int, *address: int) -> Integers:
    chosen = generator(seed, Stream.FIX_STEADY_ROWS, *address).permutation(rows)[:STEADY_ROWS]
    return np.sort(chosen)
