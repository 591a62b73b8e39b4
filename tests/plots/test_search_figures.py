"""Pictures of searches and of the Gamma Map: what is in them, not how many pixels."""

from __future__ import annotations

import numpy as np
import pytest

import anharmonic as ah
from anharmonic import plots
from anharmonic.errors import SettingsError

RANDOM = np.random.default_rng(0)


def halves(x):
    """Left against right half of an image, whatever its channels."""
    flat = np.asarray(x).reshape(len(x), -1)
    middle = flat.shape[1] // 2
    return np.stack([flat[:, :middle].mean(axis=1), flat[:, middle:].mean(axis=1)], axis=1)


@pytest.mark.parametrize("shape", [(6, 8), (1, 6, 8), (6, 8, 1), (3, 6, 8), (6, 8, 3)])
def test_an_image_on_its_way(shape):
    images = np.round(RANDOM.uniform(0, 255, size=(2, *shape)))
    found = ah.adversarial_search(
        halves, images, radius=100, bounds=(0, 255), grid=1.0, steps=12, stop=False
    )
    figure = plots.search_strip(found, [0, 1], steps=(0, 5, 100))
    pictures = [trace for trace in figure.data if trace.type == "image"]
    rings = [trace for trace in figure.data if trace.type == "scatter"]
    assert len(pictures) == len(rings) == 6
    assert np.asarray(pictures[0].z).shape == (6, 8, 3)
    assert len(rings[0].x) == 0
    path = found.path(0)
    channels = {3: 0, 1: 0}.get(shape[0], -1) if len(shape) == 3 else None
    differs = path[12] != path[0]
    if channels is not None:
        differs = differs.any(axis=channels)
    rows, columns = np.nonzero(differs)
    np.testing.assert_array_equal(rings[2].x, columns)
    np.testing.assert_array_equal(rings[2].y, rows)
    first = found.path(0)[5]
    shown = np.asarray(pictures[1].z)
    expected = np.moveaxis(first, 0, 2) if channels == 0 else first
    expected = expected[..., None] if channels is None else expected
    np.testing.assert_array_equal(shown, np.broadcast_to(expected, shown.shape))
    titles = [each.text for each in figure.layout.annotations]
    assert titles[0].startswith("step 0: ")
    assert titles[2].startswith("step 12: ")


def test_a_walk_that_ended_early_is_shown_where_it_ended():
    images = np.round(RANDOM.uniform(0, 255, size=(1, 6, 8)))
    found = ah.adversarial_search(halves, images, radius=255, bounds=(0, 255), grid=1.0, steps=40)
    assert 0 < found.flips[0] < 40
    figure = plots.search_strip(found, 0, steps=(0, 40))
    assert f"step {found.flips[0]}: " in figure.layout.annotations[1].text


def test_margins_of_a_table():
    points = RANDOM.normal(size=(5, 3))
    found = ah.adversarial_search(lambda x: np.sin(x), points, radius=0.3, scale=None)
    figure = plots.search_strip(found, [1, 3])
    assert [trace.name[:5] for trace in figure.data] == ["row 1", "row 3"]
    taken = found.taken[3]
    np.testing.assert_array_equal(figure.data[1].y, found.margins[3, : taken + 1])
    assert ["→" in trace.name for trace in figure.data] == found.flipped[[1, 3]].tolist()
    with pytest.raises(SettingsError, match="from 0 to 4"):
        plots.search_strip(found, 5)


def test_a_map_with_its_edge_and_new_points():
    gammas, sure = np.abs(RANDOM.normal(size=200)) * 0.03, RANDOM.uniform(size=200)
    scores = ah.Scores("gamma", gammas, gammas, gammas, gammas, gammas, np.ones(200, dtype=int), 5)
    unstable = sure < 0.4
    figure = plots.gamma_map(scores, sure, unstable=unstable, new=([0.5], [0.01]))
    by_name = {trace.name: trace for trace in figure.data if trace.type == "scatter"}
    assert len(by_name["stable"].x) == int((~unstable).sum())
    assert len(by_name["unstable"].x) == int(unstable.sum())
    assert by_name["new points"].x.tolist() == [0.5]
    known = ah.GammaMap.of(scores, sure, unstable)
    edge = next(trace for name, trace in by_name.items() if name.startswith("P·exp"))
    metric = np.asarray(edge.x) * np.exp(-25 * np.asarray(edge.y))
    low = np.asarray(edge.y) < gammas.max()
    np.testing.assert_allclose(metric[low], known.threshold, rtol=1e-6)
    heat = next(trace for trace in figure.data if trace.type == "heatmap")
    assert np.asarray(heat.z).max() == 1
    plain = plots.gamma_map(ah.GammaMap.of(scores, sure))
    assert "known points" in [trace.name for trace in plain.data]
    with pytest.raises(SettingsError, match="probabilities"):
        plots.gamma_map(scores)


def test_pictures_come_out_as_files(tmp_path):
    images = np.round(RANDOM.uniform(0, 255, size=(1, 6, 8)))
    found = ah.adversarial_search(halves, images, radius=100, bounds=(0, 255), grid=1.0, steps=5)
    path = plots.save(plots.search_strip(found), tmp_path / "strip.html")
    assert path.stat().st_size > 10_000
