"""How answers and labels are read: classes as floats, margins, log-odds, labels of functions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import anharmonic as ah
from anharmonic.auditing.checks.accuracy import check_accuracy
from anharmonic.auditing.checks.rounding import check_rounding
from anharmonic.auditing.reading import Reading
from anharmonic.errors import InputError
from tests.audit.cases import context_of, numbers, smooth

ROWS = numbers(400)
TRUTH = (ROWS[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", [float, int, bool, str])
def test_labels_are_classes_whatever_numbers_they_are_written_as(kind):
    labels = (2 * TRUTH - 1).astype(kind) if kind is not bool else TRUTH.astype(bool)
    model = LogisticRegression().fit(ROWS, labels)
    context = context_of(model, ROWS, labels=labels)
    assert (context.reference.labels == TRUTH).all()
    unnamed = context_of(lambda x: model.predict_proba(x), ROWS, labels=labels)
    assert (unnamed.reference.labels == TRUTH).all()


@pytest.mark.parametrize("fitted", [int, bool])
def test_truth_values_are_the_classes_0_and_1(fitted):
    model = LogisticRegression().fit(ROWS, TRUTH.astype(fitted))
    context = context_of(model, ROWS, labels=TRUTH.astype(bool if fitted is int else int))
    assert (context.reference.labels == TRUTH).all()
    with pytest.raises(InputError, match="no classes of the model"):
        context_of(model, ROWS, labels=TRUTH + 1)


def test_labels_of_twelve_classes_are_in_the_order_of_numbers_and_not_of_texts():
    labels = np.arange(400) % 12

    def knows(points):
        return np.eye(12)[labels[: len(points)]]

    context = context_of(knows, ROWS, labels=labels)
    assert context.classes[9:] == ("9", "10", "11")
    assert (context.reference.labels == labels).all()


def test_margins_of_two_classes_decide_as_the_model_does():
    model = SVC().fit(ROWS, np.where(TRUTH, "yes", "no"))
    context = context_of(model, ROWS, labels=np.where(TRUTH, "yes", "no"))
    assert (context.task, context.classes, context.reading.word) == (
        "classes",
        ("no", "yes"),
        "score",
    )
    decided = np.array(context.classes)[context.reference.answers.argmax(axis=1)]
    assert (decided == model.predict(ROWS)).all()
    assert "right at 99" in check_accuracy(context).summary


def test_columns_of_log_odds_become_shares_that_decide_alike():
    columns = 9 * smooth(ROWS) - 4
    context = context_of(lambda points: 9 * smooth(points) - 4, ROWS, labels=TRUTH)
    assert context.reading == Reading("classes", ("0", "1"), "log-odds", "score")
    assert context.reference.answers.sum(axis=1) == pytest.approx(np.ones(400))
    assert (context.reference.answers.argmax(axis=1) == columns.argmax(axis=1)).all()


def test_probabilities_that_rounding_takes_beyond_one_stay_probabilities():
    context = context_of(lambda points: smooth(points) * (1 + 1e-6), ROWS, labels=TRUTH)
    assert (context.reading.form, context.reading.word) == ("columns", "probability")


def test_numbers_that_classes_are_written_as_are_read_as_classes():
    model = LogisticRegression().fit(ROWS, TRUTH + 1)
    context = context_of(ah.as_model(model, output="label"), ROWS, labels=TRUTH + 1)
    assert (context.task, context.classes) == ("classes", ("1", "2"))
    assert (context.reference.answers.argmax(axis=1) + 1 == model.predict(ROWS)).all()


def test_one_number_far_beyond_two_labels_is_asked_about():
    def log_odds(points):
        return 4 * np.asarray(points)[:, 0]

    with pytest.raises(InputError, match=r"output='probability'.* if these are log-odds"):
        context_of(log_odds, ROWS, labels=TRUTH)
    asked = context_of(ah.as_model(log_odds, output="probability"), ROWS, labels=TRUTH)
    assert asked.task == "classes"
    # Whoever names a column has numbers; so has a model that stays near its two labels.
    assert context_of(ah.as_model(log_odds, output=0), ROWS, labels=TRUTH).task == "numbers"
    near = context_of(lambda points: 0.4 * np.asarray(points)[:, 0] + 0.5, ROWS, labels=TRUTH)
    assert near.task == "numbers"


def test_a_function_that_answers_labels_only_is_asked_about():
    three = TRUTH + (ROWS[:, 1] > 0)
    model = LogisticRegression().fit(ROWS, three)
    with pytest.raises(InputError, match="not its predict"):
        context_of(model.predict, ROWS, labels=three)
    told = ah.as_model(model.predict, output="onehot", classes=[0, 1, 2])
    assert context_of(told, ROWS, labels=three).classes == ("0", "1", "2")


def test_missing_labels_are_refused_in_words():
    labels = TRUTH.astype(float)
    labels[3] = np.nan
    with pytest.raises(InputError, match="missing in some rows"):
        context_of(LogisticRegression().fit(ROWS, TRUTH), ROWS, labels=labels)


def test_one_probability_in_half_precision_is_found():
    def halved(points):
        return smooth(points)[:, 1].astype(np.float16).astype(float)

    (found,) = check_rounding(context_of(halved, ROWS, labels=TRUTH)).candidates
    assert found.facts["format"] == "float16"
