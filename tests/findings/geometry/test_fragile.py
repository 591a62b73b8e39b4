"""Whichever end of a measure is the fragile one, that end is called the worst."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import anharmonic as ah
from anharmonic import baselines, plots, tracking

POINTS = np.random.default_rng(0).normal(size=(120, 3))
SLOPE = np.array([1.0, -0.5, 0.2])


def near(x):
    return np.stack([x @ SLOPE, -(x @ SLOPE)], axis=1)


def far(x):
    return 4 * near(x)


def paper(model, points, **arguments):
    return ah.nstep_robustness(model, points, kind="paper", **arguments)


SMALL = {
    "margin": baselines.margin,
    "confidence": baselines.confidence,
    "great": baselines.great,
    "paper": paper,
}
LARGE = {"gamma": ah.gamma, "flips": baselines.flip_rate, "walks": ah.nstep_robustness}


@pytest.mark.finding("numbers A8", "coverage slips: worst()")
@pytest.mark.parametrize("name", SMALL)
def test_the_worst_of_small_is_fragile_is_the_smallest(name, tmp_path):
    scores = SMALL[name](near, POINTS, radius=0.3, output="logit")
    assert scores.fragile == "small"
    worst = scores.worst(10)
    usual = np.median(scores.values)
    assert (scores.values[worst] < usual).all()
    if name in ("margin", "confidence"):
        np.testing.assert_array_equal(worst, np.argsort(scores.values, kind="stable")[:10])
    again = ah.Scores.load(scores.save(tmp_path / "scores.parquet"))
    np.testing.assert_array_equal(again.worst(10), worst)


@pytest.mark.finding("numbers A8")
@pytest.mark.parametrize("name", LARGE)
def test_the_worst_of_the_others_stays_the_largest(name):
    scores = LARGE[name](near if name != "gamma" else lambda x: x[:, 0] ** 3, POINTS, radius=0.3)
    assert scores.fragile == "large"
    assert scores.values[scores.worst(5)].min() >= np.median(scores.values)


@pytest.mark.finding("numbers A8")
def test_a_file_that_does_not_say_is_known_by_its_measure():
    scores = paper(near, POINTS, radius=0.3)
    scores = replace(scores, settings=scores.settings.without("fragile"))
    assert scores.fragile == "small"


@pytest.mark.finding("numbers A8")
def test_tables_and_pictures_show_the_fragile_end():
    scores = baselines.margin(near, POINTS)
    smallest = np.argsort(scores.values, kind="stable")
    assert tracking._metrics(scores)["worst"] == pytest.approx(scores.values.min())
    assert tracking._worst(scores)["row"] == smallest[: tracking.ROWS].tolist()
    rows = [point.row for point in plots.points.worst(scores, POINTS, count=5)]
    assert rows == smallest[:5].tolist()
    figure = plots.projection(scores, POINTS)
    ringed = figure.data[-1].customdata
    assert set(ringed.tolist()) == set(smallest[: len(ringed)].tolist())


@pytest.mark.finding("coverage slips: compare(measure=baselines.confidence)")
@pytest.mark.parametrize("measure", [baselines.confidence, baselines.margin])
def test_the_least_fragile_model_is_listed_first(measure, tmp_path):
    found = ah.compare({"near": near, "far": far}, POINTS, measure=measure, output="logit")
    assert found.ranking == ["far", "near"]
    difference = found.differences[0]
    assert (difference.larger, difference.smaller, difference.real) == ("far", "near", True)
    assert difference.estimate.value > 0
    assert repr(found).index("far") < repr(found).index("near")
    page = ah.report.write(tmp_path / "page.html", found, points=POINTS).read_text()
    assert "far is the least fragile of 2 models" in page
    assert "near has the smallest" in page


@pytest.mark.finding("numbers A8")
def test_the_command_line_lists_the_fragile_rows(capsys):
    from rich.console import Console

    from anharmonic.cli.show import _worst

    scores = baselines.margin(near, POINTS)
    Console(width=200).print(_worst(scores))
    told = capsys.readouterr().out
    assert "smallest, by the upper end" in told
    assert f"│ {int(np.argmin(scores.values)):3} │" in told
