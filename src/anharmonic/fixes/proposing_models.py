"""Proposals that change the model: another capacity, and what they share with smoothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.fixes.capacity import Grid, choose_capacity
from anharmonic.fixes.gains import Gain
from anharmonic.fixes.refitting import Asked, ask, refit
from anharmonic.fixes.result import Kind, Proposal
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import shares_of
from anharmonic.fixes.trial import Trial
from anharmonic.measures.over_data import gamma_data
from anharmonic.performance.result import Interval

__all__ = ["Comparison", "propose_capacity", "score_or_steadiness"]


class Comparison(NamedTuple):
    """What a change of the model does to its score and to its steadiness.

    `unsteady` is the quantity, in words, of which there is less where the steadiness gains.
    """

    score: Gain
    steadiness: Gain
    unsteady: str


def propose_capacity(trial: Trial, grid: Grid) -> Proposal:
    """Whether another value of a parameter scores better, or as well and steadier."""
    assert trial.estimator is not None
    scores, before, after = [], [], []
    refits = queries = 0
    for fold, answers in zip(trial.folds, trial.asked, strict=True):
        chosen = choose_capacity(trial.estimator, fold.found_on, grid, trial.scoring, trial.seed)
        changed = refit(trial.estimator, fold.found_on, **chosen.parameters)
        asked = ask(changed, fold.held_out.rows)
        scores.append(trial.scoring.row_scores(asked, fold.held_out.labels))
        before.append(_gamma_of(answers, fold.held_out, trial))
        after.append(_gamma_of(asked, fold.held_out, trial))
        refits += chosen.refits + 1
        queries += chosen.queries + asked.queries
    final = choose_capacity(trial.estimator, trial.reference, grid, trial.scoring, trial.seed)
    current = trial.estimator.get_params()
    changes = {name: value for name, value in final.parameters.items() if value != current[name]}
    named = ", ".join(f"{name}={value!r}" for name, value in final.parameters.items())
    instead = ", ".join(f"{name}={current[name]!r}" for name in final.parameters)
    what = f"Fit with {named} instead of {instead}"
    if not changes:
        what = f"Keep {named}, the steadiest within one error of the best score"
    held_out = [fold.held_out for fold in trial.folds]
    return score_or_steadiness(
        trial,
        "capacity",
        what,
        Comparison(
            trial.gain(trial.scores, scores),
            trial.steadier(before, after, held_out),
            "gamma over the data",
        ),
        possible=bool(changes),
        advice="Fit again with it.",
        settings=final.parameters,
        evidence={"frontier": final.frontier},
        queries=queries + final.queries,
        refits=refits + final.refits,
    )


def _gamma_of(asked: Asked, data: Data, trial: Trial) -> Floats:
    """How far each held-out row's decision is from that of other held-out rows, (rows,)."""
    if not trial.scoring.is_classes:
        return gamma_data(data.rows, asked.outputs, kind="value", seed=trial.seed).values
    shares = shares_of(asked)
    decided = np.asarray(shares.argmax(axis=1)[:, None] == np.arange(shares.shape[1]), float)
    return gamma_data(data.rows, decided, kind="onehot", seed=trial.seed).values


def score_or_steadiness(
    trial: Trial,
    kind: Kind,
    what: str,
    compared: Comparison,
    *,
    possible: bool,
    advice: str,
    settings: dict[str, object],
    evidence: dict[str, object],
    queries: int,
    refits: int,
) -> Proposal:
    """A proposal that helps by a better score, or by steadiness at a score that is no worse.

    Parameters
    ----------
    trial
        For the score's name and how much of it may be given up.
    kind, what, advice
        The proposal, in words, and what to do if it helps.
    compared
        What was measured.
    possible
        Whether anything would change at all.
    settings, evidence, queries, refits
        As in `Proposal`.
    """
    metric = str(trial.scoring)
    score, steadiness, unsteady = compared
    as_good = score.interval.low > -trial.tolerance
    by_steadiness = possible and not score.shown and as_good and steadiness.shown
    helps = possible and (score.shown or by_steadiness)
    sentence = f"{what}: {metric} changes by {score} and the {unsteady} by {_turned(steadiness)}."
    if by_steadiness:
        sentence += f" It is steadier, and loses less than {trial.tolerance:g} of {metric}."
    if helps:
        sentence += f" {advice}"
    return Proposal(
        kind=kind,
        helps=helps,
        sentence=sentence,
        gain=steadiness if by_steadiness else score,
        unit=f"less {unsteady}" if by_steadiness else metric,
        settings=settings,
        evidence={"score": score, "steadiness": steadiness, **evidence},
        queries=queries,
        refits=refits,
    )


def _turned(gain: Gain) -> Gain:
    """The same of the quantity that there is less of."""
    value, low, high = gain.interval
    # 0 less, since −0 is written with its sign.
    return Gain(0 - gain.before, 0 - gain.after, Interval(0 - value, 0 - high, 0 - low), gain.rows)
