"""Which rows to label next, and what labels of rows chosen this way were worth in trials."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.fixes.copies import keys_of
from anharmonic.fixes.holding_out import Fold, random_half
from anharmonic.fixes.intervals import FEWEST_COMPARED
from anharmonic.fixes.labelling import choose_to_label, uncertain_rows
from anharmonic.fixes.refitting import ask, refit
from anharmonic.fixes.result import Proposal
from anharmonic.fixes.trial import Trial
from anharmonic.regions import unmoved

__all__ = ["propose_labels"]

TRIALS = 2
"""Halves of a fold's labels that are hidden in turn: what refits vary by is averaged."""
HIDDEN_PER_CHOSEN = 3
"""Hidden labels among which one is chosen, at least."""


class Tried(NamedTuple):
    """Scores on held-out rows of fits to half of the labels, with chosen rows of the other half
    beside them, and with as many at random; and the queries that took.
    """

    before: Floats
    chosen: Floats
    random: Floats
    queries: int


def propose_labels(trial: Trial) -> Proposal:
    """Which rows of the pool to label next."""
    asked = ask(trial.whole(), trial.pool)
    uncertain = uncertain_rows(asked, trial.pool, trial.reference, trial.seed)
    count = min(trial.count, len(uncertain.values))
    rows = choose_to_label(uncertain, count, trial.seed)
    if trial.estimator is None:
        return _without_refits(trial, rows, asked.queries)
    fewest = min(len(fold.found_on) for fold in trial.folds)
    tried_count = min(count, fewest // (2 * HIDDEN_PER_CHOSEN))
    if tried_count < 1:
        raise PointsError(
            f"{fewest:,} labelled rows are too few to hide half of their labels and choose among "
            f"those: give {2 * HIDDEN_PER_CHOSEN} at least"
        )
    tried = [_tried(trial, fold, tried_count) for fold in trial.folds]
    gain = trial.gain([each.before for each in tried], [each.chosen for each in tried])
    over_random = trial.gain([each.random for each in tried], [each.chosen for each in tried])
    helps = gain.shown and over_random.interval.high >= 0
    metric = str(trial.scoring)
    sentence = (
        f"Label {len(rows):,} rows of the pool: in trials that hid half of the reference's labels, "
        f"{tried_count:,} rows chosen this way changed {metric} by {gain}, as many at random by "
        f"{over_random.before - gain.before:+.3f}."
    )
    if helps:
        sentence += " Label them, add them to the training rows and fit again."
    return Proposal(
        kind="label",
        helps=helps,
        sentence=sentence,
        gain=gain,
        unit=metric,
        rows=rows,
        evidence={"over random": over_random, "rows in trials": tried_count},
        queries=asked.queries + sum(each.queries for each in tried),
        refits=1 + 3 * TRIALS * len(trial.folds),
    )


def _tried(trial: Trial, fold: Fold, count: int) -> Tried:
    """Means over the trials of a fold."""
    every = [_with_hidden_labels(trial, fold, number, count) for number in range(TRIALS)]
    return Tried(
        np.mean([each.before for each in every], axis=0),
        np.mean([each.chosen for each in every], axis=0),
        np.mean([each.random for each in every], axis=0),
        sum(each.queries for each in every),
    )


def _with_hidden_labels(trial: Trial, fold: Fold, number: int, count: int) -> Tried:
    """One trial; copies of a row are all hidden, or none of them."""
    keys = keys_of(fold.found_on, trial.seed)
    halves = random_half(keys, trial.seed, fold.number, number)
    labelled, pool = (fold.found_on.take(half) for half in halves)
    first = refit(trial.estimator, labelled)
    asked = ask(first, pool.rows)
    uncertain = uncertain_rows(asked, pool.rows, labelled, trial.seed)
    chosen_rows = choose_to_label(uncertain, count, trial.seed)
    draw = generator(trial.seed, Stream.FIX_RANDOM_LABELS, fold.number, number)
    random_rows = draw.permutation(len(pool))[: len(chosen_rows)]
    with_chosen, with_random = (
        refit(trial.estimator, labelled.joined(pool.take(rows)))
        for rows in (chosen_rows, random_rows)
    )
    return Tried(
        trial.score(first, fold.held_out),
        trial.score(with_chosen, fold.held_out),
        trial.score(with_random, fold.held_out),
        asked.queries + 3 * len(fold.held_out),
    )


def _without_refits(trial: Trial, rows: Integers, queries: int) -> Proposal:
    """Rows to label, and how often the model is wrong at such rows, which is no gain yet: rows
    that nobody could tell apart are unsure too.
    """
    (fold,), (asked,), (scores,) = trial.folds, trial.asked, trial.scores
    uncertain = uncertain_rows(asked, fold.held_out.rows, trial.reference, trial.seed)
    share = len(rows) / max(1, len(unmoved(trial.pool)))
    tried = min(len(scores) // 2, max(FEWEST_COMPARED, round(share * len(scores))))
    chosen = np.isin(np.arange(len(scores)), choose_to_label(uncertain, tried, trial.seed))
    losses = trial.contrast([trial.scoring.losses(scores)], [chosen], [fold.held_out])
    return Proposal(
        kind="label",
        helps=False,
        sentence=(
            f"Label {len(rows):,} rows of the pool: at {tried:,} held-out rows chosen this way the "
            f"model's {trial.scoring.loss} is {losses.against('at the others')}. What their labels "
            "bring was not measured, as the model cannot be fitted anew here."
        ),
        gain=None,
        unit=str(trial.scoring),
        rows=rows,
        evidence={"loss at such rows": losses},
        queries=queries,
    )
