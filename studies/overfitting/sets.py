"""Twelve data sets in two halves: one to choose a recommendation on, one to test it on.

The halves were fixed before anything was measured: each has three classifications and three
regressions, real and made, with few features and with many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from studies.streams import OverfittingStream

__all__ = ["CHOSEN_ON", "SETS", "TESTED_ON", "Split", "Task", "split"]

Task = Literal["classification", "regression"]
LABEL_NOISE = 0.1
"""The share of labels dealt out at random; without noise there is little to overfit to."""
MADE, MOST_TRAINED, MOST_TESTED = 1300, 400, 1000


class Source(NamedTuple):
    """A function of sklearn.datasets, what it is called with, and what is asked of it."""

    task: Task
    function: str
    arguments: Mapping[str, Any] = {}
    target: int | None = None
    """A column to predict from the first ten, in place of the set's own answers."""


SETS: dict[str, Source] = {
    "wine": Source("classification", "load_wine"),
    "digits": Source("classification", "load_digits"),
    "Hastie's": Source("classification", "make_hastie_10_2"),
    "diabetes": Source("regression", "load_diabetes"),
    "Friedman 1": Source("regression", "make_friedman1", {"noise": 1.0}),
    "Friedman 3": Source("regression", "make_friedman3", {"noise": 0.1}),
    "breast cancer": Source("classification", "load_breast_cancer"),
    "iris": Source("classification", "load_iris"),
    "forty features": Source(
        "classification",
        "make_classification",
        {"n_features": 40, "n_informative": 8, "n_classes": 3},
    ),
    "Friedman 2": Source("regression", "make_friedman2", {"noise": 125.0}),
    "sparse": Source("regression", "make_sparse_uncorrelated", {"n_features": 20}),
    "cell smoothness": Source("regression", "load_breast_cancer", target=24),
}
CHOSEN_ON, TESTED_ON = tuple(SETS)[:6], tuple(SETS)[6:]


class Split(NamedTuple):
    """One data set cut into points to train on and points to test on."""

    task: Task
    train: Floats
    train_answers: Any
    test: Floats
    test_answers: Any


def split(name: str, seed: int, noise: float = LABEL_NOISE) -> Split:
    """A data set with its noise, half of it (at most 400 points) to train on."""
    from sklearn.model_selection import train_test_split

    points, answers = _loaded(SETS[name], seed)
    if SETS[name].task == "classification":
        random = generator(seed, OverfittingStream.NOISY_LABELS)
        noisy = random.random(len(answers)) < noise
        answers = np.where(noisy, random.permutation(answers), answers)
    trained = min(MOST_TRAINED, len(points) // 2)
    tested = min(MOST_TESTED, len(points) - trained)
    train, test, train_answers, test_answers = train_test_split(
        points, answers, train_size=trained, test_size=tested, random_state=seed
    )
    return Split(SETS[name].task, train, train_answers, test, test_answers)


def _loaded(source: Source, seed: int) -> tuple[Any, Any]:
    from sklearn import datasets

    function = getattr(datasets, source.function)
    if source.function.startswith("make"):
        points, answers = function(n_samples=MADE, random_state=seed, **source.arguments)
    else:
        points, answers = function(return_X_y=True)
    if source.target is None:
        return points, answers
    return points[:, :10], points[:, source.target]
