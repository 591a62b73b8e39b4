"""Every model of one split, measured with labels and without."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Kind
from anharmonic._core.randomness import generator
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.over_data import Forest, Neighbours, gamma_data
from anharmonic.models import as_model
from anharmonic.regions import points
from studies.over_data.sets import Split, split
from studies.overfitting.families import CAPACITIES, FAMILIES, built, parameters
from studies.streams import OverDataStream

__all__ = ["PLACES", "WEIGHTS", "Measured", "measured_set"]

WEIGHTS = {
    "forest": Forest(features=1.0),
    "forest, a third of the features": Forest(),
    "forest, leaves of 5, a third": Forest(leaf=5),
    "10 neighbours": Neighbours(10),
    "20 neighbours": Neighbours(20),
}
"""Every kind of weights that was tried on the first half."""
PROBABILITIES = ("forest, leaves of 5, a third", "10 neighbours")
"""Those that were tried with probabilities too."""
KINDS: dict[str, Kind | None] = {"classes": None, "probabilities": "probability"}
PLACES = ("training", "new")
FOLDS = 3
SPHERE_POINTS, MOST_SCORED = 100, 1000
CROSS_VALIDATED = 2_000
"""Training rows up to which models are also cross-validated, which takes three more fits."""


class Measured(NamedTuple):
    """One model: what labels say of it, and what was measured without.

    `over_data` has the mean for each of `WEIGHTS` at each of `PLACES`, for answers as classes
    ("onehot") and as probabilities where there are any.
    """

    family: str
    capacity: int
    train_score: float
    test_score: float
    cross_validated: float
    parameters: float
    confidence_gap: float
    sphere: float
    disagreement: float
    over_data: dict[str, float]

    @property
    def gap(self) -> float:
        """How much better the model does on what it has seen: what overfitting is."""
        return self.train_score - self.test_score


def measured_set(name: str, seed: int, data: Path | None = None) -> list[Measured]:
    """All families at all capacities on one split of one data set."""
    parts = split(name, seed, data)
    return [
        _measured(family, capacity, model, parts, seed)
        for family, capacity, model in _fitted(parts, seed)
    ]


def _fitted(parts: Split, seed: int) -> Iterator[tuple[str, int, Any]]:
    for family in FAMILIES:
        for capacity in CAPACITIES:
            model = built(family, capacity, parts.task, parts.train_numbers.shape[1], seed)
            yield family, capacity, _fit(model, parts.train_numbers, parts.train_answers)


def _fit(model: Any, rows: Floats, answers: Any) -> Any:
    with warnings.catch_warnings():
        # The largest networks stop before they converge, as people's do.
        warnings.simplefilter("ignore")
        return model.fit(rows, answers)


def _measured(family: str, capacity: int, model: Any, parts: Split, seed: int) -> Measured:
    train, test = parts.train_numbers, parts.test_numbers
    classes = parts.task == "classification"
    kept = slice(0, MOST_SCORED)
    tables = {"training": parts.train[kept], "new": parts.test[kept]}
    numbers = {"training": train[kept], "new": test[kept]}
    outputs = {place: _outputs(model, rows, classes) for place, rows in numbers.items()}
    over_data: dict[str, float] = {}
    for place in PLACES:
        for kind, answers in outputs[place].items():
            for label, weights in WEIGHTS.items():
                if kind == "probabilities" and label not in PROBABILITIES:
                    continue
                scores = gamma_data(
                    tables[place], answers, kind=KINDS[kind], weights=weights, seed=seed, workers=1
                )
                over_data[f"{label}; {kind}; {place}"] = scores.mean
    votes = gamma_data(tables["training"], outputs["training"]["classes"], weights=Neighbours(10))
    return Measured(
        family,
        capacity,
        float(model.score(train, parts.train_answers)),
        float(model.score(test, parts.test_answers)),
        _cross_validated(family, capacity, parts, seed),
        parameters(family, capacity, model, len(train)),
        _confidence_gap(outputs),
        max(_sphere(model, rows, parts, seed) for rows in (train, test)),
        _disagreement(votes) if classes else float("nan"),
        over_data,
    )


def _outputs(model: Any, rows: Floats, classes: bool) -> dict[str, Floats]:
    """Answers as the columns of classes (or numbers), and probabilities where there are any."""
    if not classes:
        return {"classes": np.asarray(model.predict(rows), dtype=float)}
    labels = model.predict(rows)[:, None] == model.classes_
    found = {"classes": labels.astype(float)}
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(rows)
    return found


def _disagreement(votes: Any) -> float:
    """The share of rows whose answer is not that of most of its ten nearest rows."""
    others = votes.outputs - votes.signed
    return float((others.argmax(axis=1) != votes.outputs.argmax(axis=1)).mean())


def _confidence_gap(outputs: dict[str, dict[str, Floats]]) -> float:
    if "probabilities" not in outputs["training"]:
        return float("nan")
    sure = [float(outputs[place]["probabilities"].max(axis=1).mean()) for place in PLACES]
    return sure[0] - sure[1]


def _sphere(model: Any, rows: Floats, parts: Split, seed: int) -> float:
    """Gamma on spheres at a hundred rows; levels of categories stay."""
    chosen = generator(seed, OverDataStream.MEASURED_POINTS).permutation(len(rows))[:SPHERE_POINTS]
    return gamma(
        as_model(model, output="onehot" if parts.task == "classification" else None),
        points(rows[np.sort(chosen)], moving=parts.moving),
        reference=parts.train_numbers,
        ball="auto pairs",
        reduction="norm",
        noise="ignore",
        seed=seed,
    ).mean


def _cross_validated(family: str, capacity: int, parts: Split, seed: int) -> float:
    """The mean score on folds that were left out."""
    rows, answers = parts.train_numbers, parts.train_answers
    if len(rows) > CROSS_VALIDATED:
        return float("nan")
    fold = generator(seed, OverDataStream.FOLDS).permutation(len(rows)) % FOLDS
    scores = []
    for left_out in range(FOLDS):
        inside = fold != left_out
        model = built(family, capacity, parts.task, rows.shape[1], seed)
        _fit(model, rows[inside], answers[inside])
        scores.append(float(model.score(rows[~inside], answers[~inside])))
    return float(np.mean(scores))
