"""A table as it is: categories, counts, a flag and missing cells, through a pipeline.

pip install 'anharmonic[sklearn]' && python examples/table_with_categories.py
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import anharmonic as ah


def make_loans(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Applicants, some of whom did not say what they earn, and whether they paid back."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "income": random.lognormal(10.3, 0.5, rows),
            "children": random.poisson(1.2, rows),
            "home": random.choice(["rented", "owned", "with parents"], rows, p=[0.5, 0.35, 0.15]),
            "employed": random.random(rows) < 0.85,
        }
    )
    table.loc[random.random(rows) < 0.1, "income"] = np.nan
    wealth = np.log(table["income"].fillna(25_000)) - 10.3 + 0.5 * (table["home"] == "owned")
    paid = random.random(rows) < 1 / (1 + np.exp(-2 * wealth - 0.8 * table["employed"]))
    return table, paid.to_numpy()


def main() -> None:
    train, paid = make_loans(500, seed=0)
    new, _ = make_loans(150, seed=1)
    prepare = make_column_transformer(
        (SimpleImputer(), ["income", "children"]),
        (OneHotEncoder(handle_unknown="ignore"), ["home"]),
        ("passthrough", ["employed"]),
    )
    model = make_pipeline(prepare, RandomForestClassifier(random_state=0)).fit(train, paid)

    scores = ah.gamma(model, new, reference=train)
    print(scores)
    print("each column moves by its kind:")
    for column, kind in zip(scores.settings.columns, scores.settings.kinds, strict=True):
        print(f"  {column}: {kind}")
    print("answers move most with:", ", ".join(str(moved.name) for moved in scores.along()[:2]))
    print("look at these applicants first:")
    print(new.iloc[scores.worst(3)])


if __name__ == "__main__":
    main()
