"""Labels before their window is full, chosen labels, how large a fall is and since when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anharmonic.errors import SettingsError
from anharmonic.performance import (
    FallDetector,
    PerformanceTracker,
    choose_rows,
    fit_performance,
)
from tests.performance.test_estimator import calibrated


@pytest.fixture(scope="module")
def estimator() -> Any:
    return fit_performance(*calibrated(3000, 0))


def names(numbers: Any) -> list[str]:
    return [str(number) for number in numbers]


def test_early_labels_of_a_slow_segment_wait_with_their_rows(estimator: Any) -> None:
    outputs, labels = calibrated(6000, 3)
    # As few rows may wait as a window has: those of the slow segment's window are long gone.
    tracker = PerformanceTracker(estimator, pending=500)
    used = 0
    for row in range(6000):
        slow = row % 11 == 0
        tracker.update(
            outputs[row : row + 1], ids=[str(row)], segments=["slow" if slow else "fast"]
        )
        if slow:
            used += tracker.add_labels([str(row)], labels[row : row + 1]).used
    rows = np.arange(0, 6000, 11)
    assert used == len(rows)
    found = tracker.by_segment()["slow"]
    assert found.labelled == 500
    right = (outputs[rows].argmax(axis=1) == labels[rows])[:500].mean()
    assert found["accuracy"] == pytest.approx((right, right, right), abs=1e-12)


def test_windows_larger_than_what_waits_lose_no_early_label(estimator: Any) -> None:
    outputs, labels = calibrated(400, 4)
    tracker = PerformanceTracker(estimator, window=400, pending=50)
    for row in range(400):
        tracker.update(outputs[row : row + 1], ids=[str(row)])
        if row % 4 == 0:
            assert tracker.add_labels([str(row)], labels[row : row + 1]).used == 1
    assert tracker.performance().labelled == 100


def test_early_labels_are_restored_to_the_bit(estimator: Any) -> None:
    outputs, labels = calibrated(300, 5)
    whole, first = (PerformanceTracker(estimator, window=200) for _ in range(2))
    for tracker in (whole, first):
        tracker.update(outputs[:150], ids=names(range(150)))
        tracker.add_labels(names(range(0, 150, 3)), labels[:150:3])
    second = PerformanceTracker(estimator, window=200)
    second.restore(first.state())
    assert repr(second.performance()) == repr(first.performance())
    for tracker in (whole, second):
        tracker.update(outputs[150:], ids=names(range(150, 300)))
        tracker.add_labels(names(range(1, 300, 5)), labels[1::5])
    assert whole.state() == second.state()


def test_labels_of_an_open_first_window_sharpen_what_is_said(estimator: Any) -> None:
    outputs, _ = calibrated(300, 6)
    labels = np.random.default_rng(0).integers(0, 2, 300)
    tracker = PerformanceTracker(estimator, window=500)
    tracker.update(outputs, ids=names(range(300)))
    before = tracker.performance()["accuracy"]
    tracker.add_labels(names(range(0, 300, 2)), labels[::2])
    after = tracker.performance()
    assert after.labelled == 150
    assert abs(after["accuracy"].value - 0.5) < abs(before.value - 0.5) / 2
    # A full set of labels says it exactly.
    tracker.add_labels(names(range(1, 300, 2)), labels[1::2])
    right = (outputs.argmax(axis=1) == labels).mean()
    assert tracker.performance()["accuracy"] == pytest.approx((right, right, right), abs=1e-12)


def rare(count: int, seed: int) -> tuple[Any, Any]:
    """One row in ten is a coin's throw, all others are nearly sure."""
    random = np.random.default_rng(seed)
    sure = np.where(random.uniform(size=count) < 0.5, 0.001, 0.999)
    second = np.where(random.uniform(size=count) < 0.1, 0.5, sure)
    return np.stack([1 - second, second], axis=1), (random.uniform(size=count) < second) * 1


def test_chosen_labels_one_by_one_are_still_chosen() -> None:
    estimator = fit_performance(*rare(3000, 0))
    outputs, labels = rare(20_000, 1)
    one, several = PerformanceTracker(estimator), PerformanceTracker(estimator)
    chosen = choose_rows(estimator, outputs, None, 3000)
    for tracker in (one, several):
        tracker.update(outputs, ids=names(range(20_000)))
    for row, chance in zip(chosen.rows, chosen.probabilities, strict=True):
        # Without their share they raise nothing, and are no sample for the mean.
        assert one.add_labels([str(row)], labels[[row]], float(chance)).fall is None
    assert np.isnan(one.mean_loss().value)
    assert one.detector.seen == 0
    for row, chance in zip(chosen.rows, chosen.probabilities, strict=True):
        fall = several.add_labels([str(row)], labels[[row]], float(chance), share=0.15).fall
        assert fall is None
    # Weighted by share/π, the losses are those of all rows.
    wrong = (outputs.argmax(axis=1) != labels).mean()
    assert several.detector.total / several.detector.seen == pytest.approx(wrong, rel=0.15)


def test_a_fall_knows_its_row_and_its_size() -> None:
    random = np.random.default_rng(0)
    losses = np.concatenate([random.uniform(size=300) < 0.1, random.uniform(size=200) < 0.6])
    rows = 1000 + 10 * np.arange(500)
    fall = FallDetector(0.15, rate=5000).add(losses.astype(float), rows.tolist())[1]
    assert fall is not None
    assert abs(fall.since - 300) < 20
    assert abs(fall.row - (1000 + 10 * fall.since)) <= 10
    assert fall.loss == pytest.approx(losses[fall.since : fall.at + 1].mean(), abs=0.1)
    # Cleared, the same label raises nothing; labels are counted on.
    again = FallDetector(0.15, rate=5000).add(losses[: fall.at + 1].astype(float))[0]
    cleared = again.cleared()
    assert (cleared.seen, cleared.log_evidence) == (fall.at + 1, 0.0)
    assert cleared.add(np.ones(1))[1] is None


def test_metrics_stay_where_they_can_be(estimator: Any) -> None:
    outputs, _ = calibrated(400, 7)
    tracker = PerformanceTracker(estimator, window=200)
    tracker.update(outputs, ids=names(range(400)))
    wrong = 1 - outputs.argmax(axis=1)
    tracker.add_labels(names(range(0, 400, 2)), wrong[::2])
    for interval in (tracker.performance()["accuracy"], tracker.performance()["auc"]):
        assert 0 <= interval.low <= interval.value <= interval.high <= 1


def test_rows_keep_the_numbers_of_the_stream(estimator: Any) -> None:
    outputs, _ = calibrated(200, 8)
    tracker = PerformanceTracker(estimator, window=100)
    # Every other row of the stream has an answer.
    tracker.update(outputs, ids=names(range(200)), rows=range(0, 400, 2))
    assert [(one.first, one.last) for one in tracker.curve()] == [(0, 198), (200, 398)]


def test_segments_that_are_not_followed_are_said(estimator: Any) -> None:
    outputs, _ = calibrated(40, 9)
    tracker = PerformanceTracker(estimator, segments=2)
    with pytest.warns(UserWarning, match="segment 'c' and further ones .* first 2 do"):
        tracker.update(outputs, segments=["a", "b", "c", None] * 10)
    assert set(tracker.by_segment()) == {"a", "b"}
    with pytest.raises(SettingsError, match="'c' is not followed: give one of a, b"):
        tracker.curve(segment="c")
    # Rows without a segment are of none.
    tracker = PerformanceTracker(estimator)
    tracker.update(outputs, segments=["", None] * 20)
    assert tracker.by_segment() == {}
