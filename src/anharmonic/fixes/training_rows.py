"""Which training rows to look at: where other rows' labels and answers contradict the label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Array, Floats, Integers, Kind
from anharmonic.fixes.refitting import Asked
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import class_positions, gives_classes, shares_of
from anharmonic.measures.over_data import gamma_data

__all__ = ["Suspicious", "suspicious_rows"]

LEAST_GAP = 0.3
"""How much more surely than its label other rows give a row another class, for it to stand out:
with it as many rows stood out as labels were wrong, on the sets it was chosen on."""
OUTLYING = 3.0
"""Robust standard deviations beyond which a number stands out."""


class Suspicious(NamedTuple):
    """How suspicious each row is, what other rows say of it, and which rows stand out.

    Parameters
    ----------
    values : (rows,)
        From 0 on, the most suspicious largest.
    expected : (rows,)
        The label that other rows give.
    rows
        Those that stand out, the most suspicious first.
    """

    values: Floats
    expected: Array
    rows: Integers


def suspicious_rows(asked: Asked, data: Data, seed: int) -> Suspicious:
    """Of labelled rows and the answers of a model that was fitted to them.

    A row counts by how little other rows say its label: by their labels, and by the model's
    answers at them, which a model that learnt a wrong label by heart contradicts. Neither the
    row nor a copy of it speaks for itself.

    Parameters
    ----------
    asked
        The model's answers at the rows.
    data
        The rows with their labels.
    seed
        Of the forests that weigh other rows.
    """
    if not gives_classes(asked):
        return _of_numbers(asked, data, seed)
    shares = shares_of(asked)
    classes = list(range(shares.shape[1])) if asked.classes is None else list(asked.classes)
    given = class_positions(data.labels, asked.classes, shares.shape[1])
    columns = np.arange(shares.shape[1])
    said = _others(data.rows, np.asarray(given[:, None] == columns, float), "onehot", seed)
    others = (said + _others(data.rows, shares, "probability", seed)) / 2
    own = np.where(given >= 0, others[np.arange(len(given)), np.maximum(given, 0)], 0.0)
    values = 1 - own
    rows = _confidently_other(others, given)
    return Suspicious(
        values,
        np.array(classes)[others.argmax(axis=1)],
        rows[np.argsort(-values[rows], kind="stable")],
    )


def _others(rows: object, answers: Floats, kind: Kind, seed: int) -> Floats:
    """What other rows say, (rows, columns)."""
    scores = gamma_data(rows, answers, kind=kind, seed=seed)
    return np.asarray(scores.outputs - scores.signed)


def _confidently_other(others: Floats, given: Integers) -> Integers:
    """Rows to which others give another class at least as surely as they give it to its own rows,
    and by `LEAST_GAP` more surely than the row's label.

    Confident learning's rule (Northcutt, Jiang and Chuang, 2021): a class's threshold is the mean
    share it has among rows with its label.
    """
    thresholds = np.array(
        [
            others[given == column, column].mean() if (given == column).any() else np.inf
            for column in range(others.shape[1])
        ]
    )
    sure = np.where(others >= thresholds, others, -1.0)
    best = sure.argmax(axis=1)
    rows = np.arange(len(given))
    own = np.where(given >= 0, others[rows, np.maximum(given, 0)], 0.0)
    return np.flatnonzero((sure[rows, best] - own >= LEAST_GAP) & (best != given))


def _of_numbers(asked: Asked, data: Data, seed: int) -> Suspicious:
    """The same for numbers: how far labels are from what other rows give."""
    labels = data.labels.astype(np.float64)
    parts = []
    for answers in (labels[:, None], asked.outputs[:, :1]):
        scores = gamma_data(data.rows, answers, kind="value", seed=seed)
        parts.append((scores.outputs - scores.signed)[:, 0])
    expected = (parts[0] + parts[1]) / 2
    away = labels - expected
    # The median absolute deviation is 0.6745 of a normal's standard deviation.
    spread = float(np.median(np.abs(away - np.median(away)))) / 0.6745 or 1.0
    values = np.abs(away) / spread
    rows = np.flatnonzero(values > OUTLYING)
    return Suspicious(values, expected, rows[np.argsort(-values[rows], kind="stable")])
