"""How often wrong labels could be found at all, by one who knew every row's true chances.

    python -m benchmarks.audit.bound --data FOLDER [--sets NAME …] [--draws 200]

Per set the true chances are taken to be the cross-validated, calibrated answers of the best
well-fit model. Labels are drawn from them, a tenth is changed as in `faults`, and the exact
likelihood ratio of "a share of the labels was changed" is tested: by one who knows the chances of
every row of the reference, and by one who knows nothing but how many errors that model makes at
the reference and at new rows whose labels are right. Both at the part of the page's rate of false
findings that a check gets. No check that has to learn the chances can do better than the first; no
comparison of errors at both sides can do better than the second.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.model_selection import cross_val_predict

from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Rate
from benchmarks.audit.faults import FLIPPED
from benchmarks.audit.models import pipeline, well_fit
from benchmarks.audit.sets import SETS, Split, split

RATE, CHECKS = 0.05, 12
"""The page's rate of false findings, and the checks that share it where labels are given."""
SHARES = np.arange(0.0, 0.31, 0.01)


def chances(parts: Split, seed: int) -> tuple[Floats, Floats]:
    """Of every class at the rows of the reference and at new rows, (rows, classes) each."""
    best, least = None, np.inf
    classes = np.unique(parts.reference_labels)
    codes = np.searchsorted(classes, parts.reference_labels)
    rows = np.arange(len(codes))
    for model in well_fit(parts.task, seed).values():
        made = pipeline(parts.reference, model)
        given = cross_val_predict(made, parts.reference, codes, cv=5, method="predict_proba")
        loss = -np.log(np.clip(given[rows, codes], 1e-6, 1)).mean()
        if loss < least:
            best, least = (made, given), loss
    assert best is not None
    made, given = best
    return given, made.fit(parts.reference, codes).predict_proba(parts.new)


def drawn(given: Floats, random: np.random.Generator) -> NDArray[np.int64]:
    """A label per row."""
    steps = given.cumsum(axis=1)
    labels: NDArray[np.int64] = (random.random(len(given))[:, None] * steps[:, -1:] > steps).sum(1)
    return labels


def changed(labels: NDArray[np.int64], classes: int, random: np.random.Generator) -> Any:
    """A tenth of the labels in another class."""
    wrong = random.random(len(labels)) < FLIPPED
    step = random.integers(1, classes, len(labels))
    return np.where(wrong, (labels + step) % classes, labels)


def knows_chances(given: Floats, labels: NDArray[np.int64]) -> float:
    """The p-value of the likelihood ratio: a half of χ² of one degree, ε being 0 at its edge."""
    # Calibrated chances may be 0 where no row said otherwise.
    likely = np.clip(given[np.arange(len(labels)), labels], 1e-6, 1 - 1e-6)
    others = given.shape[1] - 1
    fits = [np.log((1 - share) * likely + share * (1 - likely) / others).sum() for share in SHARES]
    ahead = 2 * (max(fits) - fits[0])
    return 0.5 * float(stats.chi2.sf(ahead, 1)) if ahead > 0 else 1.0


def compares_errors(own: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """The p-value of more errors at the reference than at new rows."""
    variance = own.var() / len(own) + other.var() / len(other)
    return float(stats.norm.sf((own.mean() - other.mean()) / np.sqrt(variance or 1.0)))


def main() -> None:
    """A line per set."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("| set | rows | best model errs | knows every chance | compares errors with new rows |")
    print("|---|---:|---:|---:|---:|")
    for name in asked.sets:
        parts = split(name, asked.seed, asked.data)
        if parts.task != "classes":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given, new = chances(parts, asked.seed)
        random = np.random.default_rng([asked.seed, 11])
        found = np.zeros((asked.draws, 2), dtype=bool)
        for draw in range(asked.draws):
            labels = changed(drawn(given, random), given.shape[1], random)
            fresh = drawn(new, random)
            chance = (
                knows_chances(given, labels),
                compares_errors(given.argmax(1) != labels, new.argmax(1) != fresh),
            )
            found[draw] = np.array(chance) <= RATE / CHECKS
        errs = 1 - float(given.max(axis=1).mean())
        told = [str(Rate.of(int(hits.sum()), asked.draws)) for hits in found.T]
        print(f"| {name} | {len(given):,} | {errs:.3f} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
