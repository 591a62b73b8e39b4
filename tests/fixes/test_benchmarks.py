"""What the benchmarks of `fix` make of their measurements."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from benchmarks.fixes import labelling
from benchmarks.fixes.kept import Kept
from benchmarks.fixes.labelling import BATCH, START, Curves, needed, ratios, report, rising
from benchmarks.fixes.proposals import Tried
from benchmarks.fixes.proposals import report as report_proposals

STEPS = 19
LABELS = START + BATCH * np.arange(STEPS)


def curves(**scores: np.ndarray) -> Curves:
    return Curves("a set", "a model", {rule: np.atleast_2d(each) for rule, each in scores.items()})


def test_a_lucky_peak_is_not_where_random_rows_got():
    flat = np.full(STEPS, 0.7)
    peak = flat.copy()
    peak[3] = 0.9
    # The last score is a noisy one too: both are evened out.
    assert rising(peak)[-1] < 0.72
    steps = np.linspace(0.5, 0.8, STEPS)
    assert rising(steps) == pytest.approx(steps)
    assert (np.diff(rising(steps + np.random.default_rng(0).normal(0, 0.1, STEPS))) >= 0).all()


def test_labels_that_are_needed_are_interpolated_and_may_be_never():
    line = np.linspace(0.5, 0.8, STEPS)
    assert needed(line, LABELS, 0.5) == START
    assert needed(line, LABELS, 0.8) == LABELS[-1]
    assert needed(line, LABELS, 0.65) == pytest.approx((START + LABELS[-1]) / 2)
    assert needed(line, LABELS, 0.81) == math.inf


def test_a_rule_that_never_gets_there_fails():
    line = np.linspace(0.5, 0.8, STEPS)
    seeds = np.arange(1)
    fast = np.minimum(line + 0.15, 0.85)
    slow = np.linspace(0.5, 0.7, STEPS)
    good = ratios(curves(random=line, margin=line, fix=fast), seeds)
    assert good.random < 0.7
    assert good.random == good.margin
    never = ratios(curves(random=line, margin=line, fix=slow), seeds)
    assert never == (math.inf, math.inf)
    # Margin sampling that never gets there counts as if it did in the end.
    ahead = ratios(curves(random=line, margin=slow, fix=fast), seeds)
    assert ahead.margin == good.margin


def test_bars_count_a_rule_that_never_gets_there_as_missed(capsys, monkeypatch):
    monkeypatch.setattr(labelling, "BOOTSTRAPS", 50)
    line = np.linspace(0.5, 0.8, STEPS)
    fast, slow = np.minimum(line + 0.15, 0.85), np.linspace(0.5, 0.7, STEPS)
    good = curves(random=line, margin=line, fix=fast)
    bad = curves(random=line, margin=line, fix=slow)
    assert list(report([good, good]).values()) == [True, True]
    # Of two models of a set one never got there.
    assert list(report([good, bad]).values()) == [False, False]
    assert "never" in capsys.readouterr().out


def test_proposals_that_cannot_be_told_are_counted(capsys):
    tried = [Tried("case", "region", True, 0.1, 0.05, 0.01) for _ in range(8)]
    assert list(report_proposals(tried).values()) == [True]
    untold = [*tried, *(Tried("case", "region", True, 0.1, None, None) for _ in range(2))]
    assert list(report_proposals(untold).values()) == [False]
    assert "(2 not told)" in capsys.readouterr().out


def test_measured_cases_are_kept_and_not_measured_again(tmp_path):
    path = tmp_path / "kept.jsonl"
    calls = []

    def measure(name: str):
        calls.append(name)
        return {"scores": (0.5, 1.0)}

    first = Kept(path)
    found = first.measured("a", lambda: measure("a"))
    assert found == {"scores": [0.5, 1.0]}
    assert first.measured("a", lambda: measure("a")) is found
    first.measured("b", lambda: measure("b"))
    # A run that is ended while it writes leaves half of a line.
    path.write_text(path.read_text()[:-9])
    again = Kept(path)
    assert again.measured("a", lambda: measure("a")) == found
    again.measured("b", lambda: measure("b"))
    assert calls == ["a", "b", "b"]
    assert set(Kept(path).cases) == {"a", "b"}
    assert json.loads(path.read_text().splitlines()[-1]) == ["b", found]
    assert Kept(None).measured("c", lambda: 1) == 1
