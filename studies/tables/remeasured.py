"""Which decisions change when a row is measured again: small errors of the kind that people make.

Every column errs by itself: numbers by a tenth of their spread, whole numbers by a rounded share
of it, a category is miscoded in 3% of rows, and where cells can be missing 2% more are. This knows
nothing of neighbourhoods.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from anharmonic.measures.baselines import flip_rate, fragility, margin, smoothed_margin
from anharmonic.measures.setup.settling import settle
from anharmonic.models import as_model
from studies.streams import TablesStream
from studies.tables.models import pipeline
from studies.tables.sets import split

__all__ = ["FACTORS", "areas", "remeasure"]

MODELS = (("tree", 3), ("neighbours", 2), ("boosted", 2), ("boosted", 3), ("network", 2))
FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0)
"""Of the distance between nearest rows."""
ROWS, AGAIN, QUERIES = 300, 40, 20
SPREAD, MISCODED, LOST = 0.1, 0.03, 0.02


def remeasure(frame: Any, known: Any, random: np.random.Generator) -> Any:
    """The rows of a frame as a second measurement might have them.

    Parameters
    ----------
    frame, known
        The rows, and data that say what columns hold.
    random
        Draws the errors.
    """
    import pandas as pd

    columns = {}
    for name in frame:
        cells, before = frame[name], known[name]
        lost = before.isna().any() & (random.random(len(frame)) < LOST)
        if pd.api.types.is_numeric_dtype(before) and not pd.api.types.is_bool_dtype(before):
            values = cells.to_numpy(dtype=float)
            spread = SPREAD * float(np.nanstd(before.to_numpy(dtype=float)))
            present = before.dropna()
            if (present == present.round()).all():
                # Most errors of a count are none; a flag is wrong in 1% of rows.
                least = 0.4 if present.nunique() > 2 else 0.2
                values = values + np.round(random.normal(0, max(spread, least), len(values)))
                values = np.clip(values, present.min(), present.max())
            else:
                values = values + random.normal(0, spread, len(values))
            columns[name] = np.where(lost, np.nan, values)
        else:
            objects = cells.to_numpy(dtype=object).copy()
            wrong = random.random(len(frame)) < MISCODED
            objects[wrong] = random.choice(before.dropna().to_numpy(dtype=object), wrong.sum())
            objects[lost] = None
            columns[name] = pd.Series(objects, dtype=cells.dtype)
    return pd.DataFrame(columns)


def areas(name: str, seed: int, data: Path | None = None) -> dict[str, float]:
    """The area under the curve of each score for flips under remeasuring, averaged over models."""
    parts = split(name, seed, data)
    rows = parts.test.iloc[:ROWS].reset_index(drop=True)
    collected: dict[str, list[float]] = {}
    for family, capacity in MODELS:
        model = pipeline(family, capacity, parts, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(parts.train, parts.train_answers)
        decided = model.predict(rows)
        random = generator(seed, TablesStream.REMEASURED)
        again = [model.predict(remeasure(rows, parts.train, random)) for _ in range(AGAIN)]
        flips = np.mean([answers != decided for answers in again], axis=0)
        if not flips.any():
            continue
        for score, values in _scores(model, rows, parts.train, seed).items():
            collected.setdefault(score, []).append(_area(values, flips))
    return {score: float(np.mean(values)) for score, values in collected.items()}


def _scores(model: Any, rows: Any, train: Any, seed: int) -> Mapping[str, Floats]:
    """Fragilities (rows,), each from at most 20 queries per row."""
    asked = as_model(model, output="probability")
    setup = settle(asked, rows, reference=train, seed=seed)
    found = {"margin": fragility(margin(asked, setup.region))}
    for factor in FACTORS:
        radius = factor * setup.radius
        smoothed = smoothed_margin(
            asked, setup.region, directions=QUERIES - 1, radius=radius, seed=seed
        )
        found[f"smoothed margin; {factor}"] = fragility(smoothed)
        flipped = flip_rate(asked, setup.region, directions=QUERIES - 1, radius=radius, seed=seed)
        found[f"share of flips; {factor}"] = flipped.values
    return found


def _area(values: Floats, flips: Floats) -> float:
    """The chance that a row that flipped has the larger score than one that did not."""
    from sklearn.metrics import roc_auc_score

    # Every row counts on both sides: as often as it flipped, and as often as it did not.
    sides = np.repeat([1, 0], len(values))
    weights = np.concatenate([flips, 1 - flips])
    return float(roc_auc_score(sides, np.tile(values, 2), sample_weight=weights))
