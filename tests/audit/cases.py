"""Small rows, models and contexts that checks are tried on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from anharmonic.auditing.asking import Meter
from anharmonic.auditing.context import Context
from anharmonic.auditing.given import Given
from anharmonic.auditing.planning import make_plan
from anharmonic.auditing.preparing import prepare


def context_of(
    model: Any,
    reference: Any,
    new: Any = None,
    *,
    labels: Any = None,
    new_labels: Any = None,
    seed: int = 0,
    budget: int | None = 4_000,
) -> Context:
    """What checks start from, for rows and a model."""
    if new is None:
        given = Given(model, reference, None, labels, None)
    else:
        given = Given(model, new, reference, new_labels, labels)
    meter = Meter()
    return prepare(given, make_plan(given, budget, meter), seed, meter)


def numbers(rows: int, columns: int = 3, seed: int = 0) -> np.ndarray:
    """Normal numbers."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


def smooth(points: np.ndarray) -> np.ndarray:
    """Two columns of probabilities, of the first column alone."""
    second = 1 / (1 + np.exp(-2 * np.asarray(points)[:, 0]))
    return np.stack([1 - second, second], axis=1)


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    """A table with a category, a whole number, gaps, a date and a text."""
    random = np.random.default_rng(seed)
    income = random.lognormal(10, 1, rows)
    return pd.DataFrame(
        {
            "age": random.integers(18, 80, rows),
            "town": random.choice(["Ulm", "Bonn", "Kiel"], rows),
            "income": np.where(random.random(rows) < 0.1, np.nan, income),
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(random.integers(0, 900, rows), "D"),
            "note": [f"seen on day {day} by someone" for day in random.integers(0, 9999, rows)],
        }
    )


def answers_of_people(frame: pd.DataFrame) -> np.ndarray:
    """One probability per row of such a table: older people, and those of Ulm."""
    score = (frame["age"].to_numpy() - 50) / 10 + (frame["town"] == "Ulm").to_numpy() * 1.0
    return 1 / (1 + np.exp(-score))
