"""How a data set becomes a case: a model, its labelled reference, and its traffic in windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Case(NamedTuple):
    """A reference and traffic: outputs, labels and features of both, and rows per window.

    `traffic_*` are whole windows one after the other; `oracle` are the true expected credits of
    traffic where data are made, and empty elsewhere.
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
    oracle: Floats = np.empty((0, 2))


class Source(NamedTuple):
    """How a case is made of a folder of data, NannyML's folder and a seed; its group.

    "chosen": the method was chosen on it; "seen": looked at, and the method changed after a look;
    "fresh": not looked at before the method was done.
    """

    make: Callable[[Path, Path, int], Case]
    group: Literal["chosen", "seen", "fresh"]


@lru_cache(maxsize=16)
def table(path: Path) -> Any:
    import pandas as pd

    if path.suffix == ".pq":
        return pd.read_parquet(path)
    return pd.read_csv(path, na_values=["?", " ?"])


def matrix(frame: Any) -> tuple[Floats, Mask]:
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


def fit_model(kind: str, features: Floats, labels: NDArray[Any], listed: Mask, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    made = HistGradientBoostingClassifier if kind == "classes" else HistGradientBoostingRegressor
    model = made(categorical_features=listed, max_iter=100, random_state=seed)
    return model.fit(features, labels)


def make_case(
    name: str,
    kind: str,
    features: Floats,
    labels: NDArray[Any],
    listed: Mask,
    columns: tuple[str, ...],
    parts: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    window: int,
    seed: int,
) -> Case:
    """Train on the first part's rows, refer to the second's, send the third's."""
    train, reference, traffic = parts
    traffic = traffic[: len(traffic) // window * window]
    model = fit_model(kind, features[train], labels[train], listed, seed)
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
    )


def drifting(inside: Mask, order: Floats, seed: int) -> tuple[Any, Any, Any]:
    """Two thirds of the rows inside for training and reference; traffic sorted by `order`."""
    random = np.random.default_rng(seed)
    rows = random.permutation(np.flatnonzero(inside))
    train, reference, rest = np.split(rows, [int(0.4 * len(rows)), int(0.8 * len(rows))])
    traffic = np.concatenate([rest, np.flatnonzero(~inside)])
    return train, reference, traffic[np.argsort(order[traffic], kind="stable")]
