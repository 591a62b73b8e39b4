"""Along a stream: any batches, late labels, restored to the bit; what holds at any time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anharmonic.errors import InputError, SettingsError
from anharmonic.performance import (
    FallDetector,
    MeanSequence,
    PerformanceTracker,
    fit_performance,
)
from anharmonic.performance.bias import _smoothed, smooth_bias
from anharmonic.performance.metrics import metric_value
from anharmonic.performance.windows import label_noise
from tests.performance.test_estimator import calibrated


@pytest.fixture(scope="module")
def estimator() -> Any:
    return fit_performance(*calibrated(3000, 0))


def feed(tracker: PerformanceTracker, outputs: Any, size: int, first: int = 0) -> None:
    for start in range(0, len(outputs), size):
        part = outputs[start : start + size]
        numbers = range(first + start, first + start + len(part))
        tracker.update(
            part,
            ids=[str(number) for number in numbers],
            times=[f"2026-01-01T{number % 24:02d}" for number in numbers],
            segments=["even" if number % 2 == 0 else "odd" for number in numbers],
        )


def test_batches_do_not_matter(estimator: Any) -> None:
    outputs, labels = calibrated(1000, 1)
    states = []
    for size in (1, 7, 1000):
        tracker = PerformanceTracker(estimator, window=200)
        feed(tracker, outputs, size)
        tracker.add_labels([str(number) for number in range(0, 1000, 10)], labels[::10])
        states.append(tracker.state())
    assert states[0] == states[1] == states[2]


def test_restored_to_the_bit(estimator: Any) -> None:
    outputs, labels = calibrated(1500, 2)
    whole, first = (PerformanceTracker(estimator, window=200, pending=400) for _ in range(2))
    feed(whole, outputs[:950], 50)
    whole.add_labels([str(number) for number in range(700, 950, 5)], labels[700:950:5])
    feed(first, outputs[:950], 50)
    first.add_labels([str(number) for number in range(700, 950, 5)], labels[700:950:5])
    second = PerformanceTracker(estimator, window=200, pending=400)
    second.restore(first.state())
    assert second.state() == first.state()
    for tracker in (whole, second):
        feed(tracker, outputs[950:], 50, first=950)
        tracker.add_labels([str(number) for number in range(1000, 1500, 5)], labels[1000::5])
    assert whole.state() == second.state()
    assert [repr(line) for line in whole.curve()] == [repr(line) for line in second.curve()]
    with pytest.raises(SettingsError, match="other settings"):
        PerformanceTracker(estimator, window=300).restore(first.state())
    with pytest.raises(InputError, match="no tracker's"):
        second.restore(b"nothing")


def test_all_labels_give_the_window_exactly(estimator: Any) -> None:
    outputs, labels = calibrated(400, 3)
    tracker = PerformanceTracker(estimator, window=200)
    feed(tracker, outputs, 33)
    # Some labels before their window is closed, and one for nobody.
    report = tracker.add_labels([*map(str, range(400)), "nobody"], np.append(labels, 0))
    assert (report.used, report.unknown) == (400, ("nobody",))
    right = (outputs.argmax(axis=1) == labels)[200:].mean()
    found = tracker.performance()["accuracy"]
    assert found == pytest.approx((right, right, right), abs=1e-12)
    assert not tracker.pending.rows
    assert set(tracker.by_segment()) == {"even", "odd"}
    assert tracker.by_segment()["odd"].labelled == 200
    assert len(tracker.curve().to_frame("pyarrow")) == 2


def test_early_labels_count_when_the_window_closes(estimator: Any) -> None:
    outputs, labels = calibrated(200, 4)
    tracker = PerformanceTracker(estimator, window=200)
    feed(tracker, outputs[:150], 50)
    tracker.add_labels([str(number) for number in range(100)], labels[:100])
    feed(tracker, outputs[150:], 50, first=150)
    assert tracker.performance().labelled == 100


def test_size_is_bounded(estimator: Any) -> None:
    outputs, _ = calibrated(6000, 5)
    tracker = PerformanceTracker(estimator, window=100, windows=4, pending=300)
    feed(tracker, outputs[:3000], 500)
    before = len(tracker.state())
    feed(tracker, outputs[3000:], 500, first=3000)
    assert abs(len(tracker.state()) - before) < 0.02 * before
    assert len(tracker.curve()) == 4


def test_few_labels_find_a_bias(estimator: Any) -> None:
    outputs, _ = calibrated(6000, 6)
    labels = np.random.default_rng(1).integers(0, 2, 6000)
    tracker = PerformanceTracker(estimator, window=500)
    feed(tracker, outputs, 500)
    without = np.mean([abs(line["accuracy"].value - 0.5) for line in tracker.curve()])
    report = tracker.add_labels([str(number) for number in range(0, 6000, 40)], labels[::40])
    late = np.mean([abs(line["accuracy"].value - 0.5) for line in tracker.curve()])
    assert late < without / 2
    assert tracker.mean_loss().low > 0.3
    assert report.fall is not None


def test_few_labels_do_no_harm_where_nothing_is_wrong(estimator: Any) -> None:
    without, late = [], []
    for seed in range(8):
        outputs, labels = calibrated(6000, 40 + seed)
        tracker = PerformanceTracker(estimator, window=500)
        tracker.update(outputs, ids=[str(row) for row in range(6000)])
        right = (outputs.argmax(axis=1) == labels).reshape(-1, 500).mean(axis=1)
        without.append(gap(tracker, right))
        rows = np.random.default_rng(seed).permutation(6000)[:120]
        tracker.add_labels([str(row) for row in rows], labels[rows])
        late.append(gap(tracker, right))
    assert np.mean(late) < 1.1 * np.mean(without), (without, late)


def gap(tracker: PerformanceTracker, truth: Any) -> float:
    found = [line["accuracy"].value for line in tracker.curve()]
    return float(np.abs(np.array(found) - truth).mean())


def test_bias_is_the_exact_posterior_where_it_is_constant() -> None:
    random = np.random.default_rng(0)
    seen, variances = random.normal(size=9), random.uniform(0.5, 2, size=9)
    variances[4] = np.inf
    p = np.array([0.3, 5.0])
    means, spreads, _ = _smoothed(seen, variances, p, np.zeros(2))
    exact = 1 / (1 / p + (1 / variances).sum())
    assert np.allclose(spreads, exact)
    assert np.allclose(means, exact * (seen / variances).sum())
    # Without labels nothing is known but what was allowed for.
    mean, variance = smooth_bias(np.zeros(3), np.full(3, np.inf), np.array([1.0, 2, 3]))
    assert (mean.tolist(), variance.tolist()) == ([0.0] * 3, [1.0, 2.0, 3.0])


def test_lucky_labels_count_no_more_than_others(estimator: Any) -> None:
    outputs, labels = calibrated(400, 9)
    tracker = PerformanceTracker(estimator, window=200)
    feed(tracker, outputs, 200)
    right = np.flatnonzero(outputs.argmax(axis=1) == labels)
    lucky, mixed = right[right < 200][:10], np.arange(200, 210)
    rows = np.concatenate([lucky, mixed])
    tracker.add_labels([str(row) for row in rows], labels[rows])
    windows = tracker.tracks[None].windows
    noise = label_noise(windows)[:, 0]
    own = np.array([window.own[0] for window in windows])
    assert noise[0] / own[0] == pytest.approx(noise[1] / own[1])


def test_sequences_hold_at_all_times() -> None:
    missed = 0
    for seed in range(120):
        values = np.random.default_rng(seed).uniform(size=300) < 0.2
        sequence, out = MeanSequence(), False
        for start in range(0, 300, 10):
            sequence = sequence.add(values[start : start + 10])
            interval = sequence.interval(0.9)
            out |= not interval.low <= 0.2 <= interval.high
        missed += out
    assert missed <= 12


def test_false_alarms_keep_their_rate() -> None:
    alarms = 0
    for seed in range(200):
        losses = np.random.default_rng(seed).uniform(size=500) < 0.2
        alarms += FallDetector(0.2, rate=5000).add(losses)[1] is not None
    assert alarms <= 200 * 500 / 5000 + 3 * np.sqrt(20)
    worse = np.random.default_rng(0).uniform(size=500) < np.repeat([0.2, 0.5], 250)
    fall = FallDetector(0.2, rate=5000).add(worse)[1]
    assert fall is not None
    assert 200 <= fall.since <= fall.at < 400


@pytest.mark.parametrize(("turned", "offset"), [(1.0, 0.0), (1.0, -3.0), (0.5, -3.0)])
def test_an_auc_that_labels_move_far_keeps_an_honest_interval(turned: float, offset: float) -> None:
    """It is moved along a line, past 0 even: that is no reason to be sure of 0."""
    random = np.random.default_rng(5)

    def rows(count: int, share: float) -> tuple[Any, Any]:
        up = 1 / (1 + np.exp(-2 * random.normal(size=count) - offset))
        labels = (random.uniform(size=count) < up) * 1
        labels = np.where(random.uniform(size=count) < share, 1 - labels, labels)
        return np.stack([1 - up, up], axis=1), labels

    tracker = PerformanceTracker(fit_performance(*rows(1500, 0.0)), window=200)
    outputs, labels = rows(1000, turned)
    tracker.update(outputs, ids=[str(row) for row in range(1000)])
    tracker.add_labels([str(row) for row in range(0, 1000, 10)], labels[::10])
    for number, said in enumerate(tracker.curve()):
        part = slice(200 * number, 200 * number + 200)
        truth = metric_value("auc", outputs[part], np.eye(2)[labels[part]])
        assert said["auc"].low <= truth <= said["auc"].high
