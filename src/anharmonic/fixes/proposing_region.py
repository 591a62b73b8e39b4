"""Which region lacks data: found on half of the held-out rows, measured on the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError
from anharmonic.fixes.copies import keys_of
from anharmonic.fixes.gains import Gain
from anharmonic.fixes.holding_out import random_half
from anharmonic.fixes.lacking import Flags, WorstRegion, find_region, sparseness
from anharmonic.fixes.refitting import refit
from anharmonic.fixes.result import Proposal
from anharmonic.fixes.rows import Data, stack_rows
from anharmonic.fixes.trial import Trial

__all__ = ["propose_region"]

REMOVED = 2
"""Samples of a region's training rows that are left out, to see what rows there are worth."""


class Half(NamedTuple):
    """Half of a fold's held-out rows, and the model's scores there."""

    data: Data
    scores: Floats


def propose_region(trial: Trial) -> Proposal:
    """Which region lacks data."""
    found_on, measured_on = _halves(trial)
    region = _found(trial, found_on)
    inside = [region.holds(half.data.rows) for half in measured_on]
    losses = [trial.scoring.losses(half.scores) for half in measured_on]
    excess = trial.contrast(losses, inside, [half.data for half in measured_on])
    members = region.holds(trial.reference.rows)
    sentence = (
        f"Get more rows where {region.words} ({_shares(trial, region, members)}): the "
        f"{trial.scoring.loss} there is {excess.against('elsewhere')}"
    )
    metric = str(trial.scoring)
    gain, queries, refits = None, 0, 0
    if trial.estimator is None:
        sentence += "; what more rows bring was not measured, as the model cannot be fitted anew."
    elif not excess.known:
        sentence += "; what more rows bring was not measured."
    else:
        gain, queries = _worth_of_rows(trial, region, measured_on, inside)
        refits = REMOVED * sum(bool(flags.any()) for flags in inside)
        sentence += (
            f"; with the second half of the training rows there {metric} there changes by {gain}."
        )
    helps = gain is not None and gain.shown and excess.shown
    if helps:
        sentence += " Collect or label rows there, and fit again."
    return Proposal(
        kind="region",
        helps=helps,
        sentence=sentence,
        gain=gain,
        unit=metric,
        rows=np.flatnonzero(members),
        settings={"region": region},
        evidence={"excess loss": excess},
        queries=queries,
        refits=refits,
    )


def _halves(trial: Trial) -> tuple[list[Half], list[Half]]:
    """Each fold's held-out rows in two; copies of a row are in one half."""
    pairs = []
    for fold, scores in zip(trial.folds, trial.scores, strict=True):
        keys = keys_of(fold.held_out, trial.seed)
        halves = random_half(keys, trial.seed, fold.number, 1)
        pairs.append([Half(fold.held_out.take(half), scores[half]) for half in halves])
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _found(trial: Trial, found_on: Sequence[Half]) -> WorstRegion:
    """By losses that count by how few training rows are near: what is hard everywhere lacks no
    data.
    """
    weighted = [
        trial.scoring.losses(half.scores)
        * sparseness(half.data.rows, fold.found_on.rows, trial.seed)
        for half, fold in zip(found_on, trial.folds, strict=True)
    ]
    rows = stack_rows([half.data.rows for half in found_on])
    region = find_region(rows, np.concatenate(weighted))
    if region is None:
        raise PointsError("the model does equally well everywhere: no region stands out")
    return region


def _shares(trial: Trial, region: WorstRegion, members: Flags) -> str:
    shares = f"{members.sum():,} of {len(members):,} training rows"
    if trial.pool is None:
        return shares
    return f"{shares}, {float(region.holds(trial.pool).mean()):.1%} of the pool"


def _worth_of_rows(
    trial: Trial, region: WorstRegion, measured_on: Sequence[Half], inside: Sequence[Flags]
) -> tuple[Gain, int]:
    """What half of the region's training rows change at held-out rows in the region, and the
    queries that took.
    """
    before, after, measured = [], [], []
    queries = 0
    for fold, half, flags in zip(trial.folds, measured_on, inside, strict=True):
        rows = np.flatnonzero(flags)
        if not len(rows):
            continue
        there = half.data.take(rows)
        members = np.flatnonzero(region.holds(fold.found_on.rows))
        keys = keys_of(fold.found_on, trial.seed)[members]
        without = []
        for number in range(REMOVED):
            gone = members[random_half(keys, trial.seed, fold.number, 2, number)[0]]
            rest = np.setdiff1d(np.arange(len(fold.found_on)), gone)
            without.append(trial.score(refit(trial.estimator, fold.found_on.take(rest)), there))
        queries += REMOVED * len(there)
        before.append(np.mean(without, axis=0))
        after.append(half.scores[rows])
        measured.append(there)
    return trial.gain(before, after, measured), queries
