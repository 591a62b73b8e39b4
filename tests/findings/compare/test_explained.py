"""One row however it comes, parts that add up to what stands above them, and tables of points."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from typer.testing import CliRunner

import anharmonic as ah
from anharmonic import plots
from anharmonic.cli import app
from anharmonic.errors import PointsError
from anharmonic.measures.explain import REMAINDER, worst_contributions
from anharmonic.plots.points import worst

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.normal(size=(60, 3))


def diagonal(x):
    """A step across two features: along either axis alone there is none."""
    x = np.asarray(x)
    return (x[:, 0] + x[:, 1] > 0.9).astype(float)


def between(x):
    """Bends along the axes far more than over all directions."""
    x = np.asarray(x)
    return np.cos(3 * (x[:, 0] - x[:, 1]))


@pytest.fixture(scope="module")
def people():
    """A table with text, whole numbers and a decision."""
    table = pd.DataFrame(
        {
            "age": RANDOM.integers(18, 80, 200),
            "balance": RANDOM.normal(size=200),
            "region": RANDOM.choice(["north", "south"], 200),
        }
    )
    labels = ((table["age"] > 45) ^ (table["balance"] > 0)).astype(int)
    encoder = make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(20, random_state=0)).fit(table, labels)
    return table, model


@pytest.mark.finding("newcomer B10")
def test_a_row_may_be_a_series_or_a_dictionary(people):
    table, model = people
    known, row = table[:150], 181
    whole = ah.explain(model, table[row : row + 1], reference=known, steps=5)
    for each in (table.iloc[row], table.iloc[row].to_dict(), dict(table.loc[row])):
        found = ah.explain(model, each, reference=known, steps=5)
        assert found.summary() == whole.summary()
    plain = pl.from_pandas(known)
    polars = ah.explain(
        lambda x: model.predict_proba(x.to_pandas()),
        pl.from_pandas(table).row(row, named=True),
        reference=plain,
        steps=5,
    )
    assert polars.deviation == whole.deviation


@pytest.mark.finding("newcomer B10")
def test_rows_without_names_and_without_a_column(people):
    table, model = people
    series, listed = pd.Series(POINTS[3]), POINTS[3].tolist()
    whole = ah.explain(between, POINTS[3], reference=POINTS)
    for each in (series, listed):
        assert ah.explain(between, each, reference=POINTS).summary() == whole.summary()
    with pytest.raises(PointsError, match="no balance, region, which the reference has"):
        ah.explain(model, {"age": 30}, reference=table)


@pytest.mark.finding("numbers A15: contributions")
@pytest.mark.parametrize(("model", "at", "radius"), [(diagonal, 0.1, 0.6), (between, 0.0, 1.0)])
def test_an_explanation_adds_up_to_its_deviation(model, at, radius):
    found = ah.explain(model, np.full(2, at), radius=radius, scale=None)
    apart = abs(found.contributions.totals[0] - found.deviation.value)
    assert apart > 0.3 * abs(found.deviation.value), "features alone do not add up here"
    for most in (1, 8):
        parts = found.parts(most)
        assert sum(share for _, _, share in parts) == pytest.approx(found.deviation.value)
        assert parts[-1][0] == REMAINDER
    assert REMAINDER in found._repr_html_()
    assert REMAINDER in repr(found)
    told = json.loads(found.to_json())
    total = told["remainder"] + sum(each["contribution"] for each in told["features"])
    assert total == pytest.approx(told["deviation"][0])
    bars = plots.explanation(found).data[0]
    assert sum(bars.x) == pytest.approx(found.deviation.value)


@pytest.mark.finding("numbers A15: contributions")
@pytest.mark.parametrize("columns", [1, 3])
def test_the_worst_points_add_up_to_their_gamma(columns, tmp_path):
    weights = np.random.default_rng(1).normal(size=(3, columns))
    model = lambda x: np.tanh(3 * x @ weights) * x[:, :1]  # noqa: E731
    scores = ah.gamma(model, POINTS, radius=0.8, scale=None)
    found = worst_contributions(model, POINTS, scores)
    for point in worst(scores, POINTS, found):
        total = sum(each.share for each in point.shares)
        assert abs(total) == pytest.approx(point.gamma.value)
    page = ah.report.write(tmp_path / "p.html", scores, points=POINTS, contributions=found)
    assert REMAINDER in page.read_text()
    bars = plots.contributions(found).data[0]
    assert abs(sum(bars.x)) == pytest.approx(scores.values[found.rows[0]])
    assert REMAINDER in found._repr_html_()


@pytest.mark.finding("numbers A15: contributions")
def test_the_command_shows_the_remainder(tmp_path):
    np.save(tmp_path / "x.npy", POINTS)
    place = "tests.findings.compare.test_explained:diagonal"
    done = CliRunner().invoke(
        app, ["explain", place, "--data", str(tmp_path / "x.npy"), "--radius", "0.6"]
    )
    assert done.exit_code == 0, done.output
    assert "interactions and directions" in done.output


@pytest.mark.finding("newcomer B17")
def test_a_table_of_chances_says_so_and_ends_at_one():
    model = lambda x: np.stack([x[:, 0], -x[:, 0]], axis=1)  # noqa: E731
    points = np.stack([np.linspace(-0.4, 0.4, 40), np.zeros(40)], axis=1)
    scores = ah.nstep_robustness(
        model, points, radius=0.3, scale=None, steps=9, directions=6, seed=1
    )
    assert scores.intervals()[1].max() > 1, "the case that was found"
    table = plots.worst_points(scores, points, count=40).data[0]
    assert table.header.values[1] == f"<b>{scores.metric}</b>"
    ends = [float(each.split(" … ")[1]) for each in table.cells.values[2]]
    assert max(ends) <= 1
    assert table.cells.values[4][0].startswith("feature 0 = ")


@pytest.mark.finding("newcomer jobs: Jupyter")
def test_notebooks_show_tables():
    wave = lambda x: np.sin(2 * x[:, 0])  # noqa: E731
    sweep = ah.sweep({"<b>": wave}, POINTS, [0.1, 0.3])
    assert "<b>" not in sweep._repr_html_()
    assert "Recommended radius" in sweep._repr_html_()
    monitor = ah.Monitor(wave, POINTS, radius=0.3, watch="gamma")
    observed = monitor.update(POINTS[:20])
    assert "watched" in monitor._repr_html_()
    assert "20 of 20 points" in monitor._repr_html_()
    assert "mean gamma" in observed._repr_html_()
    assert repr(observed) == "<observation: quiet, 20 of 20 rows scored>"
    parts = ah.contributions(wave, POINTS, radius=0.3, rows=[4])
    assert "row 4" in parts._repr_html_()
    assert "feature 0" in parts._repr_html_()
