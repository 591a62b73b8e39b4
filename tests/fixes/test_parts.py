"""The parts of `fix`, each where the answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from anharmonic.errors import InputError, SettingsError
from anharmonic.fixes.capacity import check_grid, choose_capacity, grid_for
from anharmonic.fixes.holding_out import cut_folds
from anharmonic.fixes.lacking import find_region, sparseness
from anharmonic.fixes.refitting import Asked, ask, estimator_in, refit
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import Scoring, scoring_for
from anharmonic.fixes.training_rows import suspicious_rows

RANDOM = np.random.default_rng(0)


def test_folds_hold_out_every_row_once_and_copies_together():
    rows = np.repeat(RANDOM.normal(size=(60, 2)), 2, axis=0)
    labels = np.tile(["a", "a", "b"], 40)
    folds = cut_folds(Data(rows, labels), None, 4, seed=0)
    held = np.concatenate([fold.held_rows for fold in folds])
    assert sorted(held.tolist()) == list(range(120))
    for fold in folds:
        assert not set(map(tuple, fold.found_on.rows)) & set(map(tuple, fold.held_out.rows))
        assert len(fold.held_out) == pytest.approx(30, abs=4)


def test_folds_of_given_rows_and_too_few():
    data = Data(RANDOM.normal(size=(60, 2)), np.zeros(60))
    (fold,) = cut_folds(data, data, 4, seed=0)
    assert len(fold.found_on) == len(fold.held_out) == 60
    with pytest.raises(InputError, match="at least 30"):
        cut_folds(data.take(np.arange(10)), None, 4, seed=0)


def test_scores_row_by_row():
    asked = Asked(np.array([[0.8, 0.2], [0.3, 0.7]]), "probability", ("no", "yes"), 2)
    labels = np.array(["no", "no"])
    assert Scoring("accuracy", True).row_scores(asked, labels).tolist() == [1, 0]
    brier = Scoring("brier", True).row_scores(asked, labels)
    assert brier == pytest.approx([1 - 0.04, 1 - 0.49])
    assert Scoring("log_loss", True).row_scores(asked, labels) == pytest.approx(np.log([0.8, 0.3]))
    # A class that the model has never seen is never right.
    assert Scoring("accuracy", True).row_scores(asked, np.array(["maybe"] * 2)).tolist() == [0, 0]
    numbers = Asked(np.array([[1.0], [3.0]]), "value", None, 2)
    data = Data(np.zeros((2, 1)), np.array([0.0, 2.0]))
    scoring = scoring_for(None, numbers, data)
    assert scoring.metric == "r2"
    assert scoring.row_scores(numbers, data.labels).mean() == pytest.approx(0.0)
    with pytest.raises(SettingsError, match="choose of r2"):
        scoring_for("accuracy", numbers, data)
    with pytest.raises(InputError, match="no classes of the model"):
        scoring_for(None, asked, Data(np.zeros((2, 1)), np.array(["x", "y"])))


def test_truth_values_and_numbers_are_the_same_classes():
    labels = np.array([True, False])
    asked = Asked(np.array([[0.9, 0.1], [0.1, 0.9]]), "probability", (False, True), 2)
    assert Scoring("accuracy", True).row_scores(asked, labels).tolist() == [0, 0]
    numbers = Asked(asked.outputs, "probability", (0, 1), 2)
    assert Scoring("accuracy", True).row_scores(numbers, np.array([0.0, 1.0])).tolist() == [1, 1]


def test_wrong_labels_stand_out():
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    given = labels.to_numpy().copy()
    flipped = np.random.default_rng(0).choice(150, 15, replace=False)
    given[flipped] = (given[flipped] + 1) % 3
    tree = DecisionTreeClassifier(random_state=0).fit(frame, given)
    found = suspicious_rows(ask(tree, frame), Data(frame, given), seed=0)
    is_flipped = np.isin(np.arange(150), flipped)
    assert roc_auc_score(is_flipped, found.values) > 0.9
    assert is_flipped[found.rows].mean() > 0.7
    assert (np.diff(found.values[found.rows]) <= 0).all()
    assert (found.expected[flipped] == labels.to_numpy()[flipped]).mean() > 0.8


def test_numbers_that_are_far_off_stand_out():
    rows = RANDOM.uniform(size=(200, 2))
    labels = rows[:, 0] + 0.01 * RANDOM.normal(size=200)
    labels[[3, 77]] += 5
    tree = DecisionTreeRegressor(random_state=0).fit(rows, labels)
    found = suspicious_rows(ask(tree, rows), Data(rows, labels), seed=0)
    assert set(found.rows[:2].tolist()) == {3, 77}


def test_a_region_is_found_in_words():
    frame = pd.DataFrame(
        {
            "age": RANDOM.uniform(20, 80, 800),
            "job": RANDOM.choice(["sales", "farm", "clerk"], 800),
        }
    )
    bad = (frame["age"] > 60) & (frame["job"] == "sales")
    losses = np.where(bad, 0.9, 0.1)
    region = find_region(frame, losses)
    assert "job is sales" in region.words
    assert "age > " in region.words
    assert (region.holds(frame) == bad).mean() > 0.98
    # Rows of a later table, with a level that is new there.
    later = pd.DataFrame({"age": [70.0, 70.0, 30.0], "job": ["sales", "poet", "sales"]})
    assert region.holds(later).tolist() == [True, False, False]


def test_missing_cells_can_be_a_region_and_even_losses_have_none():
    frame = pd.DataFrame({"income": RANDOM.normal(size=400)})
    frame.loc[:99, "income"] = np.nan
    losses = np.where(frame["income"].isna(), 1.0, 0.0)
    assert find_region(frame, losses).words == "income is missing"
    assert find_region(frame, np.full(400, 0.5)) is None


def test_rows_far_from_training_rows_are_sparse():
    training = RANDOM.normal(size=(900, 2))
    rows = np.concatenate([RANDOM.normal(size=(90, 2)), 8 + RANDOM.normal(size=(10, 2))])
    ranks = sparseness(rows, training, seed=0)
    assert ranks[90:].min() > ranks[:90].max()
    assert ranks.max() == 1


def test_grids_by_the_last_step():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert list(grid_for(pipeline)) == ["logisticregression__C"]
    assert list(grid_for(GradientBoostingClassifier())) == ["max_depth"]
    assert grid_for(StandardScaler()) is None
    forest = RandomForestClassifier(5)  # its attribute `estimator` is a tree, and no parameter
    assert list(grid_for(forest)) == ["min_samples_leaf"]
    assert list(grid_for(make_pipeline(StandardScaler(), forest.fit([[0.0], [1.0]], [0, 1])))) == [
        "randomforestclassifier__min_samples_leaf"
    ]
    assert list(grid_for(BaggingClassifier(LogisticRegression()))) == ["estimator__C"]
    with pytest.raises(SettingsError, match="no parameter"):
        check_grid(pipeline, {"C": [1]})


def test_a_noisy_tree_gets_larger_leaves():
    points, labels = make_classification(300, 4, flip_y=0.4, random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    chosen = choose_capacity(
        tree, Data(points, labels), grid_for(tree), Scoring("accuracy", True), seed=0
    )
    assert chosen.parameters["min_samples_leaf"] >= 10
    assert chosen.refits == 3 * len(chosen.frontier)


def test_what_can_be_refitted_is_told():
    assert estimator_in(np.tanh)[1] is None
    tree = DecisionTreeClassifier()
    assert estimator_in(tree)[1] is tree
    assert refit(tree, Data(np.zeros((4, 1)), np.array([0, 1, 0, 1])), max_depth=1).max_depth == 1
    assert tree.max_depth is None
