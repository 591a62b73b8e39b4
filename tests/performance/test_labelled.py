"""Intervals from labels: as wide as labels leave open, whoever chose them, and between groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anharmonic.errors import PointsError
from anharmonic.performance import (
    choose_rows,
    compare_groups,
    estimate_labelled,
    fit_performance,
)
from anharmonic.performance.metrics import metric_value, observed_credits, row_influences
from tests.performance.test_estimator import calibrated, errors

TRIED = 120


def sure(count: int, seed: int) -> tuple[Any, Any]:
    """A model that is nearly always sure, and right in 99 of 100 rows."""
    random = np.random.default_rng(seed)
    chance = random.beta(30, 0.3, size=count)
    second = np.where(random.uniform(size=count) < 0.5, chance, 1 - chance)
    return np.stack([1 - second, second], axis=1), (random.uniform(size=count) < second) * 1


@pytest.fixture(scope="module")
def classifier() -> Any:
    return fit_performance(*calibrated(3000, 0))


def some(count: int, of: int, seed: int) -> Any:
    chosen = np.zeros(of, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(of)[:count]] = True
    return chosen


def test_labels_of_a_subset_leave_the_rest_open(classifier: Any) -> None:
    outputs, labels = calibrated(1000, 1)
    chosen = some(50, 1000, 0)
    found = estimate_labelled(classifier, outputs, None, labels, chosen)
    # Random rows: as if their share had been given.
    assert (
        found.metrics == estimate_labelled(classifier, outputs, None, labels, chosen, 0.05).metrics
    )
    for interval in found.metrics.values():
        assert interval.high - interval.low > 0.05
    with pytest.raises(PointsError, match="50 of 1000 rows have labels, and all with the chance 1"):
        estimate_labelled(classifier, outputs, None, labels, chosen, 1.0)


@pytest.mark.parametrize("way", ["random", "chosen"])
def test_intervals_from_labels_cover_as_often_as_they_say(classifier: Any, way: str) -> None:
    covered = []
    for seed in range(TRIED):
        outputs, labels = calibrated(400, 500 + seed)
        chances = None
        chosen = some(80, 400, seed)
        if way == "chosen":
            picked = choose_rows(classifier, outputs, None, 80, seed)
            chosen, chances = np.isin(np.arange(400), picked.rows), picked.chances
        found = estimate_labelled(classifier, outputs, None, labels, chosen, chances)
        credits = observed_credits(outputs, labels, "classes")
        covered += [
            found[name].low <= metric_value(name, outputs, credits) <= found[name].high
            for name in classifier.metrics
        ]
    assert np.mean(covered) > 0.85


def test_labels_that_are_all_right_do_not_prove_that_nothing_is_wrong() -> None:
    estimator = fit_performance(*sure(3000, 0))
    covered = []
    for seed in range(TRIED):
        outputs, labels = sure(1000, 700 + seed)
        found = estimate_labelled(estimator, outputs, None, labels, some(50, 1000, seed))
        truth = (outputs.argmax(axis=1) == labels).mean()
        covered.append(found["accuracy"].low <= truth <= found["accuracy"].high)
    assert np.mean(covered) > 0.85


@pytest.mark.parametrize("way", ["all", "random", "chosen"])
def test_groups_of_one_law_seldom_differ(classifier: Any, way: str) -> None:
    clear = []
    groups = np.repeat(["a", "b"], [300, 200])
    for seed in range(TRIED):
        outputs, labels = calibrated(500, 900 + seed)
        how: dict[str, Any] = {}
        if way == "random":
            how = {"chosen": some(100, 500, seed)}
        if way == "chosen":
            picked = choose_rows(classifier, outputs, None, 100, seed)
            mask = np.isin(np.arange(500), picked.rows)
            how = {"chosen": mask, "probabilities": picked.chances}
        found = compare_groups(classifier, outputs, None, groups, labels=labels, **how)
        clear += [difference.clear for difference in found.differences]
    assert len(clear) == 3 * TRIED
    # One in ten is what the level allows, with the error of so many tries.
    assert np.mean(clear) < 0.1 + 3 * np.sqrt(0.09 / TRIED)


def test_groups_that_differ_are_told_apart_by_labels(classifier: Any) -> None:
    outputs, labels = calibrated(1000, 1)
    groups = np.repeat(["a", "b"], [600, 400])
    wrong = np.where((groups == "b") & (np.arange(1000) % 3 == 0), 1 - labels, labels)
    found = compare_groups(classifier, outputs, None, groups, labels=wrong)
    accuracy = next(one for one in found.differences if one.metric == "accuracy")
    right = outputs.argmax(axis=1) == wrong
    by_group = right[groups == "b"].mean() - right[groups == "a"].mean()
    assert accuracy.interval.value == pytest.approx(by_group)
    assert accuracy.clear


def test_labels_of_one_class_have_no_auc(classifier: Any) -> None:
    outputs, labels = calibrated(600, 2)
    groups = np.repeat(["a", "b"], 300)
    found = compare_groups(
        classifier, outputs, None, groups, labels=np.where(groups == "b", 1, labels)
    )
    assert [one.metric for one in found.differences] == ["accuracy", "log_loss"]
    assert "auc" not in found.metrics["b"]
    assert "all alike" in found.refused["b: auc"]


def test_groups_without_grounds_are_refused(classifier: Any) -> None:
    predicted, numbers, features = errors(3000, 0)
    estimator = fit_performance(predicted, numbers, features, kind="numbers")
    groups = np.repeat(["here", "far"], [2000, 1000])
    features[groups == "far", 1] += 5
    found = compare_groups(estimator, predicted, features, groups)
    assert list(found.metrics) == ["here"]
    assert "outside the reference" in found.refused["far"]
    # Labels are grounds of their own.
    both = compare_groups(estimator, predicted, features, groups, labels=numbers)
    assert set(both.metrics) == {"here", "far"}
    with pytest.raises(PointsError, match="give labels="):
        compare_groups(classifier, *calibrated(100, 0)[:1], None, np.full(100, "a"),
                       chosen=np.ones(100, bool))  # fmt: skip


def test_row_influences_add_up_to_the_variance_of_the_law() -> None:
    # Of a mean: Σ (x − mean)²/n², exactly.
    outputs, labels = calibrated(300, 3)
    credits = observed_credits(outputs, labels, "classes")
    right = outputs.argmax(axis=1) == labels
    influences = row_influences("accuracy", outputs, credits, np.ones(300))
    assert (influences**2).sum() == pytest.approx(right.var() / 300)
    # Of AUC: as many drawings of the law scatter as one of them says.
    values, told = [], []
    for seed in range(400):
        outputs, labels = calibrated(300, 2000 + seed)
        credits = observed_credits(outputs, labels, "classes")
        values.append(metric_value("auc", outputs, credits))
        told.append((row_influences("auc", outputs, credits, np.ones(300)) ** 2).sum())
    assert np.mean(told) == pytest.approx(np.var(values), rel=0.2)
    # A row of weight 2 counts as two rows.
    weights = np.ones(300)
    weights[:10] = 2
    twice = np.concatenate([np.arange(300), np.arange(10)])
    whole = row_influences("auc", outputs[twice], credits[twice], np.ones(310))
    weighted = row_influences("auc", outputs, credits, weights)
    assert np.allclose(whole[:300], weighted)


def test_rows_numbers_are_not_taken_for_marks(classifier: Any) -> None:
    outputs, labels = calibrated(400, 3)
    chosen = choose_rows(classifier, outputs, None, count=60)
    given = labels[chosen.rows]
    with pytest.raises(PointsError, match="give True or False for each"):
        estimate_labelled(classifier, outputs, None, given, chosen.rows, chosen.probabilities)
    marks = np.isin(np.arange(400), chosen.rows)
    with pytest.raises(PointsError, match="one for each row"):
        estimate_labelled(classifier, outputs, None, given, marks, chosen.probabilities)
    found = estimate_labelled(classifier, outputs, None, given, marks, chosen.chances)
    assert found.labelled == 60
    groups = np.repeat(["a", "b"], 200)
    with pytest.raises(PointsError, match="60 labels for 400 rows"):
        compare_groups(classifier, outputs, None, groups, labels=given, chosen=marks)
    for wrong in (
        {"chosen": chosen.rows},
        {"chosen": marks, "probabilities": chosen.probabilities},
    ):
        with pytest.raises(PointsError, match="for 400 rows"):
            compare_groups(classifier, outputs, None, groups, labels=labels, **wrong)
