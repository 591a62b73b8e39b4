"""The tables, models and windows that label-free estimates are held against.

Each source trains a model on one part, has a labelled reference from the next, and traffic in
windows after that. Two groups: the method was chosen on one, the other was looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Case(NamedTuple):
    """A reference and traffic: outputs, labels and features of both, and rows per window.

    `traffic_*` are whole windows one after the other; `blind` says that labels follow another law
    in traffic, which nobody can see without labels.
    """

    name: str
    kind: str
    outputs: Floats
    labels: NDArray[Any]
    features: Floats
    traffic_outputs: Floats
    traffic_labels: NDArray[Any]
    traffic_features: Floats
    categories: Mask
    columns: tuple[str, ...]
    window: int
    blind: bool = False


class Source(NamedTuple):
    """How a case is made of a folder of data, NannyML's folder and a seed; its group."""

    make: Callable[[Path, Path, int], Case]
    chosen_on: bool


@lru_cache(maxsize=16)
def _table(path: Path) -> Any:
    import pandas as pd

    if path.suffix == ".pq":
        return pd.read_parquet(path)
    return pd.read_csv(path, na_values=["?", " ?"])


def _matrix(frame: Any) -> tuple[Floats, Mask]:
    """Columns as numbers, categories as codes with NaN where missing."""
    import pandas as pd

    columns, listed = [], []
    for name in frame.columns:
        numeric = pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool
        listed.append(not numeric)
        if numeric:
            columns.append(frame[name].to_numpy(dtype=np.float64))
        else:
            codes = pd.Categorical(frame[name].astype("object")).codes.astype(np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
    return np.stack(columns, axis=1), np.array(listed)


def _fit(kind: str, features: Floats, labels: NDArray[Any], listed: Mask, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    made = HistGradientBoostingClassifier if kind == "classes" else HistGradientBoostingRegressor
    model = made(categorical_features=listed, max_iter=100, random_state=seed)
    return model.fit(features, labels)


def _case(
    name: str,
    kind: str,
    features: Floats,
    labels: NDArray[Any],
    listed: Mask,
    columns: tuple[str, ...],
    parts: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    window: int,
    seed: int,
    blind: bool = False,
) -> Case:
    """Train on the first part's rows, refer to the second's, send the third's."""
    train, reference, traffic = parts
    traffic = traffic[: len(traffic) // window * window]
    model = _fit(kind, features[train], labels[train], listed, seed)
    answer = model.predict_proba if kind == "classes" else model.predict
    return Case(
        name,
        kind,
        np.asarray(answer(features[reference])),
        labels[reference],
        features[reference],
        np.asarray(answer(features[traffic])),
        labels[traffic],
        features[traffic],
        listed,
        columns,
        window,
        blind,
    )


def electricity(folder: Path, rival: Path, seed: int) -> Case:
    """Half-hourly prices, up or down: in the order of time, known to drift."""
    frame = _table(folder / "electricity.csv")
    features, listed = _matrix(frame.drop(columns="class"))
    labels = frame["class"].to_numpy(dtype=np.int64)
    first = 1500 * seed
    rows = np.arange(len(frame))
    parts = rows[first : first + 9000], rows[first + 9000 : first + 18000], rows[first + 18000 :]
    names = tuple(frame.columns[:-1])
    return _case("electricity", "classes", features, labels, listed, names, parts, 1000, seed)


def beijing_air(folder: Path, rival: Path, seed: int) -> Case:
    """Hourly pollution, in the order of time: a year to train on, a year to refer to."""
    frame = _table(folder / "tables" / "beijing_air.csv").dropna(subset=["pm2.5"])
    features, listed = _matrix(frame.drop(columns=["No", "year", "pm2.5"]))
    names = tuple(frame.drop(columns=["No", "year", "pm2.5"]).columns)
    labels = frame["pm2.5"].to_numpy(dtype=np.float64)
    first = 400 * seed
    rows = np.arange(len(frame))
    parts = rows[first : first + 8000], rows[first + 8000 : first + 16000], rows[first + 16000 :]
    return _case("beijing_air", "numbers", features, labels, listed, names, parts, 400, seed)


def _adult(folder: Path) -> tuple[Any, Floats, NDArray[Any], Mask, tuple[str, ...]]:
    frame = _table(folder / "tables" / "adult.csv")
    inputs = frame.drop(columns="income")
    features, listed = _matrix(inputs)
    labels = frame["income"].str.contains(">50K").to_numpy().astype(np.int64)
    return frame, features, labels, listed, tuple(inputs.columns)


def _drifting(inside: Mask, order: Floats, seed: int) -> tuple[Any, Any, Any]:
    """Two thirds of the rows inside for training and reference; traffic sorted by `order`."""
    random = np.random.default_rng(seed)
    rows = random.permutation(np.flatnonzero(inside))
    train, reference, rest = np.split(rows, [int(0.4 * len(rows)), int(0.8 * len(rows))])
    traffic = np.concatenate([rest, np.flatnonzero(~inside)])
    return train, reference, traffic[np.argsort(order[traffic], kind="stable")]


def adult_age(folder: Path, rival: Path, seed: int) -> Case:
    """Income: fitted and referred to below 40 years of age, traffic grows older."""
    frame, features, labels, listed, names = _adult(folder)
    age = frame["age"].to_numpy(dtype=np.float64)
    random = np.random.default_rng(seed)
    parts = _drifting(age < 40, age + random.normal(0, 5, len(age)), seed)
    return _case("adult_age", "classes", features, labels, listed, names, parts, 500, seed)


def adult_work(folder: Path, rival: Path, seed: int) -> Case:
    """Income: private employment to begin with, more and more of all other kinds in traffic."""
    frame, features, labels, listed, names = _adult(folder)
    private = (frame["workclass"].str.strip() == "Private").to_numpy()
    random = np.random.default_rng(seed)
    order = np.where(private, 0.0, 0.35) + random.random(len(private))
    parts = _drifting(private, order, seed)
    return _case("adult_work", "classes", features, labels, listed, names, parts, 500, seed)


def _bundled(
    name: str,
    kind: str,
    reference: Any,
    analysis: Any,
    columns: list[str],
    target: str,
    outputs: list[str],
    window: int,
    seed: int,
) -> Case:
    """A data set that comes with a model's outputs; each seed refers to another two thirds."""
    import pandas as pd

    rows = np.sort(
        np.random.default_rng(seed).permutation(len(reference))[: len(reference) * 2 // 3]
    )
    reference = reference.iloc[rows]
    analysis = analysis.iloc[: len(analysis) // window * window]
    both = pd.concat([reference[columns], analysis[columns]])
    features, listed = _matrix(both)
    count = len(reference)
    labels = np.concatenate([reference[target].to_numpy(), analysis[target].to_numpy()])
    if kind == "classes":
        labels = np.unique(labels, return_inverse=True)[1]
    given = np.concatenate([reference[outputs].to_numpy(), analysis[outputs].to_numpy()])
    given = given.astype(np.float64)
    if kind == "numbers":
        given = given[:, 0]
    elif given.shape[1] == 1:
        given = np.concatenate([1 - given, given], axis=1)
    return Case(
        name,
        kind,
        given[:count],
        labels[:count],
        features[:count],
        given[count:],
        labels[count:],
        features[count:],
        listed,
        tuple(columns),
        window,
    )


def car_loan(folder: Path, rival: Path, seed: int) -> Case:
    """NannyML's made loans: whether one is repaid; the mix of customers changes midway."""
    reference = _table(rival / "synthetic_car_loan_reference.csv")
    analysis = _table(rival / "synthetic_car_loan_analysis.csv").merge(
        _table(rival / "synthetic_car_loan_analysis_target.csv"), on="id"
    )
    columns = list(reference.columns[1:8])
    arguments = ("repaid", ["y_pred_proba"], 2500, seed)
    return _bundled("car_loan", "classes", reference, analysis, columns, *arguments)


def car_price(folder: Path, rival: Path, seed: int) -> Case:
    """NannyML's made car prices."""
    reference = _table(rival / "regression_synthetic_reference.csv")
    analysis = _table(rival / "regression_synthetic_analysis.csv")
    truth = _table(rival / "regression_synthetic_analysis_targets.csv")
    key = "id" if "id" in truth.columns else None
    analysis = analysis.merge(truth, on=key) if key else analysis.join(truth[["y_true"]])
    columns = list(reference.columns[1:8])
    arguments = ("y_true", ["y_pred"], 2500, seed)
    return _bundled("car_price", "numbers", reference, analysis, columns, *arguments)


def cards(folder: Path, rival: Path, seed: int) -> Case:
    """NannyML's made credit cards, three classes."""
    reference = _table(rival / "mc_reference.csv")
    analysis = _table(rival / "mc_analysis.csv").merge(
        _table(rival / "mc_analysis_gt.csv"), on="id"
    )
    columns = list(reference.columns[1:8])
    outputs = [
        f"y_pred_proba_{card}" for card in ("highstreet_card", "prepaid_card", "upmarket_card")
    ]
    return _bundled("cards", "classes", reference, analysis, columns, "y_true", outputs, 2500, seed)


def employment(folder: Path, rival: Path, seed: int) -> Case:
    """Work in Massachusetts, a census of several years: NannyML's copy, its first 60,000 rows."""
    reference = _table(rival / "employment_MA_reference.pq").iloc[:30000]
    analysis = _table(rival / "employment_MA_analysis.pq")
    truth = _table(rival / "employment_MA_analysis_target.pq")
    analysis = analysis.merge(truth, on="id") if "employed" not in analysis.columns else analysis
    analysis = analysis.iloc[:: len(analysis) // 50000]
    columns = list(reference.columns[1:17])
    arguments = ("employed", ["predicted_probability"], 2500, seed)
    return _bundled("employment", "classes", reference, analysis, columns, *arguments)


def housing(folder: Path, rival: Path, seed: int) -> Case:
    """Houses in California, dear or not, as NannyML ships them."""
    reference = _table(rival / "california_housing_reference.csv")
    analysis = _table(rival / "california_housing_analysis.csv").merge(
        _table(rival / "california_housing_analysis_gt.csv"), on="id"
    )
    columns = list(reference.columns[1:9])
    arguments = ("clf_target", ["y_pred_proba"], 500, seed)
    return _bundled("housing", "classes", reference, analysis, columns, *arguments)


def abalone(folder: Path, rival: Path, seed: int) -> Case:
    """Rings of sea snails: fitted on the smaller ones, traffic grows."""
    frame = _table(folder / "tables" / "abalone.csv")
    inputs = frame.drop(columns="rings")
    features, listed = _matrix(inputs)
    length = frame["length"].to_numpy()
    random = np.random.default_rng(seed)
    parts = _drifting(
        length + random.normal(0, 0.05, len(length)) < 0.58,
        length + random.normal(0, 0.06, len(length)),
        seed,
    )
    labels = frame["rings"].to_numpy(dtype=np.float64)
    return _case(
        "abalone", "numbers", features, labels, listed, tuple(inputs.columns), parts, 200, seed
    )


def _made(name: str, kind: str, seed: int, *, blind: bool) -> Case:
    """Six columns; traffic moves along two of them, or the law of the labels changes."""
    random = np.random.default_rng(100 + seed)
    count, window, windows = 6000, 500, 20
    features = random.normal(size=(2 * count + window * windows, 6))
    late = np.maximum(0, np.arange(len(features)) - 2 * count) / (window * windows)
    if not blind:
        features[:, 0] += 1.5 * late
        features[:, 1] *= 1 + late
    turn = late if blind else 0 * late
    signal = features[:, 0] + np.sin(2 * features[:, 1]) + features[:, 2] * features[:, 3] / 2
    signal = (1 - turn) * signal + turn * features[:, 4]
    noise = 0.3 + 0.7 / (1 + np.exp(-2 * features[:, 0]))
    labels: NDArray[Any]
    if kind == "classes":
        labels = (signal + noise * random.logistic(size=len(signal)) > 0).astype(np.int64)
    else:
        labels = signal + noise * random.normal(size=len(signal))
    rows = np.arange(len(features))
    parts = rows[:count], rows[count : 2 * count], rows[2 * count :]
    names = tuple("abcdef")
    listed = np.zeros(6, dtype=bool)
    return _case(name, kind, features, labels, listed, names, parts, window, seed, blind)


def made_classes(folder: Path, rival: Path, seed: int) -> Case:
    """Inputs move to where a classifier errs more."""
    return _made("made_classes", "classes", seed, blind=False)


def made_numbers(folder: Path, rival: Path, seed: int) -> Case:
    """Inputs move to where a regressor errs more."""
    return _made("made_numbers", "numbers", seed, blind=False)


def turned_classes(folder: Path, rival: Path, seed: int) -> Case:
    """Labels come to depend on another column: nothing shows it without labels."""
    return _made("turned_classes", "classes", seed, blind=True)


def turned_numbers(folder: Path, rival: Path, seed: int) -> Case:
    """The same for numbers."""
    return _made("turned_numbers", "numbers", seed, blind=True)


SOURCES = {
    "electricity": Source(electricity, True),
    "made_classes": Source(made_classes, True),
    "made_numbers": Source(made_numbers, True),
    "turned_classes": Source(turned_classes, True),
    "turned_numbers": Source(turned_numbers, True),
    "cards": Source(cards, True),
    "employment": Source(employment, True),
    "housing": Source(housing, True),
    "abalone": Source(abalone, True),
    "beijing_air": Source(beijing_air, False),
    "car_loan": Source(car_loan, False),
    "car_price": Source(car_price, False),
    "adult_age": Source(adult_age, False),
    "adult_work": Source(adult_work, False),
}
