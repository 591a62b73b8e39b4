"""A table with every kind of column, and a model that takes it as it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder


def people(many: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows with numbers, counts, categories, flags, dates and gaps, and what hangs on them."""
    random = np.random.default_rng(seed)
    sex = random.choice(["female", "male"], many)
    # Only women can be pregnant: the reference rules the other out.
    pregnant = np.where((sex == "female") & (random.random(many) < 0.3), "yes", "no")
    income = random.lognormal(10, 0.5, many)
    job = random.choice(["clerk", "nurse", "smith"], many, p=[0.5, 0.3, 0.2])
    children = random.poisson(1.5, many)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 70, many),
            "income": np.where(random.random(many) < 0.1, np.nan, income),
            "sex": sex,
            "pregnant": pregnant,
            "job": pd.Categorical(np.where(random.random(many) < 0.05, None, job)),
            "grade": pd.Categorical(
                random.choice(["low", "middle", "high"], many),
                categories=["low", "middle", "high"],
                ordered=True,
            ),
            "children": children,
            "joined": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(random.integers(0, 900, many), "D"),
            "member": random.random(many) < 0.4,
        },
        index=1000 + random.permutation(many),
    )
    score = (frame["age"] > 40).to_numpy() * 1.0 + (job == "nurse") - (pregnant == "yes")
    labels = (score + random.normal(0, 0.7, many) > 0.7).astype(int)
    return frame, labels


def days(frame: pd.DataFrame) -> pd.DataFrame:
    """Dates as numbers: what a pipeline does with them first."""
    return frame.apply(lambda column: (column - pd.Timestamp("2020-01-01")).dt.days)


def forest(frame: pd.DataFrame, labels: np.ndarray, trees: int = 20):
    """A pipeline that takes the frame as it is."""
    others = make_column_selector(dtype_exclude=["number", "datetime", "bool"])
    encoder = ColumnTransformer(
        [
            ("n", SimpleImputer(), ["age", "income", "children"]),
            ("c", OneHotEncoder(handle_unknown="ignore"), others),
            ("d", FunctionTransformer(days), ["joined"]),
            ("m", "passthrough", ["member"]),
        ]
    )
    model = RandomForestClassifier(trees, random_state=0)
    return make_pipeline(encoder, model).fit(frame, labels)
