"""Single rows: flipped labels found among training rows, wrong answers among new ones."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Kind
from anharmonic._core.randomness import generator
from anharmonic.measures.over_data import Forest, Neighbours, gamma_data
from studies.over_data.sets import Split, split, with_flips
from studies.streams import OverDataStream

__all__ = ["FAMILIES", "RowResult", "measured_rows"]

FAMILIES = ("tree", "boosted", "forest", "nearest row", "network")
FOLDS = 5
MOST_TRAINED = 1000
WEIGHTS = {
    "forest": Forest(features=1.0),
    "forest, a third of the features": Forest(),
    "forest, leaves of 5, a third": Forest(leaf=5),
    "10 neighbours": Neighbours(10),
}


class RowResult(NamedTuple):
    """Areas under the curve, by the name of the score, of one family on one split."""

    family: str
    flipped: dict[str, float]
    wrong: dict[str, float]


def _model(family: str, seed: int) -> Any:
    from sklearn import ensemble, neighbors, neural_network, tree
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    models = {
        "tree": tree.DecisionTreeClassifier(random_state=seed),
        "boosted": ensemble.HistGradientBoostingClassifier(random_state=seed),
        "forest": ensemble.RandomForestClassifier(random_state=seed),
        "nearest row": neighbors.KNeighborsClassifier(1),
        "network": neural_network.MLPClassifier((256, 256), max_iter=300, random_state=seed),
    }
    return make_pipeline(StandardScaler(), models[family])


def _fit(family: str, rows: Floats, labels: Any, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _model(family, seed).fit(rows, labels)


def measured_rows(name: str, seed: int, data: Path | None = None) -> list[RowResult]:
    """Every family on one split whose training labels have a tenth of flips."""
    # Other wrong labels would count as right ones.
    parts = split(name, seed, data, noise=False)
    kept = slice(0, MOST_TRAINED)
    labels, flips = with_flips(parts.train_answers[kept], seed)
    return [_measured(family, parts, labels, flips, seed) for family in FAMILIES]


def _measured(family: str, parts: Split, labels: Any, flips: Any, seed: int) -> RowResult:
    from sklearn.metrics import roc_auc_score

    kept = slice(0, len(labels))
    rows, numbers = parts.train[kept], parts.train_numbers[kept]
    model = _fit(family, numbers, labels, seed)
    answers, sure = _answers(model, numbers)
    new_answers, new_sure = _answers(model, parts.test_numbers)
    is_flipped = np.isin(np.arange(len(labels)), flips)
    columns = np.searchsorted(model.classes_, labels)
    at_label = np.arange(len(labels)), columns
    without = {"1 − confidence": 1 - sure.max(axis=1)}
    with_labels = {
        "labels: self-confidence, cross-validated": -_out_of_fold(family, numbers, labels, seed)[
            at_label
        ],
        "labels: self-confidence, in sample": -sure[at_label],
    }
    wrong = model.classes_[new_answers.argmax(axis=1)] != parts.test_answers
    on_new = {"1 − confidence": 1 - new_sure.max(axis=1)}
    for label, weights in WEIGHTS.items():
        for kind, given, new in (
            ("classes", answers, new_answers),
            ("probabilities", sure, new_sure),
        ):
            kinds: Kind = "onehot" if kind == "classes" else "probability"
            scores = gamma_data(rows, given, kind=kinds, weights=weights, seed=seed, workers=1)
            without[f"{label}; {kind}"] = scores.values
            with_labels[f"labels: {label}; {kind}"] = -(scores.outputs - scores.signed)[at_label]
            on_new[f"{label}; {kind}; among new"] = gamma_data(
                parts.test, new, kind=kinds, weights=weights, seed=seed, workers=1
            ).values
            on_new[f"{label}; {kind}; among training"] = gamma_data(
                parts.test,
                new,
                kind=kinds,
                weights=weights,
                reference=(rows, given),
                seed=seed,
                workers=1,
            ).values
    return RowResult(
        family,
        {
            key: float(roc_auc_score(is_flipped, values))
            for key, values in (without | with_labels).items()
        },
        {key: float(roc_auc_score(wrong, values)) for key, values in on_new.items()}
        if 0 < wrong.sum() < len(wrong)
        else {},
    )


def _answers(model: Any, rows: Floats) -> tuple[Floats, Floats]:
    """Answers as columns of classes, and as probabilities."""
    sure = np.asarray(model.predict_proba(rows))
    return (sure.argmax(axis=1)[:, None] == np.arange(sure.shape[1])).astype(float), sure


def _out_of_fold(family: str, rows: Floats, labels: Any, seed: int) -> Floats:
    """Probabilities of models that did not see the row: cleanlab's way, at the cost of refits."""
    fold = generator(seed, OverDataStream.FOLDS).permutation(len(rows)) % FOLDS
    classes = np.unique(labels)
    sure = np.zeros((len(rows), len(classes)))
    for left_out in range(FOLDS):
        inside = fold != left_out
        model = _fit(family, rows[inside], labels[inside], seed)
        columns = np.searchsorted(classes, model.classes_)
        sure[np.ix_(~inside, columns)] = model.predict_proba(rows[~inside])
    return sure
