"""Scores of single rows, for models that say little about what they answer."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import anharmonic as ah
from anharmonic._core.margins import are_probabilities, by_class
from anharmonic.errors import InputError
from anharmonic.fixes.labelling import uncertain_rows
from anharmonic.fixes.refitting import ask
from anharmonic.fixes.rows import Data
from anharmonic.fixes.scoring import METRICS, Scoring, scoring_for, shares_of

POINTS = np.random.default_rng(0).normal(size=(200, 3))
LABELS = (POINTS[:, 0] > 0) * 1
CLASSES = [metric for metric in METRICS if metric != "r2"]


@pytest.mark.parametrize("name", ["accuracy", "brier"])
def test_a_model_of_one_class_is_right_about_that_class(name):
    model = DecisionTreeClassifier().fit(POINTS, np.full(200, "no"))
    asked = ask(model, POINTS)
    labels = np.where(LABELS == 1, "yes", "no")
    scores = Scoring(name, True).row_scores(asked, labels)
    assert scores.tolist() == (labels == "no").astype(float).tolist()
    assert shares_of(asked).tolist() == [[1.0]] * 200
    # It is sure of everything.
    unsure = uncertain_rows(asked, POINTS, Data(POINTS, np.full(200, "no")), seed=0)
    assert unsure.values.tolist() == [0.0] * 200


@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_a_smoothed_model_of_one_class_answers_it(combine):
    model = DummyClassifier(strategy="prior").fit(POINTS, np.full(200, "no"))
    made = ah.smoothed(model, reference=POINTS, queries=4, combine=combine)
    assert made.predict(POINTS[:5]).tolist() == ["no"] * 5
    assert made.predict_proba(POINTS[:5]).tolist() == [[1.0]] * 5


def test_one_column_is_two_classes_unless_one_is_named():
    column = np.array([[0.25], [1.0]])
    assert by_class(column, "probability").tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert by_class(column, "probability", ("no", "yes")).tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert by_class(column, "probability", ("no",)) is column


@pytest.mark.parametrize("metric", CLASSES)
def test_probabilities_of_a_function_are_scored_as_they_are(metric):
    model = LogisticRegression().fit(POINTS, LABELS)
    scoring = Scoring(metric, True)
    known = scoring.row_scores(ask(model, POINTS), LABELS)
    plain = scoring.row_scores(ask(lambda rows: model.predict_proba(rows), POINTS), LABELS)
    assert plain.tolist() == known.tolist()
    # Logits of a function still become shares.
    logits = np.log(model.predict_proba(POINTS))
    raw = scoring.row_scores(ask(lambda rows: np.log(model.predict_proba(rows)), POINTS), LABELS)
    assert raw == pytest.approx(known)
    assert not are_probabilities(logits)


def test_labels_are_numbers_of_columns_where_classes_have_no_names():
    def model(rows):
        return np.eye(3)[np.digitize(rows[:, 0], [-0.5, 0.5])]

    right = np.digitize(POINTS[:, 0], [-0.5, 0.5])
    asked = ask(model, POINTS)
    scoring = scoring_for(None, asked, Data(POINTS, right))
    assert scoring.row_scores(asked, right).mean() == 1
    with pytest.raises(InputError, match=r"0 to 2, and 3 is none"):
        scoring_for(None, asked, Data(POINTS, right + 1))
    with pytest.raises(InputError, match="classes_"):
        scoring_for(None, asked, Data(POINTS, right), Data(POINTS, right + 1))
    with pytest.raises(InputError, match="-1"):
        scoring_for(None, asked, Data(POINTS, np.where(right == 0, -1, right)))


def test_truth_values_are_the_classes_0_and_1():
    asked = ask(LogisticRegression().fit(POINTS, LABELS), POINTS)
    data = Data(POINTS, LABELS.astype(bool))
    scores = scoring_for(None, asked, data).row_scores(asked, data.labels)
    assert scores.mean() > 0.9
