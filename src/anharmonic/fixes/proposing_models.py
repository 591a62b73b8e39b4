"""Proposals that change the model: another capacity, or smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.fixes.capacity import Grid, choose_capacity
from anharmonic.fixes.holding_out import Gain, random_half
from anharmonic.fixes.refitting import Asked, Data, ask, refit
from anharmonic.fixes.result import Kind, Proposal
from anharmonic.fixes.scoring import shares_of
from anharmonic.fixes.steadying import MEASURED_QUERIES, choose_radius, smooth_at, unsteadiness
from anharmonic.fixes.trial import Trial
from anharmonic.measures.over_data import gamma_data

__all__ = ["propose_capacity", "propose_smoothing"]

STEADY_ROWS = 100
"""Held-out rows of a fold whose neighbourhoods are asked for, at most: they cost many queries."""
CHOOSING_ROWS = 500
"""Rows that a radius is chosen on, at most, for the same reason."""


def propose_capacity(trial: Trial, grid: Grid) -> Proposal:
    """Whether another value of a parameter scores better, or as well and steadier."""
    assert trial.estimator is not None
    scores, before, after = [], [], []
    refits = 0
    for fold, answers in zip(trial.folds, trial.asked, strict=True):
        chosen = choose_capacity(trial.estimator, fold.found_on, grid, trial.scoring, trial.seed)
        changed = refit(trial.estimator, fold.found_on, **chosen.parameters)
        asked = ask(changed, fold.held_out.rows)
        scores.append(trial.scoring.row_scores(asked, fold.held_out.labels))
        before.append(-_gamma_of(answers, fold.held_out, trial))
        after.append(-_gamma_of(asked, fold.held_out, trial))
        refits += chosen.refits + 1
    final = choose_capacity(trial.estimator, trial.reference, grid, trial.scoring, trial.seed)
    current = trial.estimator.get_params()
    changes = {name: value for name, value in final.parameters.items() if value != current[name]}
    gain, steadier = trial.gain(trial.scores, scores), trial.gain(before, after)
    named = ", ".join(f"{name}={value!r}" for name, value in final.parameters.items())
    instead = ", ".join(f"{name}={current[name]!r}" for name in final.parameters)
    what = f"Fit with {named} instead of {instead}"
    if not changes:
        what = f"Keep {named}, the steadiest within one error of the best score"
    return _score_or_steadiness(
        trial,
        "capacity",
        what,
        gain,
        steadier,
        "gamma over the data",
        possible=bool(changes),
        advice="Fit again with it.",
        settings=final.parameters,
        queries=2 * sum(len(fold.held_out) for fold in trial.folds),
        refits=refits + final.refits,
        evidence={"frontier": final.frontier},
    )


def _gamma_of(asked: Asked, data: Data, trial: Trial) -> Floats:
    """How far each held-out row's decision is from that of other held-out rows, (rows,)."""
    if not trial.scoring.is_classes:
        return gamma_data(data.rows, asked.outputs, kind="value", seed=trial.seed).values
    shares = shares_of(asked)
    decided = np.asarray(shares.argmax(axis=1)[:, None] == np.arange(shares.shape[1]), float)
    return gamma_data(data.rows, decided, kind="onehot", seed=trial.seed).values


def propose_smoothing(trial: Trial) -> Proposal:
    """Whether the mean over neighbours scores better, or as well and steadier."""
    plain, smooth = [], []
    before: list[Floats] = []
    after: list[Floats] = []
    factors = []
    queries = 0
    for number, (fold, model) in enumerate(zip(trial.folds, trial.fitted, strict=True)):
        reference = fold.found_on.rows
        measured = fold.held_out
        scores = trial.scores[number]
        if trial.estimator is None:
            # What cannot be fitted anew has seen the reference: half of what is held out chooses.
            chosen_on, kept = random_half(len(measured), trial.seed, number)
            radius = choose_radius(
                model,
                reference,
                measured.take(chosen_on[:CHOOSING_ROWS]),
                trial.scoring,
                trial.seed,
            )
            measured, scores = measured.take(kept), scores[kept]
        else:
            fitted_to, chosen_on = random_half(len(fold.found_on), trial.seed, number)
            part = fold.found_on.take(fitted_to)
            radius = choose_radius(
                refit(trial.estimator, part),
                part.rows,
                fold.found_on.take(chosen_on[:CHOOSING_ROWS]),
                trial.scoring,
                trial.seed,
            )
        made = smooth_at(model, reference, radius.factor, trial.seed)
        plain.append(scores)
        smooth.append(trial.score(made, measured))
        rows = _some(len(measured), trial.seed, number)
        reach = made.radius / radius.factor
        some = measured.take(rows).rows
        for asked, kept_in in ((model, before), (made, after)):
            # Another seed than the smoothing's: neighbours that it did not average over.
            unsteady = unsteadiness(
                asked,
                some,
                reference,
                reach,
                classes=trial.scoring.is_classes,
                seed=trial.seed + 1,
            )
            kept_in.append(-unsteady)
        queries += radius.queries + made.queries * len(measured)
        queries += (1 + made.queries) * (1 + MEASURED_QUERIES) * len(rows)
        factors.append(radius.factor)
    factor = float(np.median(factors))
    gain, steadier = trial.gain(plain, smooth), trial.gain(before, after)
    named = f"Smooth the answers over {made.queries} neighbours at {factor:g} times the distance "
    return _score_or_steadiness(
        trial,
        "smooth",
        named + "between nearest rows",
        gain,
        steadier,
        "share of close neighbours decided otherwise"
        if trial.scoring.is_classes
        else "gamma at close neighbours",
        possible=True,
        advice=f"Take ah.smoothed(model, reference=train, radius={factor * reach:.3g}), which "
        f"costs {made.queries} queries per row.",
        settings={"radius": factor * reach, "queries": made.queries},
        queries=queries,
        refits=0 if trial.estimator is None else len(trial.folds),
        evidence={},
    )


def _some(rows: int, seed: int, *address: int) -> Any:
    chosen = generator(seed, Stream.FIX_STEADY_ROWS, *address).permutation(rows)[:STEADY_ROWS]
    return np.sort(chosen)


def _score_or_steadiness(
    trial: Trial,
    kind: Kind,
    what: str,
    gain: Gain,
    steadier: Gain,
    unsteady: str,
    *,
    possible: bool,
    advice: str,
    settings: dict[str, object],
    queries: int,
    refits: int,
    evidence: dict[str, object],
) -> Proposal:
    """A proposal that helps by a better score, or by steadiness at a score that is no worse."""
    metric = str(trial.scoring)
    as_good = gain.interval.low > -trial.tolerance
    by_steadiness = possible and not gain.shown and as_good and steadier.shown
    helps = possible and (gain.shown or by_steadiness)
    fell = Gain(
        -steadier.before,
        -steadier.after,
        type(steadier.interval)(
            -steadier.interval.value, -steadier.interval.high, -steadier.interval.low
        ),
        steadier.rows,
    )
    sentence = f"{what}: {metric} changes by {gain} and the {unsteady} by {fell}."
    if by_steadiness:
        sentence += f" It is steadier, and loses less than {trial.tolerance:g} of {metric}."
    if helps:
        sentence += f" {advice}"
    return Proposal(
        kind=kind,
        helps=helps,
        sentence=sentence,
        gain=steadier if by_steadiness else gain,
        unit=f"less {unsteady}" if by_steadiness else metric,
        settings=settings,
        evidence={"score": gain, "steadiness": steadier, **evidence},
        queries=queries,
        refits=refits,
    )
