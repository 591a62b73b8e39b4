"""Scores of data: what must not change them, what must be refused, what must be told."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import anharmonic as ah
from anharmonic.errors import (
    Disconnected,
    InputError,
    MissingExtra,
    OutputError,
    PointsError,
    SettingsError,
)
from anharmonic.measures.spectral import (
    bounds,
    compare,
    cut_distortion,
    distortion,
    guide,
    pair_distortion,
    threads,
)
from anharmonic.measures.spectral.graph import graph_of
from anharmonic.measures.spectral.search import neighbours
from anharmonic.measures.spectral.spectrum import _dense

RANDOM = np.random.default_rng(0)
INPUTS = RANDOM.normal(size=(300, 6))
OUTPUTS = np.stack([np.sin(2 * INPUTS[:, 0]), INPUTS[:, 1] * INPUTS[:, 2], INPUTS[:, 3]], axis=1)


def rotation(dimension, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, dimension)))[0]


@pytest.fixture(scope="module")
def scores():
    return ah.spade(INPUTS, OUTPUTS)


@pytest.fixture(scope="module")
def torn():
    """Outputs in three clumps far apart, in no relation to the inputs."""
    clump = np.random.default_rng(2).integers(3, size=300)
    return OUTPUTS + 100 * np.eye(3)[clump], clump


def test_the_parts_fit_together(scores):
    assert scores.values.shape == (300,)
    assert scores.vectors.shape == (300, 10)
    assert scores.score == scores.eigenvalues[0] == scores.eigenvalues.max()
    np.testing.assert_allclose(scores.edge_values.sum(), np.sum(scores.eigenvalues**2))
    row = 17
    own = (scores.edges == row).any(axis=1)
    np.testing.assert_allclose(scores.values[row], scores.edge_values[own].mean())
    assert scores.settings.recall == {"inputs": 1.0, "outputs": 1.0}


def test_order_of_rows_does_not_matter(scores):
    order = np.random.default_rng(3).permutation(300)
    other = ah.spade(INPUTS[order], OUTPUTS[order], blocks=0)
    np.testing.assert_allclose(other.eigenvalues, scores.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(other.values, scores.values[order], rtol=1e-6)


def test_scale_shift_and_rotation_of_outputs_do_not_matter(scores):
    moved = ah.spade(INPUTS, 1000 * OUTPUTS @ rotation(3) + 5)
    np.testing.assert_allclose(moved.values, scores.values, rtol=1e-6)
    np.testing.assert_allclose(moved.blocks, scores.blocks, rtol=1e-9)


@pytest.mark.parametrize("search", ["exact", "hnsw"])
def test_huge_and_tiny_units_do_not_matter(scores, torn, search):
    found = ah.spade(1e200 * INPUTS, 1e-200 * OUTPUTS, search=search, blocks=0)
    np.testing.assert_allclose(found.eigenvalues, scores.eigenvalues, rtol=1e-9)
    assert found.settings.recall == {"inputs": 1.0, "outputs": 1.0}
    joined = ah.spade(INPUTS, torn[0], blocks=0).score
    np.testing.assert_allclose(ah.spade(INPUTS, 1e200 * torn[0], blocks=0).score, joined)


def test_rotation_of_inputs_does_not_matter(scores):
    turned = ah.spade(INPUTS @ rotation(6), OUTPUTS)
    np.testing.assert_allclose(turned.eigenvalues, scores.eigenvalues, rtol=1e-9)


def test_the_same_seed_gives_the_same_numbers():
    inputs = np.random.default_rng(4).normal(size=(1500, 4))
    runs = [ah.spade(inputs, np.sin(2 * inputs), seed=3) for _ in range(2)]
    for name in ("values", "eigenvalues", "vectors", "edge_values", "blocks"):
        np.testing.assert_array_equal(*(getattr(run, name) for run in runs))
    other = ah.spade(inputs, np.sin(2 * inputs), seed=4)
    np.testing.assert_allclose(other.eigenvalues, runs[0].eigenvalues, rtol=1e-8)
    assert not np.array_equal(other.blocks, runs[0].blocks)


def test_numpys_own_randomness_is_left_alone():
    inputs = np.random.default_rng(4).normal(size=(900, 4))
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.rand()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    ah.spade(inputs, inputs[:, :2], blocks=0)
    assert np.random.rand() == expected  # noqa: NPY002


@pytest.mark.parametrize("size", [1000, 2000])
def test_agreement_with_a_dense_solver(size):
    random = np.random.default_rng(size)
    inputs = random.normal(size=(size, 8))
    outputs = np.tanh(inputs @ random.normal(size=(8, 5)))
    found = ah.spade(inputs, outputs, blocks=0)
    graphs = [graph_of(neighbours(each, 10, "exact")) for each in (inputs, outputs)]
    exact = _dense(*(graph.laplacian for graph in graphs), 10)
    np.testing.assert_allclose(found.eigenvalues, exact.values, rtol=1e-8)
    embedded = exact.vectors * np.sqrt(exact.values)
    edges = graphs[0].edges
    lengths = np.square(embedded[edges[:, 0]] - embedded[edges[:, 1]]).sum(axis=1)
    totals = np.bincount(edges.ravel(), np.repeat(lengths, 2))
    assert spearmanr(totals / graphs[0].degrees, found.values).statistic > 0.9999


def test_a_model_is_asked_once_a_point(scores):
    def model(x):
        return np.stack([np.sin(2 * x[:, 0]), x[:, 1] * x[:, 2], x[:, 3]], axis=1)

    asked = ah.spade(model, INPUTS)
    assert (asked.queries, scores.queries) == (300, 0)
    np.testing.assert_allclose(asked.eigenvalues, scores.eigenvalues, rtol=1e-9)


def test_tables_images_and_single_outputs():
    frame = pd.DataFrame(INPUTS, columns=list("abcdef")).assign(kind="x")
    told = ah.spade(frame, OUTPUTS[:, 0], scale="auto", blocks=0)
    assert list(told.settings.still) == ["kind"]
    scaled = ah.spade(INPUTS / INPUTS.std(axis=0), OUTPUTS[:, 0], blocks=0)
    np.testing.assert_allclose(told.eigenvalues, scaled.eigenvalues, rtol=1e-9)
    images = ah.spade(INPUTS.reshape(300, 2, 3), OUTPUTS, blocks=0)
    np.testing.assert_allclose(images.score, ah.spade(INPUTS, OUTPUTS, blocks=0).score)


def test_a_disconnected_output_graph_is_joined_and_says_so(torn):
    outputs, _ = torn
    joined = ah.spade(INPUTS, outputs)
    assert (joined.settings.output_parts, joined.settings.edges_added) == (3, 2)
    assert "joined by 2 edges" in repr(joined)
    each = ah.spade(INPUTS, outputs, components="each")
    assert each.settings.edges_added == 0
    assert each.score < joined.score / 10
    assert each.settings.edges_torn > 0


def test_parts_are_scored_as_if_alone(torn):
    outputs, clump = torn
    each = ah.spade(INPUTS, outputs, components="each")
    alone = {
        int(size): ah.spade(INPUTS[clump == part], outputs[clump == part], blocks=0)
        for part, size in enumerate(np.bincount(clump))
    }
    assert len(alone) == 3
    for size, score in each.settings.parts:
        np.testing.assert_allclose(score, alone[size].score, rtol=1e-9)
    # The score is the largest one, whichever clump comes first.
    assert each.score == max(score for _, score in each.settings.parts)
    for part in range(3):
        order = np.argsort(clump != part, kind="stable")
        turned = ah.spade(INPUTS[order], outputs[order], components="each")
        np.testing.assert_allclose(turned.score, each.score, rtol=1e-6)
    largest = int(np.argmax(np.bincount(clump)))
    np.testing.assert_allclose(
        each.values[clump == largest], alone[int((clump == largest).sum())].values, rtol=1e-6
    )
    only = ah.spade(INPUTS, outputs, components="largest")
    np.testing.assert_array_equal(np.isfinite(only.values), clump == largest)
    assert set(np.unique(only.edges)) <= set(np.flatnonzero(clump == largest))
    assert not np.isin(guide(only, 300), np.flatnonzero(clump != largest)).any()


def test_repair_can_be_refused(torn):
    with pytest.raises(Disconnected, match='components="join"') as refused:
        ah.spade(INPUTS, torn[0], components="refuse")
    assert f"the largest of {np.bincount(torn[1]).max()} points" in str(refused.value)
    assert ah.spade(INPUTS, OUTPUTS, components="refuse", blocks=0).score > 0


def test_copies_change_nothing(scores):
    twice = ah.spade(np.concatenate([INPUTS, INPUTS[:50]]), np.concatenate([OUTPUTS, OUTPUTS[:50]]))
    assert twice.settings.copies == 50
    np.testing.assert_allclose(twice.eigenvalues, scores.eigenvalues, rtol=1e-9)
    np.testing.assert_array_equal(twice.values[300:], twice.values[:50])
    assert twice.edges.max() < 300


def test_ten_thousand_copies_of_one_point(scores):
    copies = np.zeros(10_000, dtype=int)
    rows = np.concatenate([np.arange(300), copies])
    found = ah.spade(INPUTS[rows], OUTPUTS[rows])
    np.testing.assert_allclose(found.score, scores.score, rtol=1e-9)


def test_one_input_with_many_outputs():
    inputs = np.concatenate([INPUTS, np.repeat(INPUTS[:1], 20, axis=0)])
    outputs = np.concatenate([OUTPUTS, OUTPUTS[:20] + 0.01])
    assert np.isfinite(ah.spade(inputs, outputs, blocks=0).values).all()


@pytest.mark.parametrize(
    ("inputs", "outputs", "arguments", "problem", "words"),
    [
        (INPUTS, OUTPUTS[:-1], {}, PointsError, "one row of outputs for each input"),
        (INPUTS, np.where(INPUTS > 2, np.nan, 1), {}, OutputError, "NaN"),
        (np.where(INPUTS > 2, np.inf, 1), OUTPUTS, {}, PointsError, "NaN or infinity"),
        (INPUTS, np.zeros((300, 3)), {}, PointsError, "all outputs are equal"),
        (INPUTS, np.eye(3)[np.arange(300) % 3], {}, PointsError, "logits"),
        (INPUTS, np.arange(300) % 7, {}, PointsError, "logits"),
        (INPUTS, OUTPUTS, {"neighbours": 300}, SettingsError, "from 1 to 299"),
        (INPUTS, OUTPUTS, {"neighbours": 0}, SettingsError, "from 1 to 299"),
        (INPUTS[:10], OUTPUTS[:10], {}, SettingsError, "from 1 to 9"),
        (INPUTS, OUTPUTS, {"rank": 0}, SettingsError, "rank"),
        (INPUTS, OUTPUTS, {"blocks": 1}, SettingsError, "2 or more"),
        (INPUTS, OUTPUTS, {"components": "glue"}, SettingsError, "refuse"),
        (INPUTS, OUTPUTS, {"search": "ball tree"}, SettingsError, "hnsw"),
        (INPUTS, np.full((300, 1), "cat"), {}, OutputError, "not numbers"),
        (INPUTS[:, 0], OUTPUTS, {}, PointsError, "one row per point"),
    ],
)
def test_what_cannot_be_scored_is_refused(inputs, outputs, arguments, problem, words):
    with pytest.raises(problem, match=words):
        ah.spade(inputs, outputs, **arguments)


def test_few_points_have_a_score_and_no_interval():
    found = ah.spade(INPUTS[:20], OUTPUTS[:20], neighbours=19)
    np.testing.assert_allclose(found.score, 1)  # both graphs are complete
    assert np.isnan(found.error)
    assert "too few" in found._repr_html_()


def test_the_interval_holds_what_new_points_give():
    def drawn(seed):
        points = np.random.default_rng(seed).normal(size=(400, 4))
        return ah.spade(points, np.sin(2 * points[:, :3]), rank=1)

    runs = [drawn(seed) for seed in range(30)]
    typical = np.exp(np.mean([np.log(run.score) for run in runs]))
    inside = sum(run.interval()[0] <= typical <= run.interval()[1] for run in runs)
    assert inside >= 26  # at 95% fewer have a chance of 2%


def test_the_score_grows_with_points_and_falls_with_neighbours():
    points = np.random.default_rng(7).normal(size=(2000, 4))
    outputs = np.sin(2 * points[:, :3])
    by_size = [ah.spade(points[:n], outputs[:n], blocks=0).score for n in (250, 500, 1000, 2000)]
    assert by_size == sorted(by_size)
    by_neighbours = [
        ah.spade(points[:800], outputs[:800], neighbours=k, blocks=0).score for k in (5, 10, 20, 40)
    ]
    assert by_neighbours == sorted(by_neighbours, reverse=True)
    assert 0 < ah.spade(points, outputs).growth.value < 2


def test_saving_keeps_everything(scores, tmp_path):
    kept = ah.SpadeScores.load(scores.save(tmp_path / "s.parquet"))
    for name in ("values", "edges", "edge_values", "eigenvalues", "vectors", "output_edges"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(scores, name))
    assert (kept.settings, kept.queries) == (scores.settings, 0)
    np.testing.assert_array_equal(kept.blocks, scores.blocks)
    assert scores.to_frame("pandas").shape == (300, 5)
    with pytest.raises(InputError, match="holds SPADE scores"):
        ah.Scores.load(tmp_path / "s.parquet")
    gamma = ah.gamma(lambda x: x[:, 0] ** 2, INPUTS, radius=0.1).save(tmp_path / "g.parquet")
    with pytest.raises(InputError, match="holds scores"):
        ah.SpadeScores.load(gamma)


def test_a_guide_names_the_most_fragile(scores):
    rows = guide(scores, 12)
    assert scores.values[rows].tolist() == sorted(scores.values, reverse=True)[:12]
    apart = guide(scores, 12, apart=True)
    assert apart[0] == rows[0]
    assert not any(set(edge) <= set(apart.tolist()) for edge in scores.edges.tolist())
    assert len(guide(scores)) == 100
    with pytest.raises(SettingsError):
        guide(scores, 0)


@pytest.mark.parametrize("distance", ["resistance", "geodesic"])
def test_top_edges_are_distorted_more_than_random_ones(scores, distance):
    found = distortion(scores, 60, distance=distance)
    assert found.difference.value > 3 * found.difference.error
    np.testing.assert_array_equal(
        pair_distortion(scores, found.top_edges[:3], distance=distance), found.top[:3]
    )
    assert distance in repr(found)


def test_both_theorems_can_be_checked(scores, torn):
    for each in (scores, ah.spade(INPUTS, torn[0]), ah.spade(INPUTS, OUTPUTS, neighbours=3)):
        found = bounds(each)
        assert found.held
        assert found.largest_distortion > 0
    assert not found._replace(score=found.largest_distortion / 2).held
    members = np.flatnonzero(scores.vectors[:, 0] > 0)
    assert cut_distortion(scores, members) >= 1 / scores.score
    # Of the sets that are tried, no random one is cut less than the sweep's own.
    first = scores.vectors[:, 0]
    sweep = [
        cut_distortion(scores, np.flatnonzero(first > cut))
        for cut in np.quantile(first, np.linspace(0, 1, 42)[1:-1])
    ]
    assert bounds(scores, 40).smallest_cut == min(sweep)
    inputs, outputs = (np.asarray(graph.edges) for graph in scores.graphs()[:2])
    crossed = [
        np.sum((first > 0)[edges[:, 0]] != (first > 0)[edges[:, 1]]) for edges in (outputs, inputs)
    ]
    assert cut_distortion(scores, members) == crossed[0] / crossed[1]
    with pytest.raises(SettingsError):
        cut_distortion(scores, np.arange(300))
    with pytest.raises(SettingsError, match="apart"):
        bounds(ah.spade(INPUTS, torn[0], components="each"))


def test_models_are_compared_over_one_input_graph():
    points = np.random.default_rng(8).normal(size=(800, 4))
    outputs = {
        "smooth": points[:, :3],
        "again": 2 * points[:, :3] @ rotation(3),
        "wavy": np.sin(4 * points[:, :3]),
    }
    found = compare(points, outputs)
    assert found.ranking[-1] == "wavy"
    real = {(each.larger, each.smaller): each.real for each in found.ratios}
    assert real[found.ranking[2], found.ranking[0]]
    assert not real[found.ranking[1], found.ranking[0]]
    alone = ah.spade(points, outputs["wavy"])
    np.testing.assert_allclose(found.scores["wavy"].blocks, alone.blocks, rtol=1e-9)
    np.testing.assert_array_equal(found.scores["wavy"].edges, found.scores["smooth"].edges)
    assert "not told apart" in repr(found)
    assert "wavy" in found._repr_html_()
    with pytest.raises(SettingsError):
        compare(points, {})


@pytest.mark.parametrize("library", ["threadpoolctl", "hnswlib"])
def test_what_is_not_installed_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(threads, "_libraries", threads._libraries.__wrapped__)
    points = np.random.default_rng(9).normal(size=(900, 4))
    search = "hnsw" if library == "hnswlib" else "auto"
    with pytest.raises(MissingExtra, match=rf"{library}.*anharmonic\[spade\]"):
        ah.spade(points, points[:, :2], search=search, blocks=0)
    assert ah.spade(points[:300], points[:300, :2], blocks=0).score > 0  # small ones need nothing


def test_a_device_gives_the_same_scores_without_further_packages(monkeypatch):
    for library in ("threadpoolctl", "hnswlib"):
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(threads, "_libraries", threads._libraries.__wrapped__)
    points = np.random.default_rng(10).normal(size=(1500, 6))
    outputs = np.sin(2 * points[:, :4])
    there = ah.spade(points, outputs, search="torch")
    monkeypatch.undo()
    here = ah.spade(points, outputs, search="exact")
    np.testing.assert_array_equal(here.edges, there.edges)
    np.testing.assert_allclose(there.eigenvalues, here.eigenvalues, rtol=1e-8)
    assert spearmanr(here.values, there.values).statistic > 0.9999
    np.testing.assert_allclose(there.blocks, here.blocks, rtol=1e-8)
    assert there.settings.search == {"inputs": "torch", "outputs": "torch"}


@pytest.mark.parametrize("search", ["exact", "filtered", "hnsw", "clusters", "torch"])
def test_single_precision_is_kept_and_scored_as_double_precision_would_be(search):
    random = np.random.default_rng(12)
    points = (1000 + random.normal(size=(1200, 12))).astype(np.float32)
    points[7] = points[300]  # copies are found in either
    outputs = np.sin(points[:, :3])
    narrow, wide = (
        ah.spade(each, outputs, search=search, blocks=2)
        for each in (points, points.astype(np.float64))
    )
    np.testing.assert_array_equal(narrow.edges, wide.edges)
    np.testing.assert_array_equal(narrow.eigenvalues, wide.eigenvalues)
    np.testing.assert_array_equal(narrow.blocks, wide.blocks)
    assert narrow.settings.copies == wide.settings.copies == 1
