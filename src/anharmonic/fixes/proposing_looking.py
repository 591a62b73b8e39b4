"""Which training rows to look at, and what a fit without such rows is worth."""

from __future__ import annotations

import numpy as np

from anharmonic._core.protocols import Integers
from anharmonic.fixes.refitting import ask, refit
from anharmonic.fixes.result import Proposal
from anharmonic.fixes.training_rows import suspicious_rows
from anharmonic.fixes.trial import Trial

__all__ = ["propose_looking"]


def propose_looking(trial: Trial) -> Proposal:
    """Which training rows to look at."""
    asked = ask(trial.whole(), trial.reference.rows)
    suspicious = suspicious_rows(asked, trial.reference, trial.seed).rows
    what = (
        f"Look at {len(suspicious):,} of {len(trial.reference):,} training rows, which other rows "
        "contradict"
    )
    if trial.estimator is None:
        return _without_refits(trial, suspicious, what, asked.queries)
    after = []
    left_out = queries = 0
    for fold, fitted in zip(trial.folds, trial.fitted, strict=True):
        answers = ask(fitted, fold.found_on.rows)
        rows = suspicious_rows(answers, fold.found_on, trial.seed).rows
        kept = np.setdiff1d(np.arange(len(fold.found_on)), rows)
        left_out += len(rows)
        changed = refit(trial.estimator, fold.found_on.take(kept))
        after.append(trial.score(changed, fold.held_out))
        queries += answers.queries + len(fold.held_out)
    gain = trial.gain(trial.scores, after)
    helps = gain.shown and len(suspicious) > 0
    metric = str(trial.scoring)
    sentence = f"{what}: fitted without such rows, the model's {metric} changes by {gain}."
    if helps:
        sentence += " Correct them or leave them out, and fit again."
    return Proposal(
        kind="look",
        helps=helps,
        sentence=sentence,
        gain=gain,
        unit=metric,
        rows=suspicious,
        evidence={"left out per fold": left_out / len(trial.folds)},
        queries=asked.queries + queries,
        refits=1 + len(trial.folds),
    )


def _without_refits(trial: Trial, rows: Integers, what: str, queries: int) -> Proposal:
    """Rows alone. That the model is wrong at held-out rows whose labels others contradict says
    nothing: they were picked by these labels, and noise that no model could learn does the same.
    """
    return Proposal(
        kind="look",
        helps=False,
        sentence=(
            f"{what}. What a fit without them brings was not measured, as the model cannot be "
            "fitted anew here."
        ),
        gain=None,
        unit=str(trial.scoring),
        rows=rows,
        queries=queries,
    )
