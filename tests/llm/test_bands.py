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
    held = np.zeros(3)
    for seed in range(12):
        random = np.random.default_rng(seed)
        gammas = random.random(300)
        good = random.random(300) > gammas  # with probability 1 − gamma
        found = calibrate(gammas, good, rounds=200)
        # Of two such answers, the bad one's gamma is larger with probability 5/6.
        ends = found.low_interval, found.high_interval, found.auroc_interval
        held += [
            low <= truth <= high for (low, high), truth in zip(ends, (0.2, 0.5, 5 / 6), strict=True)
        ]
    # By chance fewer than 9 of 12 intervals of 95% hold the truth once in 400 times.
    assert (held >= 9).all()
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
