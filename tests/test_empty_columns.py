"""A column without a single value, as tables of real systems have some, is no reason to stop."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.performance import fit_performance

RANDOM = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "a": RANDOM.normal(size=300),
        "nothing": np.full(300, np.nan),
        "town": RANDOM.choice(["u", "v"], 300),
    }
)
LABELS = np.asarray(ROWS["a"] + 0.3 * RANDOM.normal(size=300))


def model(frame):
    """Reads a frame as a whole: nothing says which columns it does not need."""
    return np.asarray(frame["a"], dtype=float)


def performance():
    sure = RANDOM.uniform(size=300)
    outputs, right = np.stack([1 - sure, sure], axis=1), RANDOM.uniform(size=300) < sure
    features = ROWS[["a", "nothing"]].to_numpy()
    return fit_performance(outputs, right.astype(int), features).estimate(outputs, features)


MEASURES = {
    "audit": lambda: ah.audit(
        model, ROWS[200:], reference=ROWS[:200], reference_labels=LABELS[:200], budget=1_000
    ),
    "gamma": lambda: ah.gamma(model, ROWS[200:], reference=ROWS[:200]),
    "boosted": lambda: ah.gamma(model, ROWS, ball="data boosted"),
    "suspects": lambda: ah.suspects(model, ROWS, LABELS),
    "plausibility": lambda: ah.plausibility(ROWS),
    "performance": performance,
    "monitor": lambda: ah.Monitor(model, ROWS[:200], labels=LABELS[:200], promise=False),
}


@pytest.mark.parametrize("name", MEASURES)
def test_it_is_measured(name):
    assert MEASURES[name]()
