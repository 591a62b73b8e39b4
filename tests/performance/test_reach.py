"""What the reference covers: categories of many levels, times and counters; AUC by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anharmonic.performance import fit_performance
from anharmonic.performance.reach import MARKS, fit_reach
from anharmonic.performance.shifting import WIDEST, drift_variances
from tests.performance.test_estimator import calibrated


def test_levels_beyond_the_first_two_hundred_are_known() -> None:
    outputs, labels = calibrated(4000, 0)
    shops = (np.arange(4000) % 400)[:, None].astype(float)
    estimator = fit_performance(
        outputs, labels, shops, categories=np.array([True]), names=("shop",)
    )
    assert estimator.estimate(outputs, shops).known
    assert not estimator.reach.outside(np.array([[399.0, 0.5, 0.5]])).any()
    new = estimator.reach.outside(np.array([[400.0, 0.5, 0.5], [-1.0, 0.5, 0.5]]))
    assert new[:, 0].all()
    assert "shop" in estimator.estimate(outputs, shops + 300).reason


def test_unknown_levels_are_none_of_the_known_ones() -> None:
    reach = fit_reach(np.zeros((500, 1)), np.array([True]), ("town",))
    # All rows of level 0 before, half of them of a level that nobody knows now.
    now = np.array([[0.0], [-1.0]] * 500)
    assert reach.distances(now)[0] == pytest.approx(0.5 - 1.5 / np.sqrt(1000))
    assert len(reach.marks[0]) == MARKS


def test_times_and_counters_do_not_say_whether_traffic_is_like_the_reference() -> None:
    outputs, labels = calibrated(3000, 1)
    count = np.arange(3000.0)
    # A counter, and a date that does not always rise, of which somebody says what it is.
    date = count + 30 * np.random.default_rng(0).normal(size=3000)
    features = np.stack([count, date, outputs[:, 1]], axis=1)
    said = np.array([False, True, False])
    estimator = fit_performance(outputs, labels, features, advancing=said)
    later = features + np.array([5000.0, 5000.0, 0.0])
    found = estimator.estimate(outputs, later)
    assert found.known, found.reason
    # Others still do: here the date, where nobody says so.
    plain = fit_performance(outputs, labels, features, names=("count", "date", "x"))
    assert "date (100%)" in plain.estimate(outputs, later).reason
    # A column of numbers in any order is compared as before.
    later[:, 2] += 3
    assert not estimator.estimate(outputs, later).known


def classes(count: int, seed: int) -> tuple[Any, Any]:
    """Four classes, of which every stretch lacks one; and a drift."""
    random = np.random.default_rng(seed)
    sharp = random.uniform(size=count)
    outputs = np.stack([sharp, 1 - sharp, *np.full((2, count), 0.02)], axis=1)
    outputs /= outputs.sum(axis=1, keepdims=True)
    turned = np.where(np.arange(count) < count // 2, sharp, 0.3 + 0.4 * sharp)
    labels = np.where(random.uniform(size=count) < turned, 0, 1)
    labels[: count // 2 : 25], labels[count // 2 :: 25] = 2, 3
    return outputs, labels


def test_the_drift_of_auc_is_seen_where_stretches_lack_a_class() -> None:
    outputs, labels = classes(2000, 0)
    assert fit_performance(outputs, labels).drift["auc"] > 1e-4


def test_an_auc_that_no_stretch_has_may_be_anything() -> None:
    outputs, _ = calibrated(400, 0)
    found = drift_variances(
        outputs, np.zeros(400, int), outputs[:, 1:], np.ones(2), "classes", 0, trees=False
    )
    assert found["auc"] == WIDEST
    assert found["accuracy"] < WIDEST
