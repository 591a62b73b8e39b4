"""A scorer by gamma over the data, for tables in which nothing can be moved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic.errors import SettingsError
from anharmonic.measures.over_data import Given
from anharmonic.training import gamma_scorer, steadiest_within_one_error


def _customers(count: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with categories and missing cells, and noisy labels."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": np.where(random.random(count) < 0.2, np.nan, random.normal(size=count)),
            "town": pd.Series(random.choice(["north", "south", "west"], count)).where(
                random.random(count) > 0.1
            ),
            "plan": random.choice(["basic", "full"], count),
        }
    )
    score = table["age"].fillna(0) + (table["town"] == "north") + random.normal(size=count)
    return table, (score > 0.3).to_numpy().astype(int)


def _tree_on_a_table():
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    coded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town", "plan"]), remainder="passthrough"
    )
    return make_pipeline(coded, DecisionTreeClassifier(random_state=0))


def test_a_search_over_a_table_of_categories_needs_no_sphere() -> None:
    from sklearn.model_selection import GridSearchCV

    table, labels = _customers()
    search = GridSearchCV(
        _tree_on_a_table(),
        {"decisiontreeclassifier__min_samples_leaf": [1, 25]},
        scoring={"score": "accuracy", "gamma": gamma_scorer(ball="data")},
        refit=steadiest_within_one_error(),
        cv=3,
        error_score="raise",
    ).fit(table, labels)
    memorised, smoothed = search.cv_results_["mean_test_gamma"]
    assert memorised < 1.5 * smoothed < 0
    assert search.best_params_ == {"decisiontreeclassifier__min_samples_leaf": 25}


def test_a_scorer_over_the_data_takes_all_rows_without_labels() -> None:
    table, labels = _customers(200)
    tree = _tree_on_a_table().fit(table, labels)
    found = gamma_scorer(ball="data")(tree, table)
    assert found == -ah.gamma(tree, table, ball="data").mean
    assert gamma_scorer(ball="data", count=60)(tree, table) != found
    words = table[["town", "plan"]]
    assert gamma_scorer(ball="data forest")(_is_north, words) < 0


def _is_north(table: pd.DataFrame) -> np.ndarray:
    return (table["town"] == "north").to_numpy().astype(float)


@pytest.mark.parametrize("given", [{"radius": 0.3}, {"scale": None}, {"bounds": (0, 1)}])
def test_a_scorer_over_the_data_refuses_what_moves_rows(given) -> None:
    with pytest.raises(SettingsError, match=f"{next(iter(given))} cannot be given"):
        gamma_scorer(ball="data", **given)


def test_a_scorer_refuses_weights_that_no_fold_has() -> None:
    with pytest.raises(SettingsError, match="every fold"):
        gamma_scorer(ball=Given(np.eye(3)))
    with pytest.raises(SettingsError, match="no weights 'moon'"):
        gamma_scorer(ball="data moon")
    with pytest.raises(SettingsError, match="at least 1"):
        gamma_scorer(count=0)
