"""Intervals of AUROCs hold the truth in small and in separated sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from anharmonic._core.auroc import auroc, auroc_interval
from anharmonic.llm.bands import calibrate
from studies.images.ranking import ranked


@pytest.mark.finding("numbers A11")
@pytest.mark.parametrize(
    ("bad", "good", "true"),
    [(10, 40, 0.961), (5, 20, 0.961), (8, 8, 0.983), (10, 40, 0.76), (50, 50, 0.9)],
)
def test_a_95_percent_interval_holds_the_truth(bad: int, good: int, true: float) -> None:
    """Percentiles of resamplings held it in 81, 73, 46, 93 and 91%."""
    random = np.random.default_rng(1)
    flags = np.arange(bad + good) < bad
    held = 0
    for _ in range(400):
        values = random.normal(size=bad + good) + np.sqrt(2) * ndtri(true) * flags
        found = auroc_interval(values, flags)
        assert found.low < found.high
        held += found.low <= true <= found.high
    assert held / 400 >= 0.93


@pytest.mark.finding("numbers A11")
def test_separated_sets_are_not_certain() -> None:
    values, bad = np.arange(16.0), np.arange(16) >= 8
    assert auroc(values, bad) == 1
    value, low, high = auroc_interval(values, bad)
    assert (value, high) == (1, 1)
    assert 0.6 < low < 0.85
    assert calibrate(values, ~bad).auroc_interval[0] == low == ranked(values, bad).low
    assert auroc_interval(-values, bad).high == pytest.approx(1 - low)


def test_intervals_shrink_with_the_root_of_the_size_and_meet_delong() -> None:
    """In large sets with unequal spreads the width is DeLong's."""
    random = np.random.default_rng(0)
    flags = np.arange(4000) < 1000
    values = np.where(flags, 1 + 3 * random.normal(size=4000), random.normal(size=4000))
    found = auroc_interval(values, flags)
    pairs = values[flags][:, None] > values[~flags]
    error = np.sqrt(pairs.mean(1).var() / 1000 + pairs.mean(0).var() / 3000)
    assert found.value == pytest.approx(pairs.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.02)
    assert np.isnan(auroc_interval(values, np.ones(4000)).low)
