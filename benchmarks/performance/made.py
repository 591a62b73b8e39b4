"""Made data, whose labels follow a law that is known: an oracle stands beside every estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from benchmarks.performance.cases import Case, Floats, make_case

Change = Literal["moves", "turns", "mixes", "none", "wanders"]
COUNT, WINDOW, WINDOWS = 6000, 500, 20


def _made(name: str, kind: str, seed: int, change: Change) -> Case:
    """Six columns of numbers, and labels that depend on four of them.

    Traffic "moves" along two columns; its labels' law "turns" to another column; it "mixes" two
    kinds of rows anew from its middle on; there is "none"; or the law "wanders" all the time, in
    the reference too.
    """
    random = np.random.default_rng(100 + seed)
    rows = 2 * COUNT + WINDOW * WINDOWS
    features = random.normal(size=(rows, 6))
    late = np.maximum(0, np.arange(rows) - 2 * COUNT) / (WINDOW * WINDOWS)
    turn = late if change == "turns" else 0 * late
    if change == "moves":
        features[:, 0] += 1.5 * late
        features[:, 1] *= 1 + late
    elif change == "mixes":
        second = random.uniform(size=rows) < np.where(late > 0.5, 0.7, 0.2)
        features[:, 5] = second
        features[second, 0] += 1.5
        features[second, 2] *= 2
    elif change == "wanders":
        steps = random.normal(size=rows // WINDOW + 1).cumsum()
        turn = np.repeat(0.25 + 0.2 * np.sin(steps / 2), WINDOW)[:rows]
    signal = features[:, 0] + np.sin(2 * features[:, 1]) + features[:, 2] * features[:, 3] / 2
    signal = (1 - turn) * signal + turn * features[:, 4]
    noise = 0.3 + 0.7 / (1 + np.exp(-2 * features[:, 0]))
    labels: NDArray[Any]
    if kind == "classes":
        labels = (signal + noise * random.logistic(size=rows) > 0).astype(np.int64)
    else:
        labels = signal + noise * random.normal(size=rows)
    order = np.arange(rows)
    parts = order[:COUNT], order[COUNT : 2 * COUNT], order[2 * COUNT :]
    listed = np.zeros(6, dtype=bool)
    names = tuple("abcdef")
    case = make_case(name, kind, features, labels, listed, names, parts, WINDOW, seed)
    sent = slice(2 * COUNT, rows)
    return case._replace(oracle=_oracle(case, signal[sent], noise[sent]))


def _oracle(case: Case, signal: Floats, noise: Floats) -> Floats:
    """What is truly to be expected of each row's label: P(class), or E|e| and E e²."""
    if case.kind == "classes":
        second = expit(signal / noise)
        return np.stack([1 - second, second], axis=1)
    miss = signal - case.traffic_outputs
    # The mean of a folded normal.
    density = np.sqrt(2 / np.pi) * noise * np.exp(-(miss**2) / (2 * noise**2))
    return np.stack([density + miss * (1 - 2 * ndtr(-miss / noise)), miss**2 + noise**2], axis=1)


def made_classes(folder: Path, rival: Path, seed: int) -> Case:
    """Inputs move to where a classifier errs more."""
    return _made("made_classes", "classes", seed, "moves")


def made_numbers(folder: Path, rival: Path, seed: int) -> Case:
    """Inputs move to where a regressor errs more."""
    return _made("made_numbers", "numbers", seed, "moves")


def turned_classes(folder: Path, rival: Path, seed: int) -> Case:
    """Labels come to depend on another column: nothing shows it without labels."""
    return _made("turned_classes", "classes", seed, "turns")


def turned_numbers(folder: Path, rival: Path, seed: int) -> Case:
    """The same for numbers."""
    return _made("turned_numbers", "numbers", seed, "turns")


def mixed_classes(folder: Path, rival: Path, seed: int) -> Case:
    """Two kinds of rows whose shares change midway."""
    return _made("mixed_classes", "classes", seed, "mixes")


def mixed_numbers(folder: Path, rival: Path, seed: int) -> Case:
    """The same for numbers."""
    return _made("mixed_numbers", "numbers", seed, "mixes")


def still_classes(folder: Path, rival: Path, seed: int) -> Case:
    """Nothing changes."""
    return _made("still_classes", "classes", seed, "none")


def still_numbers(folder: Path, rival: Path, seed: int) -> Case:
    """The same for numbers."""
    return _made("still_numbers", "numbers", seed, "none")


def wandering_classes(folder: Path, rival: Path, seed: int) -> Case:
    """The law of labels wanders, in the reference as in traffic."""
    return _made("wandering_classes", "classes", seed, "wanders")


def wandering_numbers(folder: Path, rival: Path, seed: int) -> Case:
    """The same for numbers."""
    return _made("wandering_numbers", "numbers", seed, "wanders")
