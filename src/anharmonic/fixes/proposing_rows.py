"""Proposals about rows: which to label, which to look at, where more are needed."""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.fixes.holding_out import Fold, Gain, random_half
from anharmonic.fixes.labelling import choose_to_label, uncertain_rows
from anharmonic.fixes.lacking import Flags, WorstRegion, find_region, sparseness
from anharmonic.fixes.refitting import ask, refit, stack_rows, take_rows
from anharmonic.fixes.result import Proposal
from anharmonic.fixes.training_rows import suspicious_rows
from anharmonic.fixes.trial import Trial
from anharmonic.regions import unmoved

__all__ = ["propose_labels", "propose_looking", "propose_region"]

TRIALS = 3
"""Halves of a fold's labels that are hidden in turn: what refits vary by is averaged."""
REMOVED = 2
"""Samples of a region's training rows that are left out, to see what rows there are worth."""


def propose_labels(trial: Trial) -> Proposal:
    """Which rows of the pool to label next."""
    model = trial.whole()
    asked = ask(model, trial.pool)
    uncertain = uncertain_rows(asked, trial.pool, trial.reference, trial.seed)
    count = min(trial.count, len(uncertain.values))
    rows = choose_to_label(uncertain, count, trial.seed)
    if trial.estimator is None:
        return _worth_labelling(trial, rows, asked.queries)
    before, chosen, random = [], [], []
    tried = 0
    for fold in trial.folds:
        tried = min(count, len(fold.found_on) // 6)
        scores = np.mean(
            [_labelled_in_trial(trial, fold, number, tried) for number in range(TRIALS)], axis=0
        )
        before.append(scores[0])
        chosen.append(scores[1])
        random.append(scores[2])
    gain, over_random = trial.gain(before, chosen), trial.gain(random, chosen)
    sampled = float(np.concatenate(random).mean()) - gain.before
    helps = gain.shown and over_random.interval.high >= 0
    metric = str(trial.scoring)
    sentence = (
        f"Label {len(rows):,} rows of the pool: in trials that hid half of the reference's labels, "
        f"{tried:,} rows chosen this way changed {metric} by {gain}, as many at random by "
        f"{sampled:+.3f}."
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
        evidence={"over random": over_random, "rows in trials": tried},
        queries=asked.queries
        + TRIALS * sum(len(fold.found_on) // 2 + 3 * len(fold.held_out) for fold in trial.folds),
        refits=1 + 3 * TRIALS * len(trial.folds),
    )


def _labelled_in_trial(trial: Trial, fold: Fold, number: int, count: int) -> list[Floats]:
    """Scores on held-out rows of three fits: to half of the labels, with as many of the other
    half as `count`, chosen or at random.
    """
    halves = random_half(len(fold.found_on), trial.seed, fold.number, number)
    labelled, pool = (fold.found_on.take(half) for half in halves)
    first = refit(trial.estimator, labelled)
    uncertain = uncertain_rows(ask(first, pool.rows), pool.rows, labelled, trial.seed)
    chosen = choose_to_label(uncertain, count, trial.seed)
    draw = generator(trial.seed, Stream.FIX_RANDOM_LABELS, fold.number, number)
    random = draw.permutation(len(pool))[:count]
    fitted = [
        first,
        *(refit(trial.estimator, labelled.joined(pool.take(more))) for more in (chosen, random)),
    ]
    return [trial.score(model, fold.held_out) for model in fitted]


def _worth_labelling(trial: Trial, rows: Integers, queries: int) -> Proposal:
    """The same without refits: how often the model is wrong at rows chosen this way."""
    (fold,), (asked,), (scores,) = trial.folds, trial.asked, trial.scores
    uncertain = uncertain_rows(asked, fold.held_out.rows, trial.reference, trial.seed)
    share = len(rows) / max(1, len(unmoved(trial.pool)))
    tried = max(2, min(len(scores) // 2, round(share * len(scores))))
    losses = trial.scoring.losses(scores)
    inside = np.isin(np.arange(len(scores)), choose_to_label(uncertain, tried, trial.seed))
    gain = trial.contrast(losses[inside], losses[~inside])
    sentence = (
        f"Label {len(rows):,} rows of the pool: at {tried:,} held-out rows chosen this way the "
        f"model's {trial.scoring.loss} is {gain.against('at the others')}. The model cannot be "
        "fitted anew here, so what the labels bring was not measured."
    )
    if gain.shown:
        sentence += " Label them, and fit the model to them too where it is made."
    return Proposal(
        kind="label",
        helps=gain.shown,
        sentence=sentence,
        gain=gain,
        unit=f"{trial.scoring.loss} at chosen rows against others",
        rows=rows,
        queries=queries + asked.queries,
    )


def propose_looking(trial: Trial) -> Proposal:
    """Which training rows to look at."""
    model = trial.whole()
    asked = ask(model, trial.reference.rows)
    suspicious = suspicious_rows(asked, trial.reference, trial.seed)
    if trial.estimator is None:
        return _worth_looking(trial, suspicious.rows, asked.queries)
    after, left_out = [], 0
    for fold, fitted in zip(trial.folds, trial.fitted, strict=True):
        answers = ask(fitted, fold.found_on.rows)
        rows = suspicious_rows(answers, fold.found_on, trial.seed).rows
        kept = np.setdiff1d(np.arange(len(fold.found_on)), rows)
        left_out += len(rows)
        changed = refit(trial.estimator, fold.found_on.take(kept))
        after.append(trial.score(changed, fold.held_out))
    gain = trial.gain(trial.scores, after)
    metric = str(trial.scoring)
    sentence = (
        f"Look at {len(suspicious.rows):,} of {len(trial.reference):,} training rows, which other "
        f"rows contradict: fitted without such rows, the model's {metric} changes by {gain}."
    )
    if gain.shown:
        sentence += " Correct them or leave them out, and fit again."
    return Proposal(
        kind="look",
        helps=gain.shown and len(suspicious.rows) > 0,
        sentence=sentence,
        gain=gain,
        unit=metric,
        rows=suspicious.rows,
        evidence={"left out per fold": left_out / len(trial.folds)},
        queries=asked.queries + sum(len(fold.found_on) for fold in trial.folds),
        refits=1 + len(trial.folds),
    )


def _worth_looking(trial: Trial, rows: Integers, queries: int) -> Proposal:
    """The same without refits: how often the model contradicts held-out labels that stand out."""
    (fold,), (asked,), (scores,) = trial.folds, trial.asked, trial.scores
    contradicted = suspicious_rows(asked, fold.held_out, trial.seed).rows
    losses = trial.scoring.losses(scores)
    inside = np.isin(np.arange(len(scores)), contradicted)
    gain = trial.contrast(losses[inside], losses[~inside])
    sentence = (
        f"Look at {len(rows):,} of {len(trial.reference):,} training rows, which other rows "
        f"contradict: at held-out rows like them the model's {trial.scoring.loss} is "
        f"{gain.against('at the others')}. The model cannot be fitted anew here, so a fit without "
        "them was not measured."
    )
    if gain.shown:
        sentence += " Correct them or leave them out before the next fit."
    return Proposal(
        kind="look",
        helps=gain.shown and len(rows) > 0,
        sentence=sentence,
        gain=gain,
        unit=f"{trial.scoring.loss} at such rows against others",
        rows=rows,
        queries=queries + asked.queries,
    )


def propose_region(trial: Trial) -> Proposal:
    """Which region lacks data: found on half of the held-out rows, measured on the other."""
    rows = [fold.held_out.rows for fold in trial.folds]
    halves = [random_half(len(fold.held_out), trial.seed, fold.number, 1) for fold in trial.folds]
    found_on = [take_rows(table, half[0]) for table, half in zip(rows, halves, strict=True)]
    # Losses count by how few training rows are near: what is hard everywhere lacks no data.
    weighted = [
        trial.scoring.losses(scores[half[0]]) * sparseness(table, fold.found_on.rows, trial.seed)
        for scores, half, table, fold in zip(
            trial.scores, halves, found_on, trial.folds, strict=True
        )
    ]
    region = find_region(stack_rows(found_on), np.concatenate(weighted))
    if region is None:
        raise PointsError("the model does equally well everywhere: no region stands out")
    kept = [half[1] for half in halves]
    inside = [region.holds(take_rows(table, half)) for table, half in zip(rows, kept, strict=True)]
    kept_losses = np.concatenate(
        [
            trial.scoring.losses(scores[half])
            for scores, half in zip(trial.scores, kept, strict=True)
        ]
    )
    flags = np.concatenate(inside)
    excess = trial.contrast(kept_losses[flags], kept_losses[~flags])
    members = region.holds(trial.reference.rows)
    shares = f"{members.sum():,} of {len(members):,} training rows"
    if trial.pool is not None:
        share = float(region.holds(trial.pool).mean())
        shares += f", {share:.1%} of the pool"
    metric = str(trial.scoring)
    sentence = (
        f"Get more rows where {region.words} ({shares}): the {trial.scoring.loss} there is "
        f"{excess.against('elsewhere')}"
    )
    gain, refits = excess, 0
    if trial.estimator is not None:
        gain, refits = _worth_of_rows(trial, region, kept, inside), REMOVED * len(trial.folds)
        sentence += (
            f"; with the second half of the training rows there {metric} there changes by {gain}."
        )
    else:
        sentence += "; what more rows bring was not measured, as the model cannot be fitted anew."
    helps = excess.shown and gain.shown
    if helps:
        sentence += " Collect or label rows there, and fit again."
    return Proposal(
        kind="region",
        helps=helps,
        sentence=sentence,
        gain=gain,
        unit=metric
        if trial.estimator is not None
        else f"{trial.scoring.loss} there against elsewhere",
        rows=np.flatnonzero(members),
        settings={"region": region},
        evidence={"excess loss": excess},
        refits=refits,
    )


def _worth_of_rows(
    trial: Trial, region: WorstRegion, kept: list[Integers], inside: list[Flags]
) -> Gain:
    """What half of the region's training rows change at held-out rows in the region."""
    before, after = [], []
    for fold, scores, half, flags in zip(trial.folds, trial.scores, kept, inside, strict=True):
        rows = half[flags]
        if not len(rows):
            continue
        measured = fold.held_out.take(rows)
        members = np.flatnonzero(region.holds(fold.found_on.rows))
        without = []
        for number in range(REMOVED):
            gone = members[random_half(len(members), trial.seed, fold.number, 2, number)[0]]
            rest = np.setdiff1d(np.arange(len(fold.found_on)), gone)
            fewer = refit(trial.estimator, fold.found_on.take(rest))
            without.append(trial.score(fewer, measured))
        before.append(np.mean(without, axis=0))
        after.append(scores[rows])
    return trial.gain(before, after)
