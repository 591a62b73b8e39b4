"""Bands: the paper's in both units, and those fitted to answers whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from anharmonic.errors import InputError, PointsError
from anharmonic.llm.bands import PAPER, Bands, auroc, calibrate


def test_the_papers_bands_in_both_units():
    values = np.array([0.05, 0.15, 0.2, 0.3, np.nan])
    shares = [rate.value for rate in PAPER.counts(values, "sqrt1mcos").values()]
    assert shares == [0.25, 0.5, 0.25]
    degrees = np.degrees(np.arccos(1 - np.array([0.05, 0.15, 0.199, 0.3]) ** 2))
    assert [rate.value for rate in PAPER.counts(degrees, "angle").values()] == shares
    assert "ada-002" in PAPER.caveat


def test_fitted_bands_hold_the_truth():
    random = np.random.default_rng(0)
    gammas = random.random(1500)
    found = calibrate(gammas, random.random(1500) > gammas)  # good with probability 1 − gamma
    low, high = found.low_interval, found.high_interval
    assert low[0] < 0.2 < low[1]
    assert high[0] < 0.5 < high[1]
    # Of two uniform numbers, the bad one's is larger with probability 5/6.
    assert found.auroc_interval[0] < 5 / 6 < found.auroc_interval[1]
    assert calibrate(gammas, gammas < 0.4).auroc == 1.0


def test_bands_need_both_kinds_of_answers(tmp_path):
    with pytest.raises(PointsError, match="good and bad"):
        calibrate([0.1, 0.2], [True, True])
    PAPER.save(tmp_path / "b.json")
    assert Bands.load(tmp_path / "b.json") == PAPER
    with pytest.raises(InputError, match="llm calibrate"):
        Bands.load(tmp_path / "none.json")


def test_auroc_by_counting_pairs():
    random = np.random.default_rng(1)
    values, bad = random.integers(0, 5, 60), random.random(60) < 0.3
    pairs = [
        1.0 if one > two else 0.5 if one == two else 0.0
        for one in values[bad]
        for two in values[~bad]
    ]
    assert auroc(values, bad) == pytest.approx(np.mean(pairs), rel=1e-12)
