"""Tables of the data folder: streams in the order of time, or with a shift along a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.performance.cases import Case, Floats, Mask, drifting, make_case, matrix, table


def electricity(folder: Path, rival: Path, seed: int) -> Case:
    """Half-hourly prices, up or down: in the order of time, known to drift."""
    frame = table(folder / "electricity.csv")
    features, listed = matrix(frame.drop(columns="class"))
    labels = frame["class"].to_numpy(dtype=np.int64)
    first = 1500 * seed
    rows = np.arange(len(frame))
    parts = rows[first : first + 9000], rows[first + 9000 : first + 18000], rows[first + 18000 :]
    names = tuple(frame.columns[:-1])
    return make_case("electricity", "classes", features, labels, listed, names, parts, 1000, seed)


def beijing_air(folder: Path, rival: Path, seed: int) -> Case:
    """Hourly pollution, in the order of time: a year to train on, a year to refer to."""
    frame = table(folder / "tables" / "beijing_air.csv").dropna(subset=["pm2.5"])
    features, listed = matrix(frame.drop(columns=["No", "year", "pm2.5"]))
    names = tuple(frame.drop(columns=["No", "year", "pm2.5"]).columns)
    labels = frame["pm2.5"].to_numpy(dtype=np.float64)
    first = 400 * seed
    rows = np.arange(len(frame))
    parts = rows[first : first + 8000], rows[first + 8000 : first + 16000], rows[first + 16000 :]
    return make_case("beijing_air", "numbers", features, labels, listed, names, parts, 400, seed)


def _adult(folder: Path) -> tuple[Any, Floats, NDArray[Any], Mask, tuple[str, ...]]:
    frame = table(folder / "tables" / "adult.csv")
    inputs = frame.drop(columns="income")
    features, listed = matrix(inputs)
    labels = frame["income"].str.contains(">50K").to_numpy().astype(np.int64)
    return frame, features, labels, listed, tuple(inputs.columns)


def adult_age(folder: Path, rival: Path, seed: int) -> Case:
    """Income: fitted and referred to below 40 years of age, traffic grows older."""
    frame, features, labels, listed, names = _adult(folder)
    age = frame["age"].to_numpy(dtype=np.float64)
    random = np.random.default_rng(seed)
    parts = drifting(age < 40, age + random.normal(0, 5, len(age)), seed)
    return make_case("adult_age", "classes", features, labels, listed, names, parts, 500, seed)


def adult_work(folder: Path, rival: Path, seed: int) -> Case:
    """Income: private employment to begin with, more and more of all other kinds in traffic."""
    frame, features, labels, listed, names = _adult(folder)
    private = (frame["workclass"].str.strip() == "Private").to_numpy()
    random = np.random.default_rng(seed)
    order = np.where(private, 0.0, 0.35) + random.random(len(private))
    parts = drifting(private, order, seed)
    return make_case("adult_work", "classes", features, labels, listed, names, parts, 500, seed)


def abalone(folder: Path, rival: Path, seed: int) -> Case:
    """Rings of sea snails: fitted on the smaller ones, traffic grows."""
    frame = table(folder / "tables" / "abalone.csv")
    inputs = frame.drop(columns="rings")
    features, listed = matrix(inputs)
    length = frame["length"].to_numpy()
    random = np.random.default_rng(seed)
    parts = drifting(
        length + random.normal(0, 0.05, len(length)) < 0.58,
        length + random.normal(0, 0.06, len(length)),
        seed,
    )
    labels = frame["rings"].to_numpy(dtype=np.float64)
    return make_case(
        "abalone", "numbers", features, labels, listed, tuple(inputs.columns), parts, 200, seed
    )
