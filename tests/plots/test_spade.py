"""Pictures of SPADE: what is in them."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic import plots
from anharmonic.errors import SettingsError

POINTS = np.random.default_rng(0).normal(size=(300, 4))
OUTPUTS = np.sin(3 * POINTS[:, :2])


@pytest.fixture(scope="module")
def scores():
    return ah.spade(POINTS, OUTPUTS)


def test_node_scores_are_spread_in_one_curve_a_model(scores):
    figure = plots.node_distribution({"one": scores, "other": scores})
    assert [trace.name for trace in figure.data] == ["one", "other"]
    assert np.max(figure.data[0].x) == scores.values.max()
    assert figure.layout.xaxis.title.text == "node score"
    assert "300 points" in figure.layout.meta["caption"]
    assert len(plots.node_distribution(scores).data) == 1


def test_the_most_fragile_points_in_a_table(scores):
    figure = plots.fragile_points(scores, POINTS, 4)
    rows, values, _, partners, features = figure.data[0].cells.values
    assert list(rows) == [str(row) for row in scores.worst(4)]
    assert values[0] == f"{scores.values.max():.4g}"
    own = (scores.edges == int(rows[0])).any(axis=1)
    best = scores.edges[own][np.argmax(scores.edge_values[own])]
    assert partners[0].split()[0] == str(best.sum() - int(rows[0]))
    assert f"{POINTS[int(rows[0]), 0]:.4g}" in features[0]
    with pytest.raises(SettingsError, match="other points"):
        plots.fragile_points(scores, POINTS[:5])


def test_curves_against_neighbours_and_points(scores):
    by_neighbours = [ah.spade(POINTS, OUTPUTS, neighbours=k) for k in (20, 5)]
    figure = plots.spade_curve({"waves": by_neighbours})
    (line,) = figure.data
    assert list(line.x) == [5, 20]
    assert list(line.y) == [by_neighbours[1].score, by_neighbours[0].score]
    low, high = by_neighbours[1].interval()
    assert line.error_y.array[0] == pytest.approx(high - line.y[0])
    assert line.error_y.arrayminus[0] == pytest.approx(line.y[0] - low)
    smaller = ah.spade(POINTS[:100], OUTPUTS[:100])
    assert plots.spade_curve([scores, smaller]).layout.xaxis.title.text == "points"
    with pytest.raises(SettingsError, match="one of them"):
        plots.spade_curve([scores, scores])
