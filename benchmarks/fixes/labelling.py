"""Labels that chosen rows save: curves of refits, against random rows and margin sampling.

`python -m benchmarks.fixes labelling --data FOLDER`. Every set is cut into a pool and test rows;
20 labels to begin with, then ten at a time are chosen by each rule, and a pipeline is fitted anew
to all labels so far. A rule's labels are those that its mean curve needs for the score that random
rows reach at the end. Intervals are bootstrapped over seeds.
Bars: 30% fewer labels than random rows, and not more than margin sampling, on each of eight sets.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.fixes.labelling import choose_to_label, uncertain_rows
from anharmonic.fixes.refitting import ask, refit
from anharmonic.fixes.rows import Data, take_rows
from benchmarks.fixes.sets import encoder, read_set

__all__ = ["RULES", "Curves", "measure_curves", "needed", "report"]

START, BATCH, MOST = 20, 10, 200
POOL, TEST = 1500, 1000
RULES = ("random", "margin", "fix")
FAMILIES = ("logistic", "forest")
BOOTSTRAPS = 1000
LEVEL = 0.9


class Curves(NamedTuple):
    """Test scores (seeds, steps) of each rule, and the labels behind each step."""

    name: str
    family: str
    labels: Integers
    scores: dict[str, Floats]


def estimator(family: str, rows: Any, seed: int) -> Any:
    """An unfitted pipeline that takes the rows as they are."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if family == "logistic":
        return make_pipeline(encoder(rows), LogisticRegression(max_iter=300))
    return make_pipeline(encoder(rows), RandomForestClassifier(50, random_state=seed))


def measure_curves(name: str, family: str, seeds: int, data: Path) -> Curves:
    """Every rule from the same start, for each seed."""
    whole = Data(*read_set(name, data))
    tested = min(TEST, len(whole) // 3)
    pool_size = min(POOL, len(whole) - tested)
    steps = 1 + (min(MOST, pool_size // 2) - START) // BATCH
    scores: dict[str, list[list[float]]] = {rule: [] for rule in RULES}
    for seed in range(seeds):
        random = np.random.default_rng((seed, 7))
        order = random.permutation(len(whole))
        test = whole.take(order[:tested])
        pool = whole.take(order[tested : tested + pool_size])
        start = _start(pool, random)
        for rule in RULES:
            scores[rule].append(_curve(rule, family, pool, test, start, steps, seed))
    labels = START + BATCH * np.arange(steps)
    return Curves(name, family, labels, {rule: np.array(made) for rule, made in scores.items()})


def _start(pool: Data, random: np.random.Generator) -> Integers:
    """Rows at random that have two classes at least."""
    while True:
        start = random.choice(len(pool), START, replace=False)
        if len(set(pool.labels[start].tolist())) > 1:
            return np.asarray(start)


def _curve(
    rule: str, family: str, pool: Data, test: Data, start: Integers, steps: int, seed: int
) -> list[float]:
    random = np.random.default_rng((seed, 11))
    labelled = start
    scores = []
    for step in range(steps):
        known = pool.take(labelled)
        model = refit(estimator(family, pool.rows, seed), known)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores.append(float(model.score(test.rows, test.labels)))
            if step + 1 == steps:
                break
            rest = np.setdiff1d(np.arange(len(pool)), labelled)
            chosen = _choose(rule, model, take_rows(pool.rows, rest), known, seed, random)
        labelled = np.concatenate([labelled, rest[chosen]])
    return scores


def _choose(
    rule: str, model: Any, rows: Any, known: Data, seed: int, random: np.random.Generator
) -> Integers:
    if rule == "random":
        return np.asarray(random.choice(len(rows), BATCH, replace=False))
    uncertain = uncertain_rows(ask(model, rows), rows, known, seed)
    if rule == "margin":
        return np.argsort(-uncertain.values, kind="stable")[:BATCH]
    return choose_to_label(uncertain, BATCH, seed)


def needed(curve: Floats, labels: Integers, target: float) -> float:
    """Labels after which a curve has reached a score; past the end if it never does."""
    best = np.maximum.accumulate(curve)
    if best[-1] < target:
        return float(labels[-1] + BATCH)
    step = int(np.argmax(best >= target))
    if step == 0:
        return float(labels[0])
    share = (target - best[step - 1]) / (best[step] - best[step - 1])
    return float(labels[step - 1] + share * BATCH)


def _ratios(curves: Curves, seeds: Integers) -> tuple[float, float]:
    """Labels of chosen rows over those of random rows and of margin sampling."""
    means = {rule: scores[seeds].mean(axis=0) for rule, scores in curves.scores.items()}
    target = float(means["random"][-1])
    counts = {rule: needed(mean, curves.labels, target) for rule, mean in means.items()}
    return counts["fix"] / counts["random"], counts["fix"] / counts["margin"]


def report(curves: list[Curves]) -> dict[str, bool]:
    """A line for each set and family, and whether bars are met."""
    random = np.random.default_rng(0)
    print(
        f"{'set':16s}{'model':10s}{'start':>7s}{'end':>7s}   "
        "labels/random [90%]      labels/margin [90%]"
    )
    saved: dict[str, list[float]] = {}
    against: dict[str, list[float]] = {}
    for line in curves:
        count = len(line.scores["random"])
        every = np.arange(count)
        drawn = np.array(
            [_ratios(line, random.integers(0, count, count)) for _ in range(BOOTSTRAPS)]
        )
        over_random, over_margin = _ratios(line, every)
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        first, last = (float(line.scores["random"][:, step].mean()) for step in (0, -1))
        print(
            f"{line.name:16s}{line.family:10s}{first:7.3f}{last:7.3f}   "
            f"{over_random:.2f} [{low[0]:.2f}, {high[0]:.2f}]       "
            f"{over_margin:.2f} [{low[1]:.2f}, {high[1]:.2f}]"
        )
        saved.setdefault(line.name, []).append(over_random)
        against.setdefault(line.name, []).append(over_margin)
    fewer = [name for name, ratios in saved.items() if np.mean(ratios) <= 0.7]
    not_more = [name for name, ratios in against.items() if np.mean(ratios) <= 1.0]
    overall = float(
        np.exp(np.mean(np.log([ratio for ratios in saved.values() for ratio in ratios])))
    )
    margin = float(
        np.exp(np.mean(np.log([ratio for ratios in against.values() for ratio in ratios])))
    )
    print(f"geometric mean: {overall:.2f} of random's labels, {margin:.2f} of margin sampling's")
    return {
        f"30% fewer labels than random, each set ({len(fewer)} of {len(saved)})": len(fewer)
        == len(saved),
        f"not more than margin sampling, each set ({len(not_more)} of {len(against)})": len(
            not_more
        )
        == len(against),
    }
