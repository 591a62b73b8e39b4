"""Proposals that say they help, tried on rows that had no part in them.

`python -m benchmarks.fixes proposals --data FOLDER`. Each set is cut into a reference, a pool and
fresh rows; `fix` sees the first two alone. What it proposes is then done, and the model before and
after is scored at the fresh rows, and with as many rows at random where it is about rows. Half of
the references have a sixth of their labels changed.
Bar: of proposals that say they help, 90% do.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.statistics import Rate
from anharmonic.fixes import Proposal, fix
from anharmonic.fixes.lacking import WorstRegion
from anharmonic.fixes.refitting import ask, refit
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import Scoring, scoring_for
from anharmonic.fixes.smoothing import smoothed
from anharmonic.fixes.steadying import unsteadiness
from anharmonic.measures.over_data import gamma_data
from benchmarks.fixes.kept import Kept
from benchmarks.fixes.sets import encoder, read_set
from studies.over_data.sets import with_flips

__all__ = ["Tried", "measure_proposals", "report"]

REFERENCE, POOL, FRESH, STEADY = 600, 300, 3000, 300
NOISE = (0.0, 1 / 6)
TOLERANCE = 0.01
DRAWS = 3
"""Of random rows, in place of those that were proposed."""
FEWEST = 20
"""Fresh rows of a region below which nothing can be told there."""


class Tried(NamedTuple):
    """A proposal of one case, and what it changed at fresh rows, in the unit it was measured in;
    None where these cannot tell. Of rows to label or collect also how much more they changed than
    as many at random.
    """

    case: str
    kind: str
    helps: bool
    measured: float | None
    fresh: float | None
    over_random: float | None = None


class Done(NamedTuple):
    """What doing a proposal changed, against doing nothing and against random rows."""

    gain: float | None
    over_random: float | None = None


def _estimators(rows: Any, seed: int) -> dict[str, Any]:
    from sklearn import ensemble, linear_model, neighbors, tree
    from sklearn.pipeline import make_pipeline

    models = {
        "tree": tree.DecisionTreeClassifier(random_state=seed),
        "boosted": ensemble.HistGradientBoostingClassifier(max_iter=50, random_state=seed),
        "logistic": linear_model.LogisticRegression(max_iter=500),
        "nearest row": neighbors.KNeighborsClassifier(1),
    }
    return {name: make_pipeline(encoder(rows), model) for name, model in models.items()}


def measure_proposals(sets: tuple[str, ...], seeds: int, data: Path, kept: Kept) -> list[Tried]:
    """All sets, families and shares of wrong labels; a set that is too small is left out.

    Seeds come last, so that a run that is stopped has every set.
    """
    lines: list[Tried] = []
    for seed in range(seeds):
        for name in sets:
            whole = Data(*read_set(name, data))
            if len(whole) < 2 * POOL:
                continue
            for noise in NOISE:
                for family, estimator in _estimators(whole.rows, seed).items():
                    case = f"{name}, {family}, {noise:.0%} wrong labels, seed {seed}"
                    found = kept.measured(
                        case, partial(_tried, case, whole, estimator, noise, seed)
                    )
                    lines += [Tried(*each) for each in found]
    return lines


def _tried(case: str, whole: Data, estimator: Any, noise: float, seed: int) -> list[Tried]:
    order = np.random.default_rng((seed, 3)).permutation(len(whole))
    size = min(REFERENCE, len(whole) // 2)
    pool_size = min(POOL, len(whole) // 6)
    reference = whole.take(order[:size])
    pool = whole.take(order[size : size + pool_size])
    fresh = whole.take(order[size + pool_size :][:FRESH])
    if noise:
        reference = Data(reference.rows, with_flips(reference.labels, seed, noise)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fixes = fix(
            estimator, reference.rows, reference.labels, pool=pool.rows, count=100, seed=seed
        )
        before = refit(estimator, reference)
        scoring = scoring_for(None, ask(before, fresh.rows), reference)
        lines = [
            Tried(
                case,
                proposal.kind,
                proposal.helps,
                None if proposal.gain is None else proposal.gain.interval.value,
                *_done(proposal, estimator, before, reference, pool, fresh, scoring, seed),
            )
            for proposal in fixes.tried
            # Unproposed ones are counted, and only followed where that is cheap.
            if proposal.helps or proposal.kind != "smooth"
        ]
    for line in lines:
        verdict = "helps" if line.helps else "not shown"
        print(f"{line.case}: {line.kind} {verdict}, {_written(line.measured)} held out, "
              f"{_written(line.fresh)} fresh, {_written(line.over_random)} over random rows",
              flush=True)  # fmt: skip
    return lines


def _written(change: float | None) -> str:
    return "not told" if change is None else f"{change:+.3f}"


def _done(
    proposal: Proposal,
    estimator: Any,
    before: Any,
    reference: Data,
    pool: Data,
    fresh: Data,
    scoring: Scoring,
    seed: int,
) -> Done:
    """What doing it changes at fresh rows."""
    if proposal.kind == "region":
        return _region_done(proposal, estimator, reference, fresh, scoring, seed)
    after = _changed(proposal, estimator, before, reference, pool, seed)
    scores = [_score(model, fresh, scoring) for model in (before, after)]
    if proposal.kind == "label":
        assert proposal.rows is not None
        count = len(proposal.rows)
        random = _with_random_rows(estimator, reference, pool, count, fresh, scoring, seed)
        return Done(scores[1] - scores[0], scores[1] - random)
    if not proposal.unit.startswith("less "):
        return Done(scores[1] - scores[0])
    if scores[1] - scores[0] < -TOLERANCE:
        # It gave up more than it said.
        return Done(scores[1] - scores[0])
    some = fresh.take(np.arange(min(STEADY, len(fresh))))
    if proposal.kind == "capacity":
        steady = [_gamma(model, some, seed) for model in (before, after)]
    else:
        radius = smoothed(before, reference=reference.rows, seed=seed).radius
        steady = [
            float(
                unsteadiness(
                    model, some.rows, reference.rows, radius, classes=True, seed=seed + 1
                ).values.mean()
            )
            for model in (before, after)
        ]
    return Done(steady[0] - steady[1])


def _score(model: Any, data: Data, scoring: Scoring) -> float:
    return float(scoring.row_scores(ask(model, data.rows), data.labels).mean())


def _with_random_rows(
    estimator: Any,
    reference: Data,
    others: Data,
    count: int,
    measured: Data,
    scoring: Scoring,
    seed: int,
) -> float:
    """The mean score with so many of the others at random, over a few draws."""
    random = np.random.default_rng((seed, 13))
    scores = []
    for _ in range(DRAWS):
        added = reference.joined(others.take(random.permutation(len(others))[:count]))
        scores.append(_score(refit(estimator, added), measured, scoring))
    return float(np.mean(scores))


def _gamma(model: Any, data: Data, seed: int) -> float:
    shares = ask(model, data.rows).outputs
    decided = np.asarray(shares.argmax(axis=1)[:, None] == np.arange(shares.shape[1]), float)
    return gamma_data(data.rows, decided, kind="onehot", seed=seed).mean


def _changed(
    proposal: Proposal, estimator: Any, before: Any, reference: Data, pool: Data, seed: int
) -> Any:
    """The model with the proposal carried out."""
    if proposal.kind == "label":
        assert proposal.rows is not None
        return refit(estimator, reference.joined(pool.take(proposal.rows)))
    if proposal.kind == "look":
        assert proposal.rows is not None
        kept = np.setdiff1d(np.arange(len(reference)), proposal.rows)
        return refit(estimator, reference.take(kept))
    if proposal.kind == "capacity":
        return refit(estimator, reference, **proposal.settings)
    radius = proposal.settings["radius"]
    assert isinstance(radius, float)
    return smoothed(before, reference=reference.rows, radius=radius, seed=seed)


def _region_done(
    proposal: Proposal,
    estimator: Any,
    reference: Data,
    fresh: Data,
    scoring: Scoring,
    seed: int,
) -> Done:
    """What as many further rows of the region as the reference has change in the region."""
    region = proposal.settings["region"]
    assert isinstance(region, WorstRegion)
    inside = np.flatnonzero(region.holds(fresh.rows))
    wanted = 0 if proposal.rows is None else len(proposal.rows)
    more, kept = inside[: min(wanted, len(inside) // 2)], inside[len(inside) // 2 :]
    if len(kept) < FEWEST:
        return Done(None)
    measured = fresh.take(kept)
    before, after = (
        _score(refit(estimator, rows), measured, scoring)
        for rows in (reference, reference.joined(fresh.take(more)))
    )
    others = fresh.take(np.setdiff1d(np.arange(len(fresh)), kept))
    random = _with_random_rows(estimator, reference, others, len(more), measured, scoring, seed)
    return Done(after - before, after - random)


def _share(changes: list[float | None]) -> str:
    """Of those that fresh rows can tell, how many are above 0, and how many they cannot tell."""
    known = [change for change in changes if change is not None]
    untold = len(changes) - len(known)
    share = Rate.of(sum(change > 0 for change in known), len(known))
    return f"{share}" + (f" ({untold} not told)" if untold else "")


def report(tried: list[Tried]) -> dict[str, bool]:
    """A line for each kind, and whether the bar is met; what cannot be told counts against it."""
    print(f"{'kind':10s}{'tried':>7s}{'said to help':>14s}{'did help':>38s}"
          f"{'more than random rows':>38s}{'not said, helped':>38s}")  # fmt: skip
    for kind in dict.fromkeys(line.kind for line in tried):
        of_kind = [line for line in tried if line.kind == kind]
        said = [line for line in of_kind if line.helps]
        others = [line.fresh for line in of_kind if not line.helps]
        over_random = [line.over_random for line in said]
        beside = _share(over_random) if kind in ("label", "region") else ""
        print(f"{kind:10s}{len(of_kind):7d}{len(said):14d}{_share([s.fresh for s in said]):>38s}"
              f"{beside:>38s}{_share(others):>38s}")  # fmt: skip
    said = [line for line in tried if line.helps]
    share = Rate.of(sum(line.fresh is not None and line.fresh > 0 for line in said), len(said))
    return {f"of proposals that say they help, 90% do ({share}, {len(said)})": share.value >= 0.9}
