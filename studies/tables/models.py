"""Twenty-five pipelines per table, and gamma of each with all columns moving or numbers alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.randomness import generator
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.setup.settling import settle_points
from anharmonic.models import as_model
from studies.overfitting.families import CAPACITIES, FAMILIES, estimator
from studies.streams import TablesStream
from studies.tables.sets import Split, split

__all__ = ["FACTORS", "PLACES", "WAYS", "Measured", "measured_table", "pipeline"]

FACTORS = (0.5, 1.0, 2.0)
"""Of the distance between nearest rows."""
PLACES = ("training", "new")
WAYS = ("all columns", "numbers alone")
POINTS = 100


class Measured(NamedTuple):
    """One model: its scores with labels, and its mean gamma, keyed "way; factor; place"."""

    family: str
    capacity: int
    train_score: float
    test_score: float
    gammas: dict[str, float]
    queries: int

    @property
    def gap(self) -> float:
        """How much better the model does on what it has seen: what overfitting is."""
        return self.train_score - self.test_score


def pipeline(family: str, capacity: int, parts: Split, seed: int) -> Any:
    """An unfitted pipeline that takes the frame as it is: gaps filled, a column per level."""
    from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = list(parts.train.select_dtypes("number").columns)
    others = [name for name in parts.train.columns if name not in numeric]
    encoder = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numeric),
            ("levels", OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
        ]
    )
    features = encoder.fit_transform(parts.train).shape[1]
    classes = parts.task == "classification"
    model = make_pipeline(encoder, estimator(family, capacity, classes, features, seed))
    if classes:
        return model
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def measured_table(
    name: str, seed: int, data: Path | None = None, factors: tuple[float, ...] = FACTORS
) -> list[Measured]:
    """All families at all capacities on one split of one table."""
    parts = split(name, seed, data)
    random = generator(seed, TablesStream.MEASURED_POINTS)
    rows = {}
    for place, frame in zip(PLACES, (parts.train, parts.test), strict=True):
        chosen = np.sort(random.permutation(len(frame))[:POINTS])
        rows[place] = frame.iloc[chosen].reset_index(drop=True)
    return [
        _measured(family, capacity, model, parts, rows, factors, seed)
        for family, capacity, model in _fitted(parts, seed)
    ]


def _fitted(parts: Split, seed: int) -> Iterator[tuple[str, int, Any]]:
    for family in FAMILIES:
        for capacity in CAPACITIES:
            model = pipeline(family, capacity, parts, seed)
            with warnings.catch_warnings():
                # The largest networks stop before they converge, as people's do.
                warnings.simplefilter("ignore")
                yield family, capacity, model.fit(parts.train, parts.train_answers)


def _measured(
    family: str,
    capacity: int,
    model: Any,
    parts: Split,
    rows: dict[str, Any],
    factors: tuple[float, ...],
    seed: int,
) -> Measured:
    asked = as_model(model, output="onehot" if parts.task == "classification" else None)
    numeric = list(parts.train.select_dtypes("number").columns)
    gammas: dict[str, float] = {}
    queries = 0
    for place, frame in rows.items():
        for way in WAYS:
            if way == "numbers alone" and not numeric:
                # Nothing moves, and nothing bends.
                gammas |= {f"{way}; {factor}; {place}": 0.0 for factor in factors}
                continue
            alone = way == "numbers alone"
            settled = settle_points(
                [asked],
                frame,
                {
                    "reference": parts.train,
                    "moving": numeric if alone else None,
                    "kinds": dict.fromkeys(numeric, "number") if alone else None,
                    "seed": seed,
                },
            )
            plain = settled.region.neighbourhood is None
            for factor in factors:
                scores = gamma(
                    asked,
                    settled.region,
                    radius=factor * settled.radius,
                    scale=settled.units if plain else "auto",
                    ball="auto pairs",
                    reduction="norm",
                    noise="ignore",
                    seed=seed,
                )
                gammas[f"{way}; {factor}; {place}"] = scores.mean
                queries += scores.queries
    return Measured(
        family,
        capacity,
        float(model.score(parts.train, parts.train_answers)),
        float(model.score(parts.test, parts.test_answers)),
        gammas,
        queries,
    )
