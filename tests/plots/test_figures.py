"""Figures from real Scores: what is in them, not how many pixels."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import anharmonic as ah
from anharmonic import plots
from anharmonic.errors import MissingExtra, SettingsError
from anharmonic.plots.style import model_styles

POINTS = np.random.default_rng(0).normal(size=(300, 5))
GRID = ah.regions.grid([(-2, 2), (0, 1)], [12, 8], ["left & right", "up"])


def waves(frequency):
    return lambda x: np.sin(frequency * np.asarray(x)).sum(axis=1)


def boundary(x):
    """Two classes, as probabilities."""
    second = 1 / (1 + np.exp(-8 * x[:, 0]))
    return np.stack([1 - second, second], axis=1)


@pytest.fixture(scope="module")
def found():
    return ah.compare({"slow": waves(1), "fast": waves(3)}, POINTS, radius=0.3)


@pytest.fixture(scope="module")
def over_grid():
    return ah.gamma(boundary, GRID, radius=0.1, output="probability")


def test_decisions_above_gamma_for_several_models(over_grid):
    figure = plots.decision_regions({"one": over_grid, "other": over_grid}, GRID)
    heats = [trace for trace in figure.data if trace.type == "heatmap"]
    assert len(heats) == 4
    decided, gamma = heats[0], heats[1]
    np.testing.assert_allclose(gamma.x, np.unique(GRID.values[:, 0]))
    np.testing.assert_array_equal(
        np.asarray(decided.z), np.tile(np.unique(GRID.values[:, 0]) > 0, (8, 1))
    )
    np.testing.assert_allclose(
        np.asarray(gamma.z), over_grid.values.reshape(12, 8).T, rtol=1e-5, atol=1e-8
    )
    legend = [trace.name for trace in figure.data if trace.showlegend]
    assert legend == ["0", "1"]
    assert figure.layout.xaxis3.title.text == "left &amp; right"


def test_labels_one_hot_rows_and_regressions_over_a_grid():
    def words(x):
        return np.where(x[:, 0] > 0, 7, 3)

    labels = ah.gamma(words, GRID, radius=0.1, output="label")
    legend = [t.name for t in plots.decision_regions(labels, GRID).data if t.showlegend]
    assert legend == ["3", "7"]
    rows = ah.gamma(boundary, GRID, radius=0.1, output="onehot", reduction="norm")
    assert sum(t.type == "heatmap" for t in plots.decision_regions(rows, GRID).data) == 2
    forgotten = ah.gamma(boundary, GRID, radius=0.1, output="onehot")
    with pytest.raises(SettingsError, match="kept no decisions"):
        plots.decision_regions(forgotten, GRID)
    smooth = ah.gamma(waves(1), GRID, radius=0.1)
    assert [t.type for t in plots.decision_regions(smooth, GRID).data] == ["contour", "heatmap"]


def test_a_fine_grid_is_averaged():
    grid = ah.regions.grid([(0, 1), (0, 1)], [500, 330])
    scores = ah.gamma(lambda x: x[:, 0] ** 3, grid, radius=0.01, rotations=1, noise="ignore")
    figure = plots.decision_regions(scores, grid)
    heat = figure.data[1]
    image = scores.values.reshape(500, 330)
    assert np.asarray(heat.z).shape == (110, 125)
    assert np.asarray(heat.z)[3, 2] == pytest.approx(image[8:12, 9:12].mean(), rel=1e-5)
    assert "4 × 3 cells" in figure.layout.meta["caption"]
    assert len(figure.to_json()) < 300_000


def test_decision_regions_need_their_grid(over_grid):
    with pytest.raises(SettingsError, match="grid of two features"):
        plots.decision_regions(over_grid, POINTS)
    with pytest.raises(SettingsError, match="another number of points"):
        plots.decision_regions(over_grid, ah.regions.grid([(0, 1)] * 2, 3))


def test_the_radius_curve_has_errors_and_marks_the_recommended():
    sweep = ah.sweep({"slow": waves(1), "fast": waves(2)}, POINTS)
    figure = plots.radius_curve(sweep)
    assert [trace.name for trace in figure.data] == ["slow", "fast"]
    means, errors = sweep.means("fast")
    np.testing.assert_array_equal(figure.data[1].y, means)
    np.testing.assert_array_equal(figure.data[1].error_y.array, errors)
    assert figure.layout.shapes[0].x0 == sweep.recommended[0]
    assert sweep.recommended[1] in figure.layout.meta["caption"]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"


def test_a_flat_model_gets_a_plain_axis():
    figure = plots.radius_curve(ah.sweep(lambda x: x[:, 0] * 0, POINTS, [0.1, 0.2]))
    assert figure.layout.yaxis.type != "log"


def test_the_distribution_is_aggregated(found):
    many = np.abs(np.random.default_rng(0).normal(size=1_000_000))
    turns = np.full(len(many), 4)
    scores = ah.Scores("gamma", many, many, many, many, many, turns, 5)
    figure = plots.distribution({"many": scores, **found.scores})
    assert len(figure.data) == 3
    assert len(figure.to_json()) < 60_000
    curve = figure.data[0]
    middle = np.asarray(curve.x)[100]
    assert middle == np.quantile(many, 0.5, method="inverted_cdf")
    assert "1,000,000" in figure.layout.meta["caption"]


def test_models_keep_their_colours_in_any_order(found):
    one = plots.distribution(found)
    turned = plots.distribution(dict(reversed(found.scores.items())))
    for figure in (one, turned):
        colours = {trace.name: trace.line.color for trace in figure.data}
        assert colours == {name: style["color"] for name, style in model_styles(colours).items()}
    many = model_styles(str(index) for index in range(20))
    assert len({tuple(style.values()) for style in many.values()}) == 20


def test_a_projection_draws_some_and_all_of_the_worst(found):
    figure = plots.projection(found, POINTS, drawn=50)
    for index, scores in enumerate(found.scores.values()):
        dots, ringed = figure.data[2 * index : 2 * index + 2]
        assert set(ringed.customdata) == set(scores.worst(10).tolist())
        assert 50 <= len(dots.x) + len(ringed.x) <= 60
        for trace in (dots, ringed):
            rows = np.asarray(trace.customdata)
            np.testing.assert_allclose(trace.marker.color, scores.values[rows], rtol=1e-5)
    assert "50 of 300" in figure.layout.meta["caption"]
    again = plots.projection(found, POINTS, drawn=50)
    assert figure.to_json() == again.to_json()


def test_a_projection_finds_the_main_axes():
    random = np.random.default_rng(2)
    hidden = random.normal(size=(400, 2))
    points = np.hstack([hidden, hidden @ random.normal(size=(2, 4))])
    scores = ah.gamma(waves(1), points, radius=0.2)
    titles = plots.projection(scores, points).layout
    shares = [float(t.title.text.split("(")[1].split("%")[0]) for t in (titles.xaxis, titles.yaxis)]
    assert sum(shares) == pytest.approx(100, abs=1)
    two = plots.projection(ah.gamma(waves(1), hidden, radius=0.2), hidden)
    shown = np.concatenate([trace.x for trace in two.data])
    assert set(shown) == set(hidden[:, 0].astype(np.float32))


def test_a_projection_needs_its_points(found):
    with pytest.raises(SettingsError, match="other points"):
        plots.projection(found, POINTS[:10])
    one = POINTS[:, :1]
    with pytest.raises(SettingsError, match="no projection"):
        plots.projection(ah.gamma(waves(1), one, radius=0.1), one)
    few = POINTS[:2]
    with pytest.raises(SettingsError, match="3 points"):
        plots.projection(ah.gamma(waves(1), few, radius=0.1), few)


def test_the_worst_points_with_what_is_behind_them():
    table = pd.DataFrame(POINTS, columns=["a", "b", "c", "d", "<i>e</i>"])
    scores = ah.gamma(waves(2), table, radius=0.3)
    worst = scores.worst(4)
    parts = ah.contributions(waves(2), table, rows=worst, radius=0.3)
    cells = plots.worst_points(scores, table, parts, 4).data[0].cells.values
    assert list(cells[0]) == [str(row) for row in worst]
    largest = parts.names[np.abs(parts.of(int(worst[0]))).argmax()]
    assert cells[4][0].startswith(largest.replace("<", "&lt;").replace(">", "&gt;"))
    plain = plots.worst_points(scores, table, count=2).data[0]
    assert "features" in plain.header.values[4]
    assert len(plots.worst_points(scores, count=2).data[0].cells.values) == 4


def test_contributions_of_one_point_add_up_in_bars():
    def model(x):
        return np.sin(x * np.arange(1, 31)).sum(axis=1)

    points = np.random.default_rng(0).normal(size=(3, 30))
    parts = ah.contributions(model, points, radius=0.2)
    bars = plots.contributions(parts, row=2, most=8).data[0]
    assert len(bars.x) == 8
    assert sum(bars.x) == pytest.approx(parts.of(2).sum())
    figure = plots.contributions(parts, row=2, most=8)
    assert figure.layout.yaxis.ticktext[0] == "23 others together"


def test_names_cannot_be_markup(found):
    evil = "<a href='https://example.com'>b</a>"
    sent = json.dumps(json.loads(plots.distribution({evil: found.scores["slow"]}).to_json()))
    assert "<a" not in sent
    assert "&lt;a" in sent


def test_plotly_is_an_extra(found, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtra, match=r"anharmonic\[plots\]"):
        plots.distribution(found)
