"""Data every adapter is tried on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris


@pytest.fixture(scope="session")
def points() -> np.ndarray:
    """Iris, (150, 4)."""
    return load_iris(return_X_y=True)[0]


@pytest.fixture(scope="session")
def target() -> np.ndarray:
    """Iris's three classes as 0, 1, 2."""
    return load_iris(return_X_y=True)[1]


@pytest.fixture(scope="session")
def names() -> np.ndarray:
    """Iris's three classes as text."""
    return np.array(["setosa", "versicolor", "virginica"])[load_iris(return_X_y=True)[1]]


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """Two numeric columns, one of whole numbers, and one of text."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "length": rng.normal(size=120),
            "count": rng.integers(0, 9, size=120),
            "colour": rng.choice(["red", "green", "blue"], size=120),
        }
    )


@pytest.fixture(scope="session")
def bought(table: pd.DataFrame) -> np.ndarray:
    """A yes-or-no target that depends on every column of the table."""
    score = table["length"] + 0.2 * table["count"] - (table["colour"] == "red")
    return np.where(score > score.median(), "yes", "no")
