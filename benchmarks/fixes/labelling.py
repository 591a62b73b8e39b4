"""Labels that chosen rows save: curves of refits, against random rows and margin sampling.

`python -m benchmarks.fixes labelling --data FOLDER`. Every set is cut into a pool and test rows;
20 labels to begin with, then ten at a time are chosen by each rule, and a pipeline is fitted anew
to all labels so far. A rule's labels are those that its mean curve needs for the score that random
rows reach at the end; mean curves over seeds are made rising (isotonic), so that no lucky peak
counts. A rule that does not get there never does. Intervals are bootstrapped over seeds. Beside
them stands how much better scores are on average over all steps.
Bars: 30% fewer labels than random rows, and not more than margin sampling, on each of eight sets.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from anharmonic._core.protocols import Floats, Integers
from anharmonic.fixes.labelling import choose_to_label, uncertain_rows
from anharmonic.fixes.refitting import ask, refit
from anharmonic.fixes.rows import Data, take_rows
from benchmarks.fixes.kept import Kept
from benchmarks.fixes.sets import encoder, read_set

__all__ = ["RULES", "Curves", "measure_curves", "needed", "ratios", "report", "rising"]

START, BATCH, MOST = 20, 10, 200
POOL, TEST = 1500, 1000
RULES = ("random", "margin", "fix")
FAMILIES = ("logistic", "forest")
BOOTSTRAPS = 1000
LEVEL = 0.9
ROUNDING = 1e-12


class Curves(NamedTuple):
    """Test scores (seeds, steps) of each rule."""

    name: str
    family: str
    scores: dict[str, Floats]

    @property
    def labels(self) -> Integers:
        """The labels behind each step."""
        return START + BATCH * np.arange(self.scores["random"].shape[1])


def estimator(family: str, rows: Any, seed: int) -> Any:
    """An unfitted pipeline that takes the rows as they are."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if family == "logistic":
        return make_pipeline(encoder(rows), LogisticRegression(max_iter=300))
    return make_pipeline(encoder(rows), RandomForestClassifier(50, random_state=seed))


def measure_curves(sets: tuple[str, ...], seeds: int, data: Path, kept: Kept) -> list[Curves]:
    """Every rule from the same start, for each set, family and seed.

    Seeds come last, so that a run that is stopped has every set.
    """
    cases = [(name, family) for name in sets for family in FAMILIES]
    found: dict[tuple[str, str], list[dict[str, list[float]]]] = {case: [] for case in cases}
    for seed in range(seeds):
        for name in sets:
            for family in FAMILIES:
                case = f"labelling {name}, {family}, seed {seed}"
                curves = kept.measured(case, partial(_curves, name, family, seed, data))
                found[name, family].append(curves)
    return [
        Curves(name, family, {rule: np.array([each[rule] for each in every]) for rule in RULES})
        for (name, family), every in found.items()
    ]


def _curves(name: str, family: str, seed: int, data: Path) -> dict[str, list[float]]:
    """Test scores after each step, by rule."""
    whole = Data(*read_set(name, data))
    tested = min(TEST, len(whole) // 3)
    pool_size = min(POOL, len(whole) - tested)
    steps = 1 + (min(MOST, pool_size // 2) - START) // BATCH
    random = np.random.default_rng((seed, 7))
    order = random.permutation(len(whole))
    test = whole.take(order[:tested])
    pool = whole.take(order[tested : tested + pool_size])
    start = _start(pool, random)
    return {rule: _curve(rule, family, pool, test, start, steps, seed) for rule in RULES}


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


def rising(curve: Floats) -> Floats:
    """The curve that never falls and is nearest to a mean curve: labels do no harm, noise does."""
    return np.asarray(isotonic_regression(curve).x)


def needed(curve: Floats, labels: Integers, target: float) -> float:
    """Labels after which a rising curve has reached a score; infinite if it never does.

    >>> needed(np.array([0.5, 0.7, 0.7]), np.array([20, 30, 40]), 0.6)
    25.0
    """
    reached = np.flatnonzero(curve >= target - ROUNDING)
    if not len(reached):
        return math.inf
    step = int(reached[0])
    if step == 0:
        return float(labels[0])
    share = (target - curve[step - 1]) / (curve[step] - curve[step - 1])
    return float(labels[step - 1] + min(share, 1.0) * (labels[step] - labels[step - 1]))


class Ratios(NamedTuple):
    """Labels of chosen rows over those of random rows and of margin sampling; infinite where
    chosen rows never reach what random rows do in the end.
    """

    random: float
    margin: float


def ratios(curves: Curves, seeds: Integers) -> Ratios:
    """From the mean curves of some seeds. Margin sampling that never gets there counts as if it
    did with the last label.
    """
    means = {rule: rising(scores[seeds].mean(axis=0)) for rule, scores in curves.scores.items()}
    target = float(means["random"][-1])
    counts = {rule: needed(mean, curves.labels, target) for rule, mean in means.items()}
    last = float(curves.labels[-1])
    return Ratios(counts["fix"] / counts["random"], counts["fix"] / min(counts["margin"], last))


def _written(ratio: float) -> str:
    return f"{ratio:.2f}" if math.isfinite(ratio) else "never"


def _print_line(line: Curves, whole: Ratios, drawn: Floats) -> None:
    # Whole draws, as nothing lies between a number and never.
    ends = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0, method="inverted_cdf")
    means = {rule: scores.mean(axis=0) for rule, scores in line.scores.items()}
    lead = [float((means["fix"] - means[rule]).mean()) for rule in ("random", "margin")]
    shown = [
        f"{_written(whole[place])} [{_written(ends[0, place])}, {_written(ends[1, place])}]"
        for place in range(2)
    ]
    print(
        f"{line.name:16s}{line.family:10s}{means['random'][0]:7.3f}{means['random'][-1]:7.3f}"
        f"{shown[0]:>22s}{shown[1]:>22s}{lead[0]:+9.3f}{lead[1]:+9.3f}",
        flush=True,
    )


def report(curves: list[Curves]) -> dict[str, bool]:
    """A line for each set and family, and whether bars are met."""
    random = np.random.default_rng(0)
    print(
        f"{'set':16s}{'model':10s}{'start':>7s}{'end':>7s}{'labels/random [90%]':>22s}"
        f"{'labels/margin [90%]':>22s}{'-random':>9s}{'-margin':>9s}"
    )
    by_set: dict[str, list[Ratios]] = {}
    for line in curves:
        count = len(line.scores["random"])
        whole = ratios(line, np.arange(count))
        drawn = np.array(
            [ratios(line, random.integers(0, count, count)) for _ in range(BOOTSTRAPS)]
        )
        _print_line(line, whole, drawn)
        by_set.setdefault(line.name, []).append(whole)
    every = [each for found in by_set.values() for each in found]
    reached = [each for each in every if math.isfinite(each.random)]
    if reached:
        middle = np.exp(np.mean(np.log(np.array(reached)), axis=0))
        print(f"geometric mean: {middle[0]:.2f} of random's labels, {middle[1]:.2f} of margin "
              f"sampling's, where they got there ({len(reached)} of {len(every)})")  # fmt: skip
    fewer = [name for name, found in by_set.items() if np.mean([r.random for r in found]) <= 0.7]
    not_more = [name for name, found in by_set.items() if np.mean([r.margin for r in found]) <= 1]
    return {
        f"30% fewer labels than random, each set ({len(fewer)} of {len(by_set)})": len(fewer)
        == len(by_set),
        f"not more than margin sampling, each set ({len(not_more)} of {len(by_set)})": len(not_more)
        == len(by_set),
    }
