"""Tests and intervals against exact answers, and the page's rate against simulation."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from anharmonic.auditing.finding import CheckResult, Finding, Measured
from anharmonic.auditing.holding import held, part_of
from anharmonic.auditing.statistics import above, all_in_one, ratio_of, share_above


def finding(chance: float, check: str = "a", severity: str = "medium") -> Finding:
    words = ("The age is 1.", "Others are 0.", "Look.")
    return Finding(check, "Old", severity, "age", *words, Measured(1, 0, 2), chance)


@pytest.mark.parametrize(("count", "side", "other"), [(1, 3, 2), (2, 3, 4), (3, 3, 1), (4, 3, 9)])
def test_all_in_one_is_the_share_of_deals(count, side, other):
    deals = list(combinations(range(side + other), count))
    inside = sum(all(row < side for row in deal) for deal in deals)
    assert all_in_one(count, side, other) == pytest.approx(inside / comb(side + other, count))


@given(st.integers(1, 60), st.data(), st.floats(0.01, 0.99))
def test_share_above_is_the_binomial_tail(count, data, limit):
    hits = data.draw(st.integers(0, count))
    assert share_above(hits, count, limit) == pytest.approx(
        stats.binom.sf(hits - 1, count, limit), rel=1e-9
    )


def test_above_is_students_test():
    values = np.random.default_rng(0).normal(0.3, 1, 40)
    assert above(values) == pytest.approx(
        stats.ttest_1samp(values, 0, alternative="greater").pvalue
    )


def test_a_ratios_interval_holds_it_as_often_as_it_says():
    random = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        lower = (random.random(300) < 0.1).astype(float)
        upper = np.maximum(lower, random.random(300) < 0.1)
        ratio = ratio_of(upper, lower)
        inside += ratio.low <= 1.9 <= ratio.high
    assert 0.92 <= inside / 400 <= 0.98


def test_a_ratio_of_nothing_is_finite():
    ratio = ratio_of(np.ones(50), np.zeros(50))
    assert np.isfinite(ratio[:3]).all()
    assert ratio.value > 10


def test_each_check_has_its_part_and_each_test_its_share():
    results = [
        CheckResult("a", "A", "", (finding(0.012), finding(0.02), finding(0.024)), tests=2),
        CheckResult("b", "B", "", (finding(0.03, "b"),), tests=2),
        CheckResult("c", "C", "", tests=0),
        CheckResult("d", "D", "", skipped="no labels"),
    ]
    assert part_of(0.05, results) == 0.025
    facts = CheckResult("e", "E", "", (finding(0.0, "e"),), factual=True)
    assert part_of(0.05, [*results, facts]) == 0.025
    assert held([facts], 0.05)
    # 0.025 / 2 for the surest, then 0.025 for the next one and those after it.
    assert [entry.chance for entry in held(results, 0.05)] == [0.012, 0.02, 0.024]
    assert held(results, 0.01) == ()


def test_the_worst_stand_first():
    several = (finding(0.0, severity="low"), finding(1e-9, severity="high"), finding(0.0))
    kept = held([CheckResult("a", "A", "", several, tests=3)], 0.05)
    assert [entry.severity for entry in kept] == ["high", "medium", "low"]


def test_clean_pages_have_false_findings_no_more_often_than_promised():
    random = np.random.default_rng(0)
    pages = 0
    for _ in range(2000):
        results = [
            CheckResult(
                name, name, "", tuple(finding(float(p), name) for p in random.random(tests)), tests
            )
            for name, tests in (("a", 1), ("b", 20), ("c", 3), ("d", 8))
        ]
        pages += bool(held(results, 0.05))
    # Independent tests use the bound nearly up: 0.05, give or take three errors of 0.005.
    assert 0.03 <= pages / 2000 <= 0.065
