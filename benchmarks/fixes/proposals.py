"""Proposals that say they help, tried on rows that had no part in them.

`python -m benchmarks.fixes proposals --data FOLDER`. Each set is cut into a reference, a pool and
fresh rows; `fix` sees the first two alone. What it proposes is then done, and the model before and
after is scored at the fresh rows. Half of the references have a sixth of their labels changed.
Bar: of proposals that say they help, 90% do.
"""

from __future__ import annotations

import json
import warnings
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
from benchmarks.fixes.sets import encoder, read_set
from studies.over_data.sets import with_flips

__all__ = ["Tried", "measure_proposals", "report"]

REFERENCE, POOL, FRESH, STEADY = 600, 300, 3000, 300
NOISE = (0.0, 1 / 6)
TOLERANCE = 0.01


class Tried(NamedTuple):
    """A proposal of one case, and what it changed at fresh rows, in the unit it was measured in."""

    case: str
    kind: str
    helps: bool
    measured: float
    fresh: float


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


def measure_proposals(
    sets: tuple[str, ...], seeds: int, data: Path, kept: Path | None = None
) -> list[Tried]:
    """All sets, families and shares of wrong labels; a set that is too small is left out.

    Seeds come last, so that a run that is stopped has every set. Cases in the file `kept`, one per
    line, are not measured again.
    """
    lines = kept.read_text().splitlines() if kept is not None and kept.exists() else []
    held = {case: [Tried(*each) for each in tried] for case, tried in map(json.loads, lines)}
    for seed in range(seeds):
        for name in sets:
            whole = Data(*read_set(name, data))
            if len(whole) < 2 * POOL:
                continue
            for noise in NOISE:
                for family in _estimators(whole.rows, seed):
                    case = f"{name}, {family}, {noise:.0%} wrong labels, seed {seed}"
                    if case in held:
                        continue
                    held[case] = _tried(
                        case, whole, _estimators(whole.rows, seed)[family], noise, seed
                    )
                    if kept is not None:
                        with kept.open("a") as file:
                            file.write(json.dumps([case, held[case]]) + "\n")
    return [line for tried in held.values() for line in tried]


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
                float("nan") if proposal.gain is None else proposal.gain.interval.value,
                _gain(proposal, estimator, before, reference, pool, fresh, scoring, seed),
            )
            for proposal in fixes.tried
            # Unproposed ones are counted, and only followed where that is cheap.
            if proposal.helps or proposal.kind != "smooth"
        ]
    for line in lines:
        verdict = "helps" if line.helps else "not shown"
        print(f"{line.case}: {line.kind} {verdict}, {line.measured:+.3f} held out, "
              f"{line.fresh:+.3f} fresh", flush=True)  # fmt: skip
    return lines


def _gain(
    proposal: Proposal,
    estimator: Any,
    before: Any,
    reference: Data,
    pool: Data,
    fresh: Data,
    scoring: Scoring,
    seed: int,
) -> float:
    """What doing it changes at fresh rows; NaN where these cannot tell."""
    if proposal.kind == "region":
        return _region_gain(proposal, estimator, reference, pool, fresh, scoring)
    after = _changed(proposal, estimator, before, reference, pool, seed)
    scores = [
        float(scoring.row_scores(ask(model, fresh.rows), fresh.labels).mean())
        for model in (before, after)
    ]
    if not proposal.unit.startswith("less "):
        return scores[1] - scores[0]
    if scores[1] - scores[0] < -TOLERANCE:
        # It gave up more than it said.
        return scores[1] - scores[0]
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
    return steady[0] - steady[1]


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


def _region_gain(
    proposal: Proposal, estimator: Any, reference: Data, pool: Data, fresh: Data, scoring: Scoring
) -> float:
    """What as many further rows of the region as the reference has change in the region."""
    region = proposal.settings["region"]
    assert isinstance(region, WorstRegion)
    inside = np.flatnonzero(region.holds(fresh.rows))
    wanted = 0 if proposal.rows is None else len(proposal.rows)
    more, kept = inside[: min(wanted, len(inside) // 2)], inside[len(inside) // 2 :]
    if len(kept) < 20:
        return float("nan")
    added = reference.joined(fresh.take(more))
    measured = fresh.take(kept)
    scores = [
        float(
            scoring.row_scores(ask(refit(estimator, rows), measured.rows), measured.labels).mean()
        )
        for rows in (reference, added)
    ]
    return scores[1] - scores[0]


def report(tried: list[Tried]) -> dict[str, bool]:
    """A line for each kind, and whether the bar is met."""
    print(
        f"{'kind':10s}{'tried':>7s}{'said to help':>14s}{'did help':>25s}{'not said, helped':>25s}"
    )
    for kind in dict.fromkeys(line.kind for line in tried):
        of_kind = [line for line in tried if line.kind == kind and np.isfinite(line.fresh)]
        said = [line for line in of_kind if line.helps]
        others = [line for line in of_kind if not line.helps]
        did = Rate.of(sum(line.fresh > 0 for line in said), len(said))
        quiet = Rate.of(sum(line.fresh > 0 for line in others), len(others))
        print(f"{kind:10s}{len(of_kind):7d}{len(said):14d}{did!s:>25s}{quiet!s:>25s}")
    said = [line for line in tried if line.helps and np.isfinite(line.fresh)]
    share = Rate.of(sum(line.fresh > 0 for line in said), len(said))
    return {f"of proposals that say they help, 90% do ({share}, {len(said)})": share.value >= 0.9}
