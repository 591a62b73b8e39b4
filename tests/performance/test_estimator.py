"""Exact answers first: a calibrated model, all labels, known chances; then refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anharmonic.errors import PointsError, SettingsError
from anharmonic.performance import (
    PerformanceTracker,
    choose_rows,
    compare_groups,
    estimate_labelled,
    fit_performance,
)
from anharmonic.performance.alike import fit_likeness
from anharmonic.performance.boosting import fit_trees
from anharmonic.performance.choosing import draw_rows, inclusion_probabilities
from anharmonic.performance.metrics import metric_slopes, metric_value, observed_credits


def calibrated(count: int, seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    second = random.beta(0.7, 0.7, size=count)
    return np.stack([1 - second, second], axis=1), (random.uniform(size=count) < second) * 1


def errors(count: int, seed: int, shift: float = 0.0) -> tuple[Any, Any, Any]:
    """A regressor whose error grows with its first feature."""
    random = np.random.default_rng(seed)
    features = random.uniform(size=(count, 3)) * (1 - shift) + shift
    outputs = features.sum(axis=1)
    return outputs, outputs + (0.2 + features[:, 0]) * random.normal(size=count), features


@pytest.fixture(scope="module")
def classifier() -> Any:
    return fit_performance(*calibrated(4000, 0))


@pytest.fixture(scope="module")
def regressor() -> Any:
    outputs, labels, features = errors(4000, 0)
    return fit_performance(outputs, labels, features, kind="numbers", names=("a", "b", "c"))


def test_a_calibrated_model_is_estimated_without_bias(classifier: Any) -> None:
    outputs, _ = calibrated(50_000, 1)
    found = classifier.estimate(outputs)
    assert found.known
    assert found["accuracy"].value == pytest.approx(outputs.max(axis=1).mean(), abs=0.01)
    entropy = -(outputs * np.log(outputs)).sum(axis=1).mean()
    assert found["log_loss"].value == pytest.approx(entropy, abs=0.03)


def test_intervals_cover_as_often_as_they_say(classifier: Any) -> None:
    covered = []
    for seed in range(200):
        outputs, labels = calibrated(300, 100 + seed)
        found = classifier.estimate(outputs)
        credits = observed_credits(outputs, labels, "classes")
        covered += [
            found[name].low <= metric_value(name, outputs, credits) <= found[name].high
            for name in ("accuracy", "auc")
        ]
    assert 0.84 <= np.mean(covered) <= 0.99


def test_errors_that_grow_with_a_feature_are_followed(regressor: Any) -> None:
    outputs, labels, features = errors(3000, 5, shift=0.5)
    truth = np.abs(outputs - labels).mean()
    before = regressor.estimate(*(errors(3000, 6)[0], errors(3000, 6)[2]))["mae"].value
    found = regressor.estimate(outputs, features)["mae"]
    assert abs(found.value - truth) < 0.25 * abs(before - truth)


def test_all_labels_give_the_plain_metric(classifier: Any, regressor: Any) -> None:
    outputs, labels = calibrated(200, 3)
    everyone = np.ones(200, dtype=bool)
    found = estimate_labelled(classifier, outputs, None, labels, everyone)
    truth = (outputs.argmax(axis=1) == labels).mean()
    assert found["accuracy"] == pytest.approx((truth, truth, truth), abs=1e-12)
    credits = observed_credits(outputs, labels, "classes")
    assert found["auc"].value == pytest.approx(metric_value("auc", outputs, credits))
    predicted, numbers, features = errors(200, 3)
    found = estimate_labelled(regressor, predicted, features, numbers, everyone)
    assert found["mae"].value == pytest.approx(np.abs(predicted - numbers).mean())
    assert found["rmse"].value == pytest.approx(np.sqrt(((predicted - numbers) ** 2).mean()))


def test_inverse_chances_are_unbiased_even_if_the_estimator_is_wrong(classifier: Any) -> None:
    outputs, _ = calibrated(1000, 4)
    labels = np.random.default_rng(0).integers(0, 2, 1000)  # nothing to do with the outputs
    truth = (outputs.argmax(axis=1) == labels).mean()
    values, covered = [], []
    for seed in range(150):
        chosen = choose_rows(classifier, outputs, None, 100, seed)
        mask = np.isin(np.arange(1000), chosen.rows)
        found = estimate_labelled(classifier, outputs, None, labels, mask, chosen.chances)
        values.append(found["accuracy"].value)
        covered.append(found["accuracy"].low <= truth <= found["accuracy"].high)
    assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / np.sqrt(150))
    assert np.mean(covered) >= 0.82


def test_chances_add_up_and_rows_are_as_many_as_asked(regressor: Any) -> None:
    outputs, _, features = errors(500, 7)
    chosen = choose_rows(regressor, outputs, features, 60, seed=1)
    assert len(set(chosen.rows.tolist())) == len(chosen.reasons) == 60
    assert chosen.chances.sum() == pytest.approx(60)
    again = choose_rows(regressor, outputs, features, 60, seed=1)
    assert np.array_equal(chosen.rows, again.rows)
    spread = np.array([100.0] + [1.0] * 49)
    assert inclusion_probabilities(spread, 10)[0] == 1
    assert inclusion_probabilities(np.zeros(4), 2).tolist() == [0.5] * 4


def test_rows_are_drawn_as_often_as_their_chances_say() -> None:
    random = np.random.default_rng(0)
    chances = inclusion_probabilities(random.exponential(size=40), 10)
    losses = random.normal(size=40)
    drawn = np.zeros(40)
    for seed in range(4000):
        drawn[draw_rows(chances, losses, 10, seed)] += 1
    error = np.sqrt(chances * (1 - chances) / 4000)
    assert (np.abs(drawn / 4000 - chances) <= 4.5 * error + 1e-12).all()


def test_slopes_are_derivatives() -> None:
    outputs, labels = calibrated(40, 8)
    credits = 0.8 * observed_credits(outputs, labels, "classes") + 0.1
    for name in ("accuracy", "auc", "log_loss"):
        slopes = metric_slopes(name, outputs, credits)
        moved = credits.copy()
        moved[3, 1] += 1e-6
        change = metric_value(name, outputs, moved) - metric_value(name, outputs, credits)
        assert slopes[3, 1] * 1e-6 == pytest.approx(change, rel=1e-3, abs=1e-15)


def test_trees_read_as_arrays_answer_as_scikit_learn_does() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 3))
    rows[random.uniform(size=rows.shape) < 0.1] = np.nan
    targets = np.nan_to_num(rows[:, 0]) + random.normal(size=400)
    trees = fit_trees(rows, targets, "squared_error", 0)
    model = ensemble.HistGradientBoostingRegressor(
        max_iter=150, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=20,
        early_stopping=False, random_state=0,
    ).fit(rows, targets)  # fmt: skip
    assert np.allclose(trees(rows), model.predict(rows))
    halves = np.concatenate([trees(rows[:7]), trees(rows[7:])])
    assert np.array_equal(halves, trees(rows))


def test_rows_alike_are_counted() -> None:
    random = np.random.default_rng(0)
    reference = random.normal(size=(4000, 3))
    reference[:, 2] = random.uniform(size=4000) < 0.25
    likeness = fit_likeness(reference)
    alike = likeness.rows_alike(reference[:1000])
    assert 3800 < alike <= 4000
    # Rows that all have what a quarter of the reference has: that quarter stands behind them.
    assert likeness.rows_alike(reference[reference[:, 2] == 1]) == pytest.approx(1000, rel=0.1)
    counts = [likeness.rows_alike(reference + np.array([by, 0, 0])) for by in (0.2, 1.0, 2.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < 1000


def test_what_cannot_be_known_is_refused_in_words(regressor: Any, classifier: Any) -> None:
    outputs, _, features = errors(300, 9)
    features[:, 1] += 5
    found = regressor.estimate(outputs, features)
    assert not found.known
    assert "b (100%)" in found.reason
    features = errors(300, 9)[2]
    features[:, 1] = 0.9 + 0.1 * features[:, 1]
    found = regressor.estimate(outputs, features)
    assert not found.known
    assert "b is distributed unlike" in found.reason
    features[:, 1] = errors(300, 9)[2][:, 1]
    assert regressor.estimate(outputs, features).known
    features = features + 5
    found = regressor.estimate(outputs, features)
    assert "NOT KNOWN" in repr(found)
    assert "no:" in found._repr_html_()
    assert not classifier.estimate(calibrated(5, 0)[0]).known
    with pytest.raises(PointsError, match="at least 200"):
        fit_performance(*calibrated(50, 0))
    with pytest.raises(PointsError, match="none of the classes"):
        fit_performance(calibrated(300, 0)[0], np.full(300, "x"))
    with pytest.raises(PointsError, match="features"):
        regressor.estimate(outputs)
    with pytest.raises(SettingsError, match="count"):
        choose_rows(regressor, outputs, features, 301)


def test_groups_differ_where_they_do_and_small_ones_are_refused(classifier: Any) -> None:
    outputs, labels = calibrated(3000, 10)
    groups = np.where(np.abs(outputs[:, 1] - 0.5) < 0.25, "unsure", "sure")
    groups[:20] = "few"
    found = compare_groups(classifier, outputs, None, groups)
    accuracy = next(line for line in found.differences if line.metric == "accuracy")
    assert accuracy.clear
    assert (accuracy.group, accuracy.base) == ("unsure", "sure")
    assert "too few" in found.refused["few"]
    assert len(found.to_frame("pyarrow")) == 3
    with_labels = compare_groups(
        classifier, outputs, None, groups, labels=labels, chosen=np.arange(3000) % 3 == 0,
        probabilities=1 / 3,
    )  # fmt: skip
    assert with_labels.differences[0].clear


@pytest.mark.filterwarnings("error")
def test_a_model_without_an_error_is_said_to_be_unknown_until_labels_come() -> None:
    """Of numbers that were all right nothing says how large an error would be, in any unit."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(700, 2))
    outputs = 1000 * rows.sum(axis=1)
    estimator = fit_performance(outputs[:400], outputs[:400], rows[:400], kind="numbers")
    found = estimator.estimate(outputs[400:], rows[400:])
    assert (found["mae"].value, found["rmse"].value, found.known) == (0, 0, False)
    assert "no error at the reference" in found.reason
    tracker = PerformanceTracker(estimator, window=100)
    tracker.update(outputs[400:], rows[400:], ids=[str(row) for row in range(300)])
    errors = random.normal(size=300)
    ids = [str(row) for row in range(200, 300)]
    tracker.add_labels(ids[:50], (outputs[400:] + errors)[200:250])
    said = tracker.performance()
    few = np.abs(errors[200:250])
    assert said["mae"].low < few.mean() < said["mae"].high < 3 * few.mean()
    assert said["rmse"].low < np.sqrt((few**2).mean()) < said["rmse"].high
    tracker.add_labels(ids[50:], (outputs[400:] + errors)[250:])
    assert tracker.performance()["mae"].value == pytest.approx(np.abs(errors[200:]).mean())


@pytest.mark.parametrize("sharpness", [0.5, 2.0])
def test_accuracy_among_many_classes_is_neither_praised_nor_blamed(sharpness: float) -> None:
    """The decided class was chosen for being largest: its own curve alone says too much of it."""
    random = np.random.default_rng(0)
    weights = random.normal(size=(4, 10))

    def drawn(count: int) -> tuple[Any, Any]:
        scores = random.normal(size=(count, 4)) @ weights
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        labels = (chances.cumsum(axis=1) > random.uniform(size=(count, 1))).argmax(axis=1)
        said = np.exp(sharpness * (scores + random.normal(size=scores.shape)))
        return said / said.sum(axis=1, keepdims=True), labels

    gaps = []
    for _ in range(6):
        estimator = fit_performance(*drawn(1000))
        outputs, labels = drawn(4000)
        truth = float((outputs.argmax(axis=1) == labels).mean())
        gaps.append(estimator.estimate(outputs)["accuracy"].value - truth)
    assert abs(np.mean(gaps)) < 0.015
    assert np.allclose(estimator.expected(outputs).sum(axis=1), 1)
