"""Whether smoothing helps: how far, and what it does to scores and to steadiness."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.fixes.refitting import ask
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import Scoring
from anharmonic.fixes.smoothing import Smoothed, smoothed
from anharmonic.measures.gamma.measure import gamma
from anharmonic.models import as_model

__all__ = ["FACTORS", "Radius", "Unsteadiness", "choose_radius", "smooth_at", "unsteadiness"]

FACTORS = (1.0, 2.0, 4.0)
"""Of the distance between nearest reference rows: how far smoothing is tried."""
MEASURED_QUERIES = 16
"""Neighbours at which steadiness is measured."""


class Radius(NamedTuple):
    """How far to smooth, in units, as a factor of the distance between nearest rows."""

    factor: float
    queries: int


def smooth_at(model: object, reference: object, factor: float, seed: int) -> Smoothed:
    """The model smoothed at a multiple of the distance between nearest reference rows."""
    once = smoothed(model, reference=reference, seed=seed)
    return smoothed(model, reference=reference, radius=factor * once.radius, seed=seed)


def choose_radius(
    model: object, reference: object, measured_on: Data, scoring: Scoring, seed: int
) -> Radius:
    """The factor with the best score, or a larger one within one standard error of it."""
    queries = 0
    scores = []
    for factor in FACTORS:
        made = smooth_at(model, reference, factor, seed)
        scores.append(scoring.row_scores(ask(made, measured_on.rows), measured_on.labels))
        queries += made.queries * len(measured_on)
    means = np.array([rows.mean() for rows in scores])
    best = int(means.argmax())
    error = float(scores[best].std(ddof=1)) / np.sqrt(len(measured_on))
    within = [number for number, mean in enumerate(means) if mean >= means[best] - error]
    return Radius(FACTORS[max(within)], queries)


class Unsteadiness(NamedTuple):
    """How unsteady rows are, (rows,), and the queries of the model that took."""

    values: Floats
    queries: int


def unsteadiness(
    model: object, rows: object, reference: object, radius: float, *, classes: bool, seed: int
) -> Unsteadiness:
    """The share of each row's neighbours that the model decides otherwise.

    Parameters
    ----------
    model, rows, reference, radius, seed
        As in `gamma`.
    classes
        Whether it decides at all: of numbers it is gamma.
    """
    scores = gamma(
        as_model(model, output="onehot") if classes else model,
        rows,
        reference=reference,
        radius=radius,
        ball="auto pairs",
        directions=MEASURED_QUERIES,
        rotations=1,
        noise="ignore",
        seed=seed,
    )
    per_query = model.queries if isinstance(model, Smoothed) else 1
    return Unsteadiness(scores.values, scores.queries * per_query)
